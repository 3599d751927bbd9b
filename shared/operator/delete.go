package operator

import (
	"context"
	"time"
)

// DeleteRequest says which dead letters to delete.
type DeleteRequest struct {
	// IDs names them; empty with All.
	IDs []string `json:"ids,omitempty"`
	// All, Max, After and Before go through the whole queue as those of a
	// RedriveRequest do.
	All    bool      `json:"all,omitempty"`
	Max    int       `json:"max,omitempty"`
	After  string    `json:"after,omitempty"`
	Before time.Time `json:"before,omitzero"`
}

// DeleteResult counts what was done; After, Before, Left and Stopped are as those
// of a RedriveResult.
type DeleteResult struct {
	// Deleted counts the letters that are gone for good.
	Deleted int `json:"deleted"`
	// Perhaps counts those that may be gone besides, where a fault stopped the rest.
	Perhaps int `json:"perhaps,omitempty"`
	// Missing lists ids that are not there, or that someone else is receiving.
	Missing []string  `json:"missing,omitempty"`
	After   string    `json:"after,omitempty"`
	Before  time.Time `json:"before,omitzero"`
	Left    int       `json:"left,omitempty"`
	Stopped string    `json:"stopped,omitempty"`
}

// DeleteDeadLetters deletes dead letters and sends nothing. On a fault of the queue
// it answers beside the error what was deleted before.
func (o *Operator) DeleteDeadLetters(ctx context.Context, queue string, r DeleteRequest) (DeleteResult, error) {
	s, err := o.sweepFor("Delete", RedriveRequest{IDs: r.IDs, All: r.All, Max: r.Max, After: r.After, Before: r.Before})
	if err != nil {
		return DeleteResult{}, err
	}
	arn, err := o.deadLetterQueue(ctx, queue)
	if err != nil {
		return DeleteResult{}, err
	}
	var done DeleteResult
	met, batch := map[string]bool{}, 0
	swept, err := o.Queues.Take(ctx, arn, s, func(letters []Letter) ([]bool, error) {
		done.Deleted += batch // the one before: only now is it known to be gone
		batch = len(letters)
		all := make([]bool, batch)
		for i, l := range letters {
			all[i], met[l.ID] = true, true
		}
		return all, nil
	})
	done.Left = swept.Left
	if r.All {
		done.After, done.Before = swept.Next, s.Before
	}
	if err != nil {
		done.Perhaps = batch
		return done, err
	}
	done.Deleted += batch
	done.Missing = missing(r.IDs, met)
	return done, nil
}

// missing are those of ids that were not met.
func missing(ids []string, met map[string]bool) (out []string) {
	for _, id := range ids {
		if !met[id] {
			out = append(out, id)
		}
	}
	return out
}
