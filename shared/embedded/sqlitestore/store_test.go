package sqlitestore

import (
	"postino/shared/operator"
	"postino/shared/pipeline"
	"postino/shared/snsapi"
)

var (
	_ snsapi.Directory     = (*Store)(nil)
	_ pipeline.Deliveries  = (*Store)(nil)
	_ pipeline.Slots       = (*Store)(nil)
	_ operator.Deliveries  = (*Store)(nil)
)
