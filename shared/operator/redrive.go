package operator

import (
	"context"
	"errors"
	"time"

	"postino/shared/pipeline"
	"postino/shared/push"
)

// RedriveRequest says which dead letters to send again.
type RedriveRequest struct {
	// IDs names them; empty with All.
	IDs []string `json:"ids,omitempty"`
	// All takes the whole queue in steps of at most Max messages: the first call
	// leaves After and Before empty, the following ones hand back what the
	// result before said.
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
}

// Kept is a dead letter that was not sent again.
type Kept struct {
	ID string `json:"id"`
	// Reason completes "the message stays because …".
	Reason string `json:"reason"`
}

// redriveVisibility hides a letter while it is sent again; a crash in between
// shows it again, and sends it twice at worst.
const redriveVisibility = time.Minute

// Redrive sends dead letters again, each as a new generation of its delivery,
// and deletes from the queue those that are on their way.
func (o *Operator) Redrive(ctx context.Context, queue string, r RedriveRequest) (RedriveResult, error) {
	if r.All == (len(r.IDs) > 0) {
		return RedriveResult{}, push.Errorf(push.CodeInvalidParameter, "Redrive takes either message ids or all of them")
	}
	if len(r.IDs) > MaxList {
		return RedriveResult{}, push.Errorf(push.CodeInvalidParameter,
			"Redrive takes at most %d message ids at once, not %d", MaxList, len(r.IDs))
	}
	name, err := o.deadLetterQueue(ctx, queue)
	if err != nil {
		return RedriveResult{}, err
	}
	if !r.All {
		return o.redriveIDs(ctx, name, r.IDs, r.Force)
	}
	return o.redrivePage(ctx, name, r)
}

// redrivePage is one step of All.
func (o *Operator) redrivePage(ctx context.Context, queue string, r RedriveRequest) (RedriveResult, error) {
	limit, err := listLimit(r.Max)
	if err != nil {
		return RedriveResult{}, err
	}
	before := r.Before
	if before.IsZero() {
		before = o.Now()
	}
	letters, next, err := o.Queues.Peek(ctx, queue, r.After, limit)
	if err != nil {
		return RedriveResult{}, err
	}
	var ids []string
	for _, l := range letters {
		if l.Sent.After(before) {
			next = ""
			break
		}
		ids = append(ids, l.ID)
	}
	done, err := o.redriveIDs(ctx, queue, ids, r.Force)
	done.After, done.Before = next, before
	return done, err
}

// redriveIDs stops at the first fault of a queue; a letter that the verb will
// not take is no fault.
func (o *Operator) redriveIDs(ctx context.Context, queue string, ids []string, force bool) (RedriveResult, error) {
	var done RedriveResult
	for _, id := range ids {
		l, ok, err := o.Queues.Take(ctx, queue, id, redriveVisibility)
		if err != nil {
			return done, err
		}
		if !ok {
			done.Missing = append(done.Missing, id)
			continue
		}
		if err := o.Redriver.Send(ctx, o.record(queue, l), force); err != nil {
			done.Kept = append(done.Kept, Kept{ID: id, Reason: o.keptBecause(ctx, queue, err)})
			if err := o.Queues.ChangeVisibility(ctx, queue, l.Receipt, 0); err != nil {
				return done, err
			}
			continue
		}
		// Sent before deleted: a crash between the two sends it twice at worst.
		if err := o.Queues.Delete(ctx, queue, []string{l.Receipt}); err != nil {
			return done, err
		}
		done.Redriven++
	}
	return done, nil
}

// keptBecause is the verb's own reason; of a fault on our side the log tells.
func (o *Operator) keptBecause(ctx context.Context, queue string, err error) string {
	if u, ok := errors.AsType[*pipeline.UnsendableError](err); ok {
		return u.Reason
	}
	if o.Log != nil {
		o.Log.ErrorContext(ctx, "a dead letter was not sent again", "queue", queue, "error", err)
	}
	return "it could not be queued just now: try again"
}
