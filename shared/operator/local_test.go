package operator

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"postino/shared/pipeline"
	"postino/shared/push"
)

func TestALocalClientAnswersWhatTheVerbsAnswer(t *testing.T) {
	w := newWorld()
	w.queues.put("dlq", letter("l1", -10))
	c := Local(HTTP{Operator: w.Operator})
	want, err := w.ShowDeadLetter(t.Context(), "dlq", "l1")
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.ShowDeadLetter(t.Context(), "dlq", "l1")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if s, err := c.Pause(t.Context(), subA); err != nil || !s.Paused || !w.directory.subs[0].Paused {
		t.Errorf("got %+v and error %v", s, err)
	}
	_, err = c.ShowDelivery(t.Context(), "m9", time.Time{})
	refusal(t, err, push.CodeNotFound, `Nothing is recorded of "m9"`)
}

func TestALocalClientIsToldWhatAServersLogWouldTell(t *testing.T) {
	w := newWorld()
	denied := errors.New("denied")
	w.deliveries.err = denied
	w.Explain = func(err error) string {
		if errors.Is(err, denied) {
			return "The permission to list is missing"
		}
		return ""
	}
	_, err := Local(HTTP{Operator: w.Operator}).ListDeliveries(t.Context(), ListRequest{})
	refusal(t, err, push.CodeInternalError, "The permission to list is missing")
	_, err = Local(HTTP{Operator: w.Operator}).ListDeliveries(t.Context(), ListRequest{State: "asleep"})
	refusal(t, err, push.CodeInvalidParameter, "is no state")
}

func TestARedriveThatStopsTellsWhatItDidBefore(t *testing.T) {
	w := newWorld()
	for i := range 3 {
		w.queues.put("dlq", letter(fmt.Sprint("l", i), -10))
	}
	w.redriver.then = func(r pipeline.Record) {
		if r.ID == "l0" {
			w.queues.deleteFails = errors.New("denied")
		}
	}
	w.Explain = func(error) string { return "The permission sqs:DeleteMessage is missing" }
	done, err := Local(HTTP{Operator: w.Operator}).Redrive(t.Context(), "dlq", RedriveRequest{All: true})
	if err != nil || done.Redriven != 2 || done.Stopped != "The permission sqs:DeleteMessage is missing" {
		t.Errorf("got %+v, %v", done, err)
	}
}

func TestAnInterruptedRedriveTellsWhatItDid(t *testing.T) {
	w := newWorld()
	w.queues.put("dlq", letter("l1", -10))
	ctx, cancel := context.WithCancel(t.Context())
	w.redriver.then = func(pipeline.Record) { cancel() }
	w.queues.deleteFails = context.Canceled
	done, err := Local(HTTP{Operator: w.Operator}).Redrive(ctx, "dlq", RedriveRequest{IDs: []string{"l1"}})
	if err != nil || done.Redriven != 1 || done.Stopped != "Interrupted" {
		t.Errorf("got %+v, %v", done, err)
	}
}

// endless is a store whose answer does not come.
type endless struct{ ended bool }

func (e *endless) ListDeliveries(ctx context.Context, _ Filter) ([]push.Delivery, string, error) {
	<-ctx.Done()
	e.ended = true
	return nil, "", ctx.Err()
}

func TestALocalCallEndsWithItsContextAndNotBeforeItsVerb(t *testing.T) {
	w, store := newWorld(), &endless{}
	w.Operator.Deliveries = store
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("patience is over")
	cancel(cause)
	if _, err := Local(HTTP{Operator: w.Operator}).ListDeliveries(ctx, ListRequest{}); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	if !store.ended {
		t.Error("the verb is still at work")
	}
}
