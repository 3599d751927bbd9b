package lambdaio

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"postino/shared/pipeline"
)

// recordingQueues takes everything.
type recordingQueues struct {
	mu   sync.Mutex
	sent map[string][]pipeline.Outgoing
}

func (q *recordingQueues) Send(_ context.Context, queue string, entries []pipeline.Outgoing) []error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.sent == nil {
		q.sent = map[string][]pipeline.Outgoing{}
	}
	q.sent[queue] = append(q.sent[queue], entries...)
	return make([]error, len(entries))
}

// TestAPoisonMessageGoesToFailedJobsQueueWithItsReason uses the real verbs: what
// is acknowledged here must lie there.
func TestAPoisonMessageGoesToFailedJobsQueueWithItsReason(t *testing.T) {
	var e events.SQSEvent
	decodeStrictly(t, readFixture(t, "deliver-sqs-batch-with-poison.json"), &e)
	e.Records = e.Records[1:3] // the two that are no jobs
	names := pipeline.QueueNames{Attempt: "a", Retry: "r", Fanout: "f", DeadLetter: "d", Failed: "failed"}
	verbs := map[string]func(q pipeline.Queues) func(context.Context, []pipeline.Record) []string{
		"deliver": func(q pipeline.Queues) func(context.Context, []pipeline.Record) []string {
			return (&pipeline.Deliver{Queues: q, Names: names, Now: time.Now}).Handle
		},
		"fanout": func(q pipeline.Queues) func(context.Context, []pipeline.Record) []string {
			return (&pipeline.Fanout{Queues: q, Names: names, Now: time.Now}).Handle
		},
	}
	for verb, process := range verbs {
		t.Run(verb, func(t *testing.T) {
			q := &recordingQueues{}
			answer, err := BatchHandler{Process: process(q)}.Handle(context.Background(), e)
			if err != nil || len(answer.BatchItemFailures) != 0 {
				t.Fatalf("comes back: %v, %v", answer.BatchItemFailures, err)
			}
			bodies := map[string]bool{}
			for _, out := range q.sent["failed"] {
				bodies[out.Body] = true
				if len(out.Attributes) != 1 || out.Attributes[0].Name != "Reason" || len(out.Attributes[0].Value) < 10 {
					t.Errorf("the parked message says %+v", out.Attributes)
				}
			}
			if d := cmp.Diff(map[string]bool{e.Records[0].Body: true, e.Records[1].Body: true}, bodies); d != "" || len(q.sent) != 1 {
				t.Error(d, q.sent)
			}
		})
	}
}
