package sqlitequeue

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"postino/shared/embedded/sqlitedb"
	"postino/shared/pipeline"
)

// Receive hides up to max messages (ten at most) for the visibility timeout, 0
// for the queue's own. It waits up to wait for the first one. Message groups
// take turns.
func (q *Queue) Receive(ctx context.Context, queue string, max int, visibility, wait time.Duration) ([]pipeline.Incoming, error) {
	name, err := queueName(queue)
	if err != nil {
		return nil, err
	}
	if max < 1 || visibility < 0 || visibility > maxVisibility {
		return nil, refuse("a receive asks for 1 to %d messages and hides them for at most %v", pipeline.MaxBatch, maxVisibility)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	max = min(max, pipeline.MaxBatch)
	var patience *time.Timer
	for arrived := false; ; arrived = true {
		taken, told, err := q.take(name, max, visibility, wait > 0, arrived)
		if err != nil {
			return nil, err
		}
		if len(taken) > 0 {
			if taken, err = q.complete(ctx, taken); err != nil || len(taken) > 0 {
				return taken, err
			}
			continue
		}
		if wait <= 0 {
			return nil, nil
		}
		if patience == nil {
			patience = time.NewTimer(wait)
			defer patience.Stop()
		}
		select {
		case <-told:
			continue
		case <-patience.C:
		case <-ctx.Done():
			err = ctx.Err()
		case <-q.closing:
			err = ErrClosed
		}
		q.mu.Lock()
		q.index.lane(name).forget(told)
		q.mu.Unlock()
		return nil, err
	}
}

// take is one look: messages, or, when waiting, a channel that is closed when
// another look is worthwhile.
func (q *Queue) take(name string, limit int, visibility time.Duration, waiting, arrived bool) ([]pipeline.Incoming, chan struct{}, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, nil, ErrClosed
	}
	l := q.index.lane(name)
	if arrived {
		l.waking = false
	}
	if visibility == 0 {
		visibility = l.Visibility
	}
	now := q.now()
	q.index.advance(now.UnixMilli())
	messages := q.index.take(l, limit, ceilMilli(now.Add(visibility)))
	q.flushLater()
	l.wake() // whoever waits for what is left
	q.watch()
	if len(messages) > 0 {
		return q.incoming(messages), nil, nil
	}
	if !waiting {
		return nil, nil, nil
	}
	told := make(chan struct{})
	l.waiters = append(l.waiters, told)
	return nil, told, nil
}

// incoming describes messages to the receiver, with the bodies that are held.
func (q *Queue) incoming(messages []*message) []pipeline.Incoming {
	in := make([]pipeline.Incoming, len(messages))
	for i, m := range messages {
		in[i] = q.describe(m)
		in[i].Receipt = receipt(m)
		if p := q.index.release(m); p != nil {
			in[i].Body, in[i].Attributes = p.body, p.attributes
		}
	}
	return in
}

func (q *Queue) describe(m *message) pipeline.Incoming {
	return pipeline.Incoming{
		ID: q.messageID(m.seq), Group: m.tenant.name, ReceiveCount: int(m.receives), Sent: time.UnixMilli(m.sent).UTC(),
	}
}

// complete reads the bodies that memory does not hold. A message whose row is
// gone is dropped.
func (q *Queue) complete(ctx context.Context, in []pipeline.Incoming) ([]pipeline.Incoming, error) {
	if err := q.bodies(ctx, in); err != nil {
		q.putBack(in)
		return nil, err
	}
	return slices.DeleteFunc(in, func(i pipeline.Incoming) bool {
		if i.Body == "" {
			q.forget(i.ID)
		}
		return i.Body == ""
	}), nil
}

// bodies fills in what lacks a body, with one statement for ten messages.
func (q *Queue) bodies(ctx context.Context, in []pipeline.Incoming) error {
	bySeq := map[int64]*pipeline.Incoming{}
	var args []any
	for i := range in {
		if in[i].Body == "" {
			seq, _ := q.sequence(in[i].ID)
			bySeq[seq] = &in[i]
			args = append(args, seq)
		}
	}
	return q.byTens(ctx, `SELECT seq, attributes, body FROM message WHERE seq IN `+anyOfTen, args, func(r sqlitedb.Row) (err error) {
		to := bySeq[r.Int(0)]
		to.Body = r.Text(2)
		to.Attributes, err = decodeAttributes(r.Text(1))
		return err
	})
}

