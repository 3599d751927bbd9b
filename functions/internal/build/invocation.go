package build

import (
	"context"
	"encoding/json"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"postino/shared/telemetry"
)

// invocations sees every invocation off, also one that ends in a panic: this is
// the one place where the log is told of an end.
type invocations struct {
	log *telemetry.FunctionLog
	now func() time.Time
}

// publish wraps the front door's handler.
func (i invocations) publish(next func(context.Context, json.RawMessage) (any, error)) func(context.Context, json.RawMessage) (any, error) {
	return func(ctx context.Context, raw json.RawMessage) (any, error) {
		defer func() { i.log.Invoked(i.now()) }()
		return next(ctx, raw)
	}
}

// batch wraps the handler of a function that queues feed.
func (i invocations) batch(next Batch) Batch {
	return func(ctx context.Context, e events.SQSEvent) (answer events.SQSEventResponse, err error) {
		done := telemetry.Batch{Records: len(e.Records), Began: i.now()}
		if len(e.Records) > 0 {
			done.Queue = e.Records[0].EventSourceARN
		}
		if c, ok := lambdacontext.FromContext(ctx); ok {
			done.RequestID = c.AwsRequestID
		}
		done.Deadline, _ = ctx.Deadline()
		// What neither answers nor says what failed comes back whole.
		done.Returned = len(e.Records)
		defer func() {
			done.Ended = i.now()
			i.log.BatchDone(done)
		}()
		if answer, err = next(ctx, e); err == nil {
			done.Returned = len(answer.BatchItemFailures)
		}
		return answer, err
	}
}
