package operator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"postino/shared/pipeline"
	"postino/shared/push"
)

// RedriveRequest says which dead letters to send again.
type RedriveRequest struct {
	// IDs names them; empty with All.
	IDs []string `json:"ids,omitempty"`
	// All takes the whole queue, where it has an order in steps of at most Max
	// messages: the first call leaves After and Before empty, the following ones
	// hand back what the result before said.
	All bool `json:"all,omitempty"`
	// Max is 1 to MaxList; 0 means DefaultList.
	Max   int    `json:"max,omitempty"`
	After string `json:"after,omitempty"`
	// Before keeps All from meeting again what it has just sent and what died
	// again: later messages are left alone.
	Before time.Time `json:"before,omitzero"`
	// Force sends also what has been redriven as often as allowed.
	Force bool `json:"force,omitempty"`
}

// RedriveResult counts what was done.
type RedriveResult struct {
	Redriven int `json:"redriven"`
	// Kept lists what stays in the queue, and why.
	Kept []Kept `json:"kept,omitempty"`
	// Missing lists ids that are not there, or that someone else is receiving.
	Missing []string `json:"missing,omitempty"`
	// After and Before continue All; After is "" at the end.
	After  string    `json:"after,omitempty"`
	Before time.Time `json:"before,omitzero"`
	// Left is about how many messages were not come to: others are receiving them,
	// or they are too many.
	Left int `json:"left,omitempty"`
	// Stopped says what kept the rest from being sent again, "" for nothing: what
	// the other members tell was done.
	Stopped string `json:"stopped,omitempty"`
}

// Kept is a dead letter that was not sent again.
type Kept struct {
	ID string `json:"id"`
	// Reason completes "the message stays because …".
	Reason string `json:"reason"`
}

// Redrive sends dead letters again, each as a new generation of its delivery,
// and deletes from the queue those that are on their way. It stops at the first
// fault of a queue, and answers what was done before beside the error; a letter
// that the verb will not take is no fault.
func (o *Operator) Redrive(ctx context.Context, queue string, r RedriveRequest) (RedriveResult, error) {
	s, err := o.sweepFor("Redrive", r)
	if err != nil {
		return RedriveResult{}, err
	}
	arn, err := o.deadLetterQueue(ctx, queue)
	if err != nil {
		return RedriveResult{}, err
	}
	step := redriving{Operator: o, queue: arn, force: r.Force, met: map[string]bool{}}
	swept, err := o.Queues.Take(ctx, arn, s, func(batch []Letter) ([]bool, error) { return step.send(ctx, batch), nil })
	done := step.result
	done.Left = swept.Left
	if r.All {
		done.After, done.Before = swept.Next, s.Before
	}
	if err == nil {
		done.Missing = missing(r.IDs, step.met)
	}
	return done, err
}

// sweepFor is what the verb of that name goes through for r, which it checks.
func (o *Operator) sweepFor(verb string, r RedriveRequest) (s Sweep, err error) {
	switch {
	case r.All == (len(r.IDs) > 0):
		return s, push.Errorf(push.CodeInvalidParameter, "%s takes either message ids or all of them", verb)
	case len(r.IDs) > MaxList:
		return s, push.Errorf(push.CodeInvalidParameter, "%s takes at most %d message ids at once, not %d", verb, MaxList, len(r.IDs))
	case !r.All:
		return Sweep{IDs: r.IDs}, nil
	}
	if s.Max, err = listLimit(r.Max); err != nil {
		return s, err
	}
	if s.After, s.Before = r.After, r.Before; s.Before.IsZero() {
		s.Before = o.Now()
	}
	return s, nil
}

// redriving is one Redrive under way.
type redriving struct {
	*Operator
	queue  string
	force  bool
	result RedriveResult
	met    map[string]bool
}

// send sends a batch of letters again, all at once, and says which are on their
// way. A batch that was begun is finished: sent and not deleted, a letter would be
// sent again another time.
func (s *redriving) send(ctx context.Context, batch []Letter) (done []bool) {
	ctx = context.WithoutCancel(ctx)
	errs := make([]error, len(batch))
	var wg sync.WaitGroup
	for i, l := range batch {
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil { // one strange letter must not end the server
					errs[i] = fmt.Errorf("panic: %v", p)
				}
			}()
			r, err := s.recordOf(ctx, s.queue, l)
			if err == nil {
				err = s.Redriver.Send(ctx, r, s.force)
			}
			errs[i] = err
		})
	}
	wg.Wait()
	done = make([]bool, len(batch))
	for i, l := range batch {
		s.met[l.ID] = true
		if errs[i] != nil {
			s.result.Kept = append(s.result.Kept, Kept{ID: l.ID, Reason: s.keptBecause(ctx, s.queue, errs[i])})
			continue
		}
		done[i] = true
		s.result.Redriven++
	}
	return done
}

// keptBecause is the verb's own reason, or the queue's; of a fault on our side the
// log tells.
func (o *Operator) keptBecause(ctx context.Context, queue string, err error) string {
	if u, ok := errors.AsType[*pipeline.UnsendableError](err); ok {
		return u.Reason
	}
	if reason, refused := pipeline.Refused(err); refused {
		return "the queue for jobs refuses it: " + reason
	}
	if text := o.explain(err); text != "" {
		return text
	}
	if o.Log != nil {
		o.Log.ErrorContext(ctx, "a dead letter was not sent again", "queue", queue, "error", err)
	}
	return "it could not be queued just now: try again"
}
