package sqlitequeue

import (
	"context"
	"encoding/json"
	"time"

	"postino/shared/embedded/sqlitedb"
	"postino/shared/pipeline"
	"postino/shared/push"
)

// outgoing is a checked entry on its way into the database.
type outgoing struct {
	m          *message
	lane       *lane
	group      string
	due        int64
	attributes any // JSON, nil for none
	payload    *payload
}

// batch is what the next commit takes: the entries of every Send that comes
// before it begins.
type batch struct {
	q       *Queue
	entries []outgoing
	done    chan struct{}
	err     error
}

// Send implements pipeline.Queues: it returns when the entries are on the disk.
func (q *Queue) Send(ctx context.Context, queue string, entries []pipeline.Outgoing) []error {
	errs := make([]error, len(entries))
	fail := func(err error) []error {
		for i := range errs {
			if errs[i] == nil {
				errs[i] = err
			}
		}
		return errs
	}
	name, err := queueName(queue)
	if err != nil {
		return fail(err)
	}
	if len(entries) > pipeline.MaxBatch {
		return fail(refuse("a batch has at most %d entries, this one %d", pipeline.MaxBatch, len(entries)))
	}
	if err := ctx.Err(); err != nil {
		return fail(err)
	}
	ready := make([]outgoing, 0, len(entries))
	now := q.now()
	for i, e := range entries {
		o, err := prepare(e, now, now.Add(e.Delay))
		if errs[i] = err; err == nil {
			ready = append(ready, o)
		}
	}
	if len(ready) == 0 {
		return errs
	}
	b, err := q.enlist(name, ready)
	if err != nil {
		return fail(err)
	}
	select {
	case <-b.done:
		err = b.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return fail(err)
	}
	return errs
}

// prepare checks e.
func prepare(e pipeline.Outgoing, now, due time.Time) (outgoing, error) {
	if err := check(e); err != nil {
		return outgoing{}, err
	}
	o := outgoing{
		m:       &message{sent: now.UnixMilli()},
		group:   e.Group,
		payload: &payload{body: e.Body, attributes: e.Attributes},
	}
	if due.After(now) {
		o.due = ceilMilli(due)
	}
	var err error
	o.attributes, err = encodeAttributes(e.Attributes)
	return o, err
}

func encodeAttributes(attributes []push.Attribute) (any, error) {
	if len(attributes) == 0 {
		return nil, nil
	}
	b, err := json.Marshal(attributes)
	return string(b), err
}

func decodeAttributes(s string) (attributes []push.Attribute, err error) {
	if s != "" {
		err = json.Unmarshal([]byte(s), &attributes)
	}
	return attributes, err
}

// enlist numbers the entries and puts them into the batch being gathered.
func (q *Queue) enlist(name string, entries []outgoing) (*batch, error) {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return nil, ErrClosed
	}
	q.number(name, entries)
	b := q.batch
	opened := b == nil
	if opened {
		b = &batch{q: q, done: make(chan struct{})}
		q.batch = b
	}
	b.entries = append(b.entries, entries...)
	q.mu.Unlock()
	if opened {
		q.db.Submit(b.insert, b.settle)
	} else {
		q.db.Join()
	}
	return b, nil
}

func (q *Queue) number(name string, entries []outgoing) {
	l := q.index.lane(name)
	for i := range entries {
		entries[i].lane = l
		entries[i].m.seq = q.nextSeq
		q.nextSeq++
	}
}

// insert runs in the commit's transaction. From here on the batch is complete:
// later entries go into the next one.
func (b *batch) insert(tx *sqlitedb.Tx) error {
	b.complete()
	return b.q.write(tx, b.entries)
}

func (b *batch) complete() {
	b.q.mu.Lock()
	defer b.q.mu.Unlock()
	if b.q.batch == b {
		b.q.batch = nil
	}
}

// settle is told how the commit went.
func (b *batch) settle(err error) {
	b.complete() // when the commit failed before insert ran
	if b.err = err; err == nil {
		b.q.admit(b.entries)
	}
	close(b.done)
}

// write inserts the entries' rows, and those of queues not seen before.
func (q *Queue) write(tx *sqlitedb.Tx, entries []outgoing) error {
	if err := q.storeLanes(tx); err != nil {
		return err
	}
	if err := q.reserve(tx, entries[len(entries)-1].m.seq); err != nil {
		return err
	}
	for i := range entries {
		o := &entries[i]
		_, err := tx.Exec(`INSERT INTO message (seq, queue, due_ms, sent_ms, receives, tenant, attributes, body) VALUES (?, ?, ?, ?, 0, ?, ?, ?)`,
			o.m.seq, o.lane.id, o.due, o.m.sent, o.group, o.attributes, o.payload.body)
		if err != nil {
			return err
		}
	}
	return nil
}

// admit makes committed entries known, and wakes who waits for them.
func (q *Queue) admit(entries []outgoing) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now().UnixMilli()
	for i := range entries {
		o := &entries[i]
		if o.due <= now && q.index.cached < cacheSize {
			o.m.payload = o.payload
		}
		q.index.add(o.lane, o.group, o.m, o.due, now)
	}
	q.watch()
}

// Insert is Send within a transaction of the caller's: the messages exist when
// it commits, entry i becoming visible at due[i] (its Delay is ignored). It
// must be told of every refusal: it writes all entries or none.
func (q *Queue) Insert(tx *sqlitedb.Tx, queue string, entries []pipeline.Outgoing, due []time.Time) error {
	name, err := queueName(queue)
	if err != nil {
		return err
	}
	now := q.now()
	ready := make([]outgoing, len(entries))
	for i, e := range entries {
		e.Delay = 0
		if ready[i], err = prepare(e, now, due[i]); err != nil {
			return err
		}
	}
	if len(ready) == 0 {
		return nil
	}
	q.mu.Lock()
	q.number(name, ready)
	q.mu.Unlock()
	tx.OnCommit(func() { q.admit(ready) })
	return q.write(tx, ready)
}

// Check says why queue would refuse e, nil when it would not.
func Check(queue string, e pipeline.Outgoing) error {
	if _, err := queueName(queue); err != nil {
		return err
	}
	return check(e)
}
