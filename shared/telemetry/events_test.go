package telemetry

import (
	"testing"

	"go.uber.org/goleak"

	"postino/shared/pipeline"
	"postino/shared/pipeline/pipelinetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The events that the pipeline makes.
var (
	event = pipelinetest.Event
	kinds = pipelinetest.Kinds
	noon  = pipelinetest.Noon
)

const (
	topicARN = pipelinetest.TopicARN
	subARN   = pipelinetest.SubscriptionARN
	message  = pipelinetest.MessageID
)

type recorder []pipeline.Event

func (r *recorder) Observe(e pipeline.Event) { *r = append(*r, e) }

func TestTeeHandsEveryEventToEveryObserver(t *testing.T) {
	var a, b recorder
	o := Tee(&a, nil, &b)
	for _, k := range kinds {
		o.Observe(event(k))
	}
	if len(a) != len(kinds) || len(b) != len(kinds) || a[3].Kind != pipeline.EventDead || b[3].Target != a[3].Target {
		t.Errorf("got %d and %d events", len(a), len(b))
	}
}
