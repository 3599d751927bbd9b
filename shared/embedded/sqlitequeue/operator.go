package sqlitequeue

import (
	"cmp"
	"context"
	"postino/shared/pipeline"
	"slices"
	"time"
)

// QueueInfo is what an operator sees of one queue.
type QueueInfo struct {
	Name string
	Options
	// Visible messages can be received now, InFlight ones are being worked on,
	// Delayed ones have a time to come.
	Visible, InFlight, Delayed int
	// OldestSent is when the oldest message still there was sent, zero when
	// there is none.
	OldestSent time.Time
}

// List gives the queues by name. It looks at every message in memory: some
// milliseconds for 100,000.
func (q *Queue) List(context.Context) ([]QueueInfo, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.index.advance(q.now().UnixMilli())
	q.flushLater()
	infos := make([]QueueInfo, 0, len(q.index.lanes))
	for _, l := range q.index.lanes {
		i := QueueInfo{Name: l.name, Options: l.Options, Visible: l.ready, InFlight: l.inFlight, Delayed: l.delayed}
		oldest := int64(0)
		for _, m := range l.messages {
			if oldest == 0 || m.sent < oldest {
				oldest = m.sent
			}
		}
		if oldest != 0 {
			i.OldestSent = time.UnixMilli(oldest).UTC()
		}
		infos = append(infos, i)
	}
	slices.SortFunc(infos, func(a, b QueueInfo) int { return cmp.Compare(a.Name, b.Name) })
	return infos, nil
}

// Peek shows up to limit messages of a queue without receiving them, whatever
// their state, in the order sent, those behind the id after; next is "" at the
// end. Their receipts are empty.
func (q *Queue) Peek(ctx context.Context, queue, after string, limit int) (page []pipeline.Incoming, next string, err error) {
	name, err := queueName(queue)
	if err != nil {
		return nil, "", err
	}
	from, ok := q.sequence(after)
	if !ok && after != "" {
		return nil, "", refuse("%.100q is no message id of this installation", after)
	}
	page, more := q.peek(name, from, max(limit, 1))
	if err := q.bodies(ctx, page); err != nil {
		return nil, "", err
	}
	if more {
		next = page[len(page)-1].ID
	}
	// Deleted between the two looks.
	page = slices.DeleteFunc(page, func(i pipeline.Incoming) bool { return i.Body == "" })
	return page, next, nil
}

func (q *Queue) peek(name string, from int64, limit int) (page []pipeline.Incoming, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.index.lanes[name]
	if l == nil {
		return nil, false
	}
	var seqs []int64
	for seq := range l.messages {
		if seq > from {
			seqs = append(seqs, seq)
		}
	}
	slices.Sort(seqs)
	more = len(seqs) > limit
	for _, seq := range seqs[:min(len(seqs), limit)] {
		m := l.messages[seq]
		i := q.describe(m)
		if m.payload != nil {
			i.Body, i.Attributes = m.payload.body, m.payload.attributes
		}
		page = append(page, i)
	}
	return page, more
}

// Take receives one given message, even a delayed one, and hides it for the
// visibility timeout. found is false when it is gone or in flight.
func (q *Queue) Take(ctx context.Context, queue, id string, visibility time.Duration) (in pipeline.Incoming, found bool, err error) {
	name, err := queueName(queue)
	if err != nil {
		return in, false, err
	}
	if visibility <= 0 || visibility > maxVisibility {
		return in, false, refuse("a visibility timeout is up to %v, not %v", maxVisibility, visibility)
	}
	seq, ok := q.sequence(id)
	if !ok {
		return in, false, nil
	}
	taken, err := q.pick(name, seq, visibility)
	if err != nil || len(taken) == 0 {
		return in, false, err
	}
	if taken, err = q.complete(ctx, taken); err != nil || len(taken) == 0 {
		return in, false, err
	}
	return taken[0], true, nil
}

func (q *Queue) pick(name string, seq int64, visibility time.Duration) ([]pipeline.Incoming, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, ErrClosed
	}
	now := q.now()
	q.index.advance(now.UnixMilli())
	q.flushLater()
	l := q.index.lanes[name]
	if l == nil {
		return nil, nil
	}
	m := l.messages[seq]
	if m == nil || !q.index.pick(m, ceilMilli(now.Add(visibility))) {
		return nil, nil
	}
	q.watch()
	return q.incoming([]*message{m}), nil
}

// Ready is how many messages of a queue can be received now.
func (q *Queue) Ready(queue string) int {
	name, err := queueName(queue)
	if err != nil {
		return 0
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := q.index.lanes[name]; l != nil {
		return l.ready
	}
	return 0
}
