package build

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"postino/shared/pipeline"
	"postino/shared/telemetry"
)

// invocations sees every invocation off: it alone flushes the metrics, and tells
// of each batch in one line.
type invocations struct {
	function string
	queues   pipeline.QueueNames
	meter    *telemetry.EMF
	log      *slog.Logger
	now      func() time.Time
	// warm is set by the first invocation.
	warm atomic.Bool
}

// publish wraps the front door's handler. Its calls have lines of their own.
func (i *invocations) publish(next func(context.Context, json.RawMessage) (any, error)) func(context.Context, json.RawMessage) (any, error) {
	return func(ctx context.Context, raw json.RawMessage) (any, error) {
		defer i.flush()
		return next(ctx, raw)
	}
}

// batch wraps the handler of a function that queues feed. What is deferred is done
// when next panics too; the answer is then nobody's.
func (i *invocations) batch(next Batch) Batch {
	return func(ctx context.Context, e events.SQSEvent) (answer events.SQSEventResponse, err error) {
		began := i.now()
		defer func() { i.done(ctx, began, e, answer) }()
		return next(ctx, e)
	}
}

func (i *invocations) done(ctx context.Context, began time.Time, e events.SQSEvent, answer events.SQSEventResponse) {
	cold := !i.warm.Swap(true)
	queue := ""
	if len(e.Records) > 0 {
		queue = e.Records[0].EventSourceARN
		i.meter.Batch(queue, len(e.Records), len(answer.BatchItemFailures))
	}
	t := i.flush()
	attrs := []slog.Attr{slog.String("function", i.function), slog.String("requestId", requestID(ctx)), slog.String("queue", queue),
		slog.String("lane", i.queues.Lane(queue)), slog.Int("records", len(e.Records)),
		slog.Int("delivered", t.Delivered), slog.Int("retried", t.Retried), slog.Int("dead", t.Dead), slog.Int("dropped", t.Dropped),
		slog.Int("waited", t.Waited+t.Throttled), slog.Int("redriven", t.Redriven), slog.Int("faults", t.Faults), slog.Int("poison", t.Poison),
		slog.Int("returned", len(answer.BatchItemFailures)), slog.Duration("duration", i.now().Sub(began)), slog.Bool("cold", cold)}
	if deadline, ok := ctx.Deadline(); ok {
		attrs = append(attrs, slog.Duration("remaining", deadline.Sub(i.now())))
	}
	i.log.LogAttrs(ctx, slog.LevelInfo, "batch", attrs...)
}

func (i *invocations) flush() telemetry.Tally {
	// A log that cannot be written cannot be told of either.
	t, _ := i.meter.Flush(i.now())
	return t
}

func requestID(ctx context.Context) string {
	if c, ok := lambdacontext.FromContext(ctx); ok {
		return c.AwsRequestID
	}
	return ""
}
