package sqsqueue

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"postino/shared/aws/awscall"
	"postino/shared/operator"
	"postino/shared/pipeline"
)

const (
	// held is for how long a sweep hides what it has received. A sweep that could
	// put nothing back, since it was killed, hides letters for no longer.
	held = time.Minute
	// lookLimit ends a sweep before what it received first comes back.
	lookLimit = 45 * time.Second
	// sweepWait makes SQS ask all its servers for messages, not some (SQS
	// developer guide, short and long polling).
	sweepWait = time.Second
	// idleMost ends a sweep that has met nothing of what it wants for so many
	// batches: what comes is newer, or has come back.
	idleMost = 100
	// putters put letters back side by side.
	putters = 8
)

// sweep receives a queue's messages until it has met those it wants, hands each of
// them on once, and in the end puts back all it holds.
type sweep struct {
	*Queue
	queue  string
	wanted operator.Sweep
	// open are the ids still to be met, nil when all are wanted.
	open map[string]bool
	// limit is how many may be handed on, 0 for any number.
	limit, handed int
	// held are the latest receipts of what was received, by message id.
	held map[string]string
	met  map[string]bool
}

func newSweep(q *Queue, queue string, s operator.Sweep) *sweep {
	w := &sweep{Queue: q, queue: queue, wanted: s, held: map[string]string{}, met: map[string]bool{}}
	if len(s.IDs) > 0 {
		w.open = map[string]bool{}
		for _, id := range s.IDs {
			w.open[id] = true
		}
	}
	return w
}

// run sweeps for no longer than limit, 0 for any time. What take is done with is
// deleted.
func (w *sweep) run(ctx context.Context, limit time.Duration, take func([]operator.Letter) ([]bool, error)) (operator.Swept, error) {
	if w.wanted.After != "" {
		return operator.Swept{}, refuse("messages of an SQS queue have no order in which to go on behind one: ask for more of them at once")
	}
	complete, err := w.all(ctx, limit, take)
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), callLimit)
	defer cancel()
	left := 0
	if err == nil && (!complete || len(w.met) == 0) {
		left = w.left(after, complete)
	}
	w.putBack(after)
	return operator.Swept{Left: left}, err
}

// all goes through the queue. complete says that nothing more is there to be met.
func (w *sweep) all(ctx context.Context, limit time.Duration, take func([]operator.Letter) ([]bool, error)) (complete bool, err error) {
	start := time.Now()
	for idle := 0; ; {
		size := pipeline.MaxBatch
		if w.limit > 0 {
			size = min(size, w.limit-w.handed)
		}
		switch {
		case w.open != nil && len(w.open) == 0:
			return true, nil
		case size == 0 || idle == idleMost || limit > 0 && time.Since(start) > limit:
			return false, nil
		}
		in, err := w.Receive(ctx, w.queue, size, held, sweepWait)
		if err != nil || len(in) == 0 {
			return err == nil, err
		}
		batch := w.meet(in)
		if idle++; len(batch) == 0 {
			continue
		}
		idle = 0
		if err := w.hand(ctx, batch, take); err != nil {
			return false, err
		}
	}
}

// meet notes what was received and gives what is wanted of it.
func (w *sweep) meet(in []pipeline.Incoming) (batch []operator.Letter) {
	for _, m := range in {
		w.held[m.ID] = m.Receipt
		again := w.met[m.ID]
		w.met[m.ID] = true
		newer := !w.wanted.Before.IsZero() && m.Sent.After(w.wanted.Before)
		if again || newer || w.open != nil && !w.open[m.ID] {
			continue
		}
		delete(w.open, m.ID)
		batch = append(batch, operator.Letter{Incoming: m, Bytes: len(m.Body)})
	}
	return batch
}

// hand hands a batch on and deletes what is done with, whether ctx has ended or
// not: take has done its part.
func (w *sweep) hand(ctx context.Context, batch []operator.Letter, take func([]operator.Letter) ([]bool, error)) error {
	w.handed += len(batch)
	done, err := take(batch)
	var receipts []string
	for i, ok := range done {
		if ok {
			receipts = append(receipts, batch[i].Receipt)
			delete(w.held, batch[i].ID)
		}
	}
	if len(receipts) > 0 {
		err = errors.Join(w.Delete(context.WithoutCancel(ctx), w.queue, receipts), err)
	}
	return err
}

// left is about how many letters were not met. What others hold counts only where
// nothing at all was met: the numbers lag behind what was just put back.
func (w *sweep) left(ctx context.Context, complete bool) int {
	info, err := w.Info(ctx, w.queue)
	switch {
	case err != nil:
		return 0 // the sweep has done what it could
	case complete:
		return info.Visible + info.InFlight + info.Delayed
	}
	return info.Visible
}

// putBack makes visible what is held, as well as it can: the rest comes back by
// itself.
func (w *sweep) putBack(ctx context.Context) {
	url, err := w.url(ctx, w.queue)
	if err != nil {
		return
	}
	receipts := make([]string, 0, len(w.held))
	for _, r := range w.held {
		receipts = append(receipts, r)
	}
	var wg sync.WaitGroup
	gate := make(chan struct{}, putters)
	for part := range slices.Chunk(receipts, pipeline.MaxBatch) {
		gate <- struct{}{}
		wg.Go(func() {
			defer func() { <-gate }()
			in := &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &url}
			for i := range part {
				in.Entries = append(in.Entries, types.ChangeMessageVisibilityBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: &part[i]})
			}
			call, cancel := awscall.Bound(ctx, callLimit)
			defer cancel()
			_, _ = w.Client.ChangeMessageVisibilityBatch(call, in) // see above
		})
	}
	wg.Wait()
}
