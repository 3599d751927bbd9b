package build

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"postino/shared/config"
	"postino/shared/pipeline"
	"postino/shared/push"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const attemptQueue = "arn:aws:sqs:us-east-1:123456789012:AttemptQueue"

// function is what watches the invocations of one, on a log in memory and a clock
// that moves by a second whenever it is asked.
func function(t *testing.T) (b *builder, log *bytes.Buffer) {
	t.Helper()
	log = &bytes.Buffer{}
	before := lambdacontext.FunctionName
	t.Cleanup(func() { lambdacontext.FunctionName = before })
	lambdacontext.FunctionName = "postino-deliver"
	b = watched(config.Config{Stack: "postino-prod", LogLevel: slog.LevelInfo, SuccessSampleRate: 100, Queues: pipeline.QueueNames{Attempt: attemptQueue}}, log)
	now := noon
	b.seen.now = func() time.Time { now = now.Add(time.Second); return now }
	return b, log
}

// lines are the log's, each of which must be a JSON object.
func lines(t *testing.T, log *bytes.Buffer) (all []map[string]any) {
	t.Helper()
	for line := range strings.Lines(log.String()) {
		var l map[string]any
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		all = append(all, l)
	}
	log.Reset()
	return all
}

// with gives the lines that have a member.
func with(all []map[string]any, member string) (some []map[string]any) {
	for _, l := range all {
		if l[member] != nil {
			some = append(some, l)
		}
	}
	return some
}

func batchOf(n int) (e events.SQSEvent) {
	for i := range n {
		e.Records = append(e.Records, events.SQSMessage{MessageId: string(rune('a' + i)), EventSourceARN: attemptQueue})
	}
	return e
}

func happened(kind pipeline.EventKind) pipeline.Event {
	return pipeline.Event{Kind: kind, Time: noon, Lane: attemptQueue, Subscription: "arn:aws:sns:us-east-1:123456789012:t:s", MessageID: "m",
		Attempt: push.Attempt{Number: 1, Started: noon, Ended: noon.Add(20 * time.Millisecond), Class: push.Success, Status: 200}, Accepted: noon}
}

func TestABatchIsOneWideLineWithItsMetricsAndStatusRecordsBesideIt(t *testing.T) {
	b, log := function(t)
	h := b.seen.batch(func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
		for _, k := range []pipeline.EventKind{pipeline.EventDelivered, pipeline.EventRetry, pipeline.EventDead, pipeline.EventWait, pipeline.EventFault} {
			b.observer.Observe(happened(k))
		}
		return events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{{ItemIdentifier: "e"}}}, nil
	})
	ctx, cancel := context.WithDeadline(lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "8476a536"}), noon.Add(time.Minute))
	defer cancel()
	for _, cold := range []bool{true, false} {
		if _, err := h(ctx, batchOf(5)); err != nil {
			t.Fatal(err)
		}
		all := lines(t, log)
		if n := len(with(all, "notification")); n != 2 {
			t.Errorf("%d status records, want one of the dead delivery and one of the success", n)
		}
		metrics := with(all, "_aws")
		if len(metrics) != 1 || metrics[0]["Stack"] != "postino-prod" || metrics[0]["Lane"] != "attempt" || metrics[0]["Delivered"] != 1.0 || metrics[0]["Returned"] != 1.0 {
			t.Errorf("metrics %v", metrics)
		}
		batches := with(all, "records")
		if len(batches) != 1 {
			t.Fatalf("%d lines of the batch", len(batches))
		}
		for name, want := range map[string]any{"msg": "batch", "level": "INFO", "function": "postino-deliver", "requestId": "8476a536", "queue": attemptQueue, "lane": "attempt",
			"records": 5.0, "delivered": 1.0, "retried": 1.0, "dead": 1.0, "dropped": 0.0, "waited": 1.0, "redriven": 0.0, "faults": 1.0, "poison": 0.0, "returned": 1.0, "cold": cold} {
			if batches[0][name] != want {
				t.Errorf("%s is %v, want %v", name, batches[0][name], want)
			}
		}
		if d, left := batches[0]["duration"].(float64), batches[0]["remaining"].(float64); d < 1000 || d > 5000 || left <= 0 || left > 60_000 {
			t.Errorf("duration %v ms, remaining %v ms", d, left)
		}
	}
}

func TestWhatAPanicLeavesBehindIsWrittenAllTheSame(t *testing.T) {
	b, log := function(t)
	fall := func() {
		b.observer.Observe(happened(pipeline.EventDelivered))
		panic("out of luck")
	}
	for name, call := range map[string]func(){
		"a batch": func() {
			_, _ = b.seen.batch(func(context.Context, events.SQSEvent) (answer events.SQSEventResponse, err error) {
				fall()
				return answer, nil
			})(t.Context(), batchOf(1))
		},
		"a publish": func() {
			_, _ = b.seen.publish(func(context.Context, json.RawMessage) (any, error) {
				fall()
				return nil, nil
			})(t.Context(), nil)
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: the panic was swallowed", name)
				}
			}()
			call()
		}()
		if m := with(lines(t, log), "_aws"); len(m) != 1 || m[0]["Delivered"] != 1.0 {
			t.Errorf("%s: metrics %v", name, m)
		}
	}
}

func TestABatchThatFailsWholeComesBackWhole(t *testing.T) {
	b, log := function(t)
	for name, next := range map[string]Batch{
		"a panic": func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) { panic("out of luck") },
		"an error": func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
			return events.SQSEventResponse{}, errors.New("no")
		},
	} {
		func() {
			defer func() { _ = recover() }()
			_, _ = b.seen.batch(next)(t.Context(), batchOf(3))
		}()
		all := with(lines(t, log), "records")
		if len(all) != 1 || all[0]["records"] != 3.0 || all[0]["returned"] != 3.0 {
			t.Errorf("%s: %v", name, all)
		}
	}
}

func TestAPublishWritesItsMetricsAndNothingWhereThereAreNone(t *testing.T) {
	b, log := function(t)
	answer, err := b.seen.publish(func(_ context.Context, raw json.RawMessage) (any, error) {
		b.observer.Observe(pipeline.Event{Kind: pipeline.EventAccepted, Deliveries: 3})
		return string(raw), errors.New("both come through")
	})(t.Context(), json.RawMessage("7"))
	if answer != "7" || err == nil {
		t.Errorf("%v, %v", answer, err)
	}
	if all := lines(t, log); len(all) != 1 || all[0]["Accepted"] != 1.0 || all[0]["DeliveriesQueued"] != 3.0 || all[0]["Lane"] != nil {
		t.Errorf("lines %v", all)
	}
	_, _ = b.seen.publish(func(context.Context, json.RawMessage) (any, error) { return nil, nil })(t.Context(), nil)
	if log.Len() > 0 {
		t.Errorf("of nothing it writes %s", log)
	}
}
