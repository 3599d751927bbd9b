package sqlitequeue

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"postino/shared/embedded/sqlitedb"
	"postino/shared/operator"
	"postino/shared/pipeline"
	"postino/shared/push"
)

// List gives the names of all queues.
func (q *Queue) List(context.Context) ([]string, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	names := make([]string, 0, len(q.index.lanes))
	for name := range q.index.lanes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

// Info implements operator.Queues. It looks at every message of the queue in
// memory: some milliseconds for 100,000.
func (q *Queue) Info(_ context.Context, queue string) (operator.QueueInfo, error) {
	name, err := queueName(queue)
	if err != nil {
		return operator.QueueInfo{}, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.index.lanes[name]
	if l == nil {
		return operator.QueueInfo{}, push.Errorf(push.CodeNotFound, "There is no queue %q", name)
	}
	q.index.advance(q.now().UnixMilli())
	q.flushLater()
	info := operator.QueueInfo{Name: name, Visible: l.ready, InFlight: l.inFlight, Delayed: l.delayed}
	oldest := int64(0)
	for _, m := range l.messages {
		if oldest == 0 || m.sent < oldest {
			oldest = m.sent
		}
	}
	if oldest != 0 {
		info.OldestSent = time.UnixMilli(oldest).UTC()
	}
	return info, nil
}

// Infos tells the sizes of all queues, by name.
func (q *Queue) Infos(ctx context.Context) (infos []operator.QueueInfo) {
	names, _ := q.List(ctx) // which cannot fail
	for _, name := range names {
		if i, err := q.Info(ctx, name); err == nil {
			infos = append(infos, i)
		}
	}
	return infos
}

// Look implements operator.Queues. It sees messages in the order sent, whatever
// their state, and receives none.
func (q *Queue) Look(ctx context.Context, queue string, s operator.Sweep, see func(operator.Letter)) (operator.Swept, error) {
	name, from, err := q.sweep(queue, s)
	if err != nil {
		return operator.Swept{}, err
	}
	page, next := q.peek(name, from, s)
	for part := range slices.Chunk(page, pipeline.MaxBatch) {
		if err := q.fill(ctx, part, s.Brief); err != nil {
			return operator.Swept{}, err
		}
		for _, l := range part {
			if l.Bytes > 0 { // or it was deleted between the two looks
				see(l)
			}
		}
	}
	return operator.Swept{Next: next}, nil
}

// sweep checks what a sweep is told.
func (q *Queue) sweep(queue string, s operator.Sweep) (name string, from int64, err error) {
	if name, err = queueName(queue); err != nil {
		return "", 0, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return "", 0, ErrClosed
	}
	from, ok := q.sequence(s.After)
	if !ok && s.After != "" {
		return "", 0, refuse("%.100q is no message id of this installation", s.After)
	}
	return name, from, nil
}

// peek describes the messages that a sweep wants, with the bodies that memory
// holds, and says where the next one goes on.
func (q *Queue) peek(name string, from int64, s operator.Sweep) (page []operator.Letter, next string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.index.lanes[name]
	if l == nil {
		return nil, ""
	}
	seqs := q.wanted(l, from, s)
	if s.Max > 0 && len(seqs) > s.Max {
		seqs = seqs[:s.Max]
		next = q.messageID(seqs[s.Max-1])
	}
	for _, seq := range seqs {
		m := l.messages[seq]
		i := operator.Letter{Incoming: q.describe(m)}
		if m.payload != nil {
			i.Body, i.Attributes, i.Bytes = m.payload.body, m.payload.attributes, len(m.payload.body)
		}
		page = append(page, i)
	}
	return page, next
}

// wanted gives the numbers of the messages that a sweep wants: of those it names,
// in its order, or of all behind from, in the order sent.
func (q *Queue) wanted(l *lane, from int64, s operator.Sweep) (seqs []int64) {
	if len(s.IDs) > 0 {
		for _, id := range s.IDs {
			if seq, ok := q.sequence(id); ok && l.messages[seq] != nil && !slices.Contains(seqs, seq) {
				seqs = append(seqs, seq)
			}
		}
		return seqs
	}
	for seq, m := range l.messages {
		if seq > from && (s.Before.IsZero() || m.sent <= s.Before.UnixMilli()) {
			seqs = append(seqs, seq)
		}
	}
	slices.SortFunc(seqs, cmp.Compare)
	return seqs
}

// fill reads what memory does not hold of up to ten letters. Where that is enough,
// the body is not read of those that carry their note.
func (q *Queue) fill(ctx context.Context, page []operator.Letter, brief bool) error {
	if brief {
		if err := q.heads(ctx, page); err != nil {
			return err
		}
	}
	var lacking []*operator.Letter
	var in []pipeline.Incoming
	for i := range page {
		if l := &page[i]; l.Body == "" && (!brief || l.Bytes > 0 && !noted(*l)) {
			lacking, in = append(lacking, l), append(in, l.Incoming)
		}
	}
	if err := q.bodies(ctx, in); err != nil {
		return err
	}
	for i, l := range lacking {
		l.Incoming, l.Bytes = in[i], len(in[i].Body)
	}
	return nil
}

func noted(l operator.Letter) bool {
	return slices.ContainsFunc(l.Attributes, func(a push.Attribute) bool { return a.Name == pipeline.DeadLetterAttribute })
}

// heads reads attributes, and lengths instead of bodies, which may span many pages
// of the database.
func (q *Queue) heads(ctx context.Context, page []operator.Letter) error {
	bySeq := map[int64]*operator.Letter{}
	var args []any
	for i := range page {
		if page[i].Body == "" {
			seq, _ := q.sequence(page[i].ID)
			bySeq[seq] = &page[i]
			args = append(args, seq)
		}
	}
	return q.byTens(ctx, `SELECT seq, attributes, octet_length(body) FROM message WHERE seq IN `+anyOfTen, args, func(r sqlitedb.Row) (err error) {
		to := bySeq[r.Int(0)]
		to.Bytes = int(r.Int(2))
		to.Attributes, err = decodeAttributes(r.Text(1))
		return err
	})
}

// held is for how long a batch is hidden while take has it in hand.
const held = time.Minute

// Take implements operator.Queues. It takes delayed messages too; what others have
// received is left to them.
func (q *Queue) Take(ctx context.Context, queue string, s operator.Sweep, take func([]operator.Letter) ([]bool, error)) (swept operator.Swept, err error) {
	name, from, err := q.sweep(queue, s)
	if err != nil {
		return swept, err
	}
	page, next := q.peek(name, from, s)
	for part := range slices.Chunk(page, pipeline.MaxBatch) {
		if err := ctx.Err(); err != nil {
			return swept, err
		}
		taken, busy, err := q.pick(name, part)
		if err != nil {
			return swept, err
		}
		swept.Left += busy
		if taken, err = q.complete(ctx, taken); err != nil {
			return swept, err
		}
		if len(taken) > 0 {
			if err := q.hand(ctx, name, taken, take); err != nil {
				return swept, err
			}
		}
	}
	swept.Next = next
	return swept, nil
}

// pick receives given messages and counts those that others have.
func (q *Queue) pick(name string, page []operator.Letter) (taken []pipeline.Incoming, busy int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, 0, ErrClosed
	}
	now := q.now()
	q.index.advance(now.UnixMilli())
	q.flushLater()
	l := q.index.lanes[name]
	if l == nil {
		return nil, 0, nil
	}
	var messages []*message
	for _, letter := range page {
		seq, _ := q.sequence(letter.ID)
		switch m := l.messages[seq]; {
		case m == nil: // deleted meanwhile
		case q.index.pick(m, ceilMilli(now.Add(held))):
			messages = append(messages, m)
		default:
			busy++
		}
	}
	q.watch()
	return q.incoming(messages), busy, nil
}

// hand hands a batch on, deletes what is done with and puts the rest back.
func (q *Queue) hand(ctx context.Context, queue string, taken []pipeline.Incoming, take func([]operator.Letter) ([]bool, error)) error {
	batch := make([]operator.Letter, len(taken))
	for i, m := range taken {
		batch[i] = operator.Letter{Incoming: m, Bytes: len(m.Body)}
	}
	done, err := take(batch)
	var gone []string
	for i, m := range taken {
		if i < len(done) && done[i] {
			gone = append(gone, m.Receipt)
		} else {
			err = errors.Join(err, q.ChangeVisibility(ctx, queue, m.Receipt, 0))
		}
	}
	return errors.Join(err, q.Delete(ctx, queue, gone))
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
