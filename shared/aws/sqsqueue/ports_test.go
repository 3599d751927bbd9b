package sqsqueue_test

import (
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"postino/shared/aws/sqsqueue"
	"postino/shared/conformance"
	"postino/shared/operator"
	"postino/shared/pipeline"
)

var (
	_ sqsqueue.API      = (*sqs.Client)(nil)
	_ pipeline.Queues   = (*sqsqueue.Queue)(nil)
	_ conformance.Queue = (*sqsqueue.Queue)(nil)
	_ operator.Queues   = (*sqsqueue.Queue)(nil)
)