const anyOfTen = `(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// byTens hands on the rows that a statement, which ends in anyOfTen, has for seqs.
func (q *Queue) byTens(ctx context.Context, statement string, seqs []any, each func(sqlitedb.Row) error) error {
	for part := range slices.Chunk(seqs, pipeline.MaxBatch) {
		for len(part) < pipeline.MaxBatch { // one statement text for every number
			part = append(slices.Clip(part), part[0])
		}
		if err := q.db.Read(ctx, func(tx *sqlitedb.Tx) error { return tx.Query(statement, each, part...) }); err != nil {
			return err
		}
	}
	return nil
}

// putBack undoes a receive whose bodies could not be read.
func (q *Queue) putBack(in []pipeline.Incoming) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, i := range in {
		seq, _ := q.sequence(i.ID)
		for _, l := range q.index.lanes {
			if m := l.messages[seq]; m != nil && m.state == inFlight && receipt(m) == i.Receipt {
				m.receives--
				q.index.bringBack(m)
			}
		}
	}
	q.flushLater()
}

func (q *Queue) forget(id string) {
	seq, _ := q.sequence(id)
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.index.lanes {
		if m := l.messages[seq]; m != nil && m.state == inFlight {
			q.index.remove(m)
		}
	}
}

// Delete acknowledges. It does not wait for the disk: after a crash within the
// next 20 ms the message comes again. A stale receipt deletes nothing.
func (q *Queue) Delete(_ context.Context, queue string, receipts []string) error {
	name, err := queueName(queue)
	if err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return ErrClosed
	}
	q.index.advance(q.now().UnixMilli())
	l := q.index.lanes[name]
	for _, r := range receipts {
		seq, nonce, ok := parseReceipt(r)
		if !ok {
			continue
		}
		if m := q.index.received(l, seq, nonce); m != nil {
			q.index.remove(m)
			q.deleted = append(q.deleted, seq)
		}
	}
	q.flushLater()
	return nil
}

// ChangeVisibility makes a received message reappear after d from now, 0 to
// 12 h. A stale receipt changes nothing.
func (q *Queue) ChangeVisibility(_ context.Context, queue, receipt string, d time.Duration) error {
	name, err := queueName(queue)
	if err != nil {
		return err
	}
	if d < 0 || d > maxVisibility {
		return refuse("a visibility timeout is 0 to %v, not %v", maxVisibility, d)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return ErrClosed
	}
	now := q.now()
	q.index.advance(now.UnixMilli())
	seq, nonce, ok := parseReceipt(receipt)
	if m := q.index.received(q.index.lanes[name], seq, nonce); ok && m != nil {
		if d == 0 {
			q.index.bringBack(m)
		} else {
			q.index.due.move(int(m.pos), ceilMilli(now.Add(d)))
		}
	}
	q.flushLater()
	q.watch()
	return nil
}

// A receipt is the message's number and the receive's, in base 36.
func receipt(m *message) string {
	b := make([]byte, 0, 28)
	b = strconv.AppendInt(b, m.seq, 36)
	b = append(b, '.')
	return string(strconv.AppendUint(b, m.nonce, 36))
}

func parseReceipt(s string) (seq int64, nonce uint64, ok bool) {
	a, b, ok := strings.Cut(s, ".")
	if !ok {
		return 0, 0, false
	}
	seq, err := strconv.ParseInt(a, 36, 64)
	if err != nil {
		return 0, 0, false
	}
	nonce, err = strconv.ParseUint(b, 36, 64)
	return seq, nonce, err == nil
}

// messageID makes a UUID of version 8 (RFC 9562, custom) of the installation's
// number and the message's.
func (q *Queue) messageID(seq int64) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], q.installation)
	binary.BigEndian.PutUint64(b[8:], uint64(seq))
	b[6] = b[6]&0x0f | 0x80
	b[8] = b[8]&0x3f | 0x80
	var s [36]byte
	hex.Encode(s[:8], b[:4])
	hex.Encode(s[9:13], b[4:6])
	hex.Encode(s[14:18], b[6:8])
	hex.Encode(s[19:23], b[8:10])
	hex.Encode(s[24:], b[10:])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return string(s[:])
}

// sequence is messageID's inverse; false for an id of another installation.
func (q *Queue) sequence(id string) (int64, bool) {
	b, err := hex.DecodeString(strings.ReplaceAll(id, "-", ""))
	if err != nil || len(b) != 16 {
		return 0, false
	}
	b[8] &= 0x3f
	seq := int64(binary.BigEndian.Uint64(b[8:]))
	return seq, q.messageID(seq) == id
}
