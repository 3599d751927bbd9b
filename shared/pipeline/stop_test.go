package pipeline

import (
	"context"
	"testing"
	"time"

	"postino/shared/push"
)

func TestAPushThatWeStopBurnsNoAttemptUnlessItsAnswerIsThere(t *testing.T) {
	stopped := push.Result{Class: push.Retryable, Fault: "canceled", Connected: true}
	for _, c := range []struct {
		attempt int
		result  push.Result
		events  string
	}{{1, stopped, "fault"}, {2, stopped, "fault"}, {1, unavailable, "retry"}, {2, unavailable, "retry"}, {1, gone, "dead"}, {2, gone, "dead"},
		{1, push.Result{Class: push.Success, Status: 200}, "delivered"}, {2, push.Result{Class: push.Success, Status: 200}, "delivered"}} {
		f := newFakes(1)
		f.change(0, func(s *push.Subscription) { s.DeliveryPolicy = twoRetries })
		ctx, cancel := context.WithCancel(t.Context())
		f.answer = func(context.Context) push.Result {
			cancel()
			return c.result
		}
		d := f.deliver()
		d.Deliveries, d.Queues = stoppable{f}, stoppable{f}
		j := f.job(0)
		j.Attempt = c.attempt
		failed := d.Handle(ctx, []Record{record(crashNames.Retry, j)})
		if back := len(failed) == 1; back != (c.events == "fault") || f.kinds() != c.events {
			t.Errorf("attempt %d, status %d: failed %v, events %q", c.attempt, c.result.Status, failed, f.kinds())
		}
		rec, counted := f.records[j.Key()], c.result.Status != 0
		if c.events != "delivered" && (len(rec.Attempts) == 1) != counted {
			t.Errorf("attempt %d, status %d: record %+v", c.attempt, c.result.Status, rec)
		}
		if followed := len(f.sent) == 1; followed != (counted && c.events != "delivered") {
			t.Errorf("attempt %d, status %d: sent %+v", c.attempt, c.result.Status, f.sent)
		}
	}
}

// stoppable refuses writes and sends of a context that has ended, as the
// adapters do.
type stoppable struct{ *fakes }

func (s stoppable) Create(ctx context.Context, d push.Delivery) (push.Delivery, bool, error) {
	if ctx.Err() != nil {
		return push.Delivery{}, false, ctx.Err()
	}
	return s.fakes.Create(ctx, d)
}

func (s stoppable) Settle(ctx context.Context, d push.Delivery) (push.Delivery, bool, error) {
	if ctx.Err() != nil {
		return push.Delivery{}, false, ctx.Err()
	}
	return s.fakes.Settle(ctx, d)
}

func (s stoppable) Send(ctx context.Context, queue string, entries []Outgoing) []error {
	if ctx.Err() != nil {
		return []error{ctx.Err()}
	}
	return s.fakes.Send(ctx, queue, entries)
}

func TestTheDeadlineHoldsForWhatFollowsAnAttemptToo(t *testing.T) {
	until := time.Now().Add(time.Hour)
	limited, cancel := context.WithDeadline(t.Context(), until)
	cancel()
	ctx, done := unstopped(limited)
	defer done()
	if deadline, ok := ctx.Deadline(); !ok || !deadline.Equal(until) || ctx.Err() != nil {
		t.Errorf("deadline %v (%v), error %v", deadline, ok, ctx.Err())
	}
}

func TestAPushThatThisHostHadNoMeansToMakeBurnsNoAttempt(t *testing.T) {
	f := newFakes(1)
	tries := 0
	f.answer = func(context.Context) push.Result {
		if tries++; tries <= 5 {
			return push.Result{Class: push.Retryable, Fault: push.LocalFault, Detail: "no descriptors"}
		}
		return push.Result{Class: push.Success, Status: 200}
	}
	f.start(f.job(0))
	f.run(t, f.deliver())
	last := f.events[len(f.events)-1]
	if tries != 6 || last.Kind != EventDelivered || last.Attempt.Number != 1 || len(f.in(crashNames.DeadLetter)) != 0 {
		t.Errorf("after %d tries: %+v", tries, last)
	}
}
