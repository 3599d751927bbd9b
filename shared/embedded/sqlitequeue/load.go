package sqlitequeue

import (
	"context"
	"slices"
	"time"

	"postino/shared/embedded/sqlitedb"
	"postino/shared/push"
)

// seqBlock is how many message numbers are reserved at a time. Numbers are
// never given out twice, not even after the database was emptied: message ids
// are made of them.
const seqBlock = 1 << 20

// identify reads, or draws on first use, the installation's number and the
// reserved sequence numbers.
func (q *Queue) identify(ctx context.Context, draw uint64) error {
	return q.db.Do(ctx, func(tx *sqlitedb.Tx) error {
		if _, err := tx.Exec(`INSERT OR IGNORE INTO meta VALUES ('installation', ?)`, int64(draw)); err != nil {
			return err
		}
		return tx.Query(`SELECT name, value FROM meta WHERE name IN ('installation', 'seq')`, func(r sqlitedb.Row) error {
			if r.Text(0) == "seq" {
				q.reservedSeq = r.Int(1)
			} else {
				q.installation = uint64(r.Int(1))
			}
			return nil
		})
	})
}

// reserve makes sure that numbers up to seq are taken for good.
func (q *Queue) reserve(tx *sqlitedb.Tx, seq int64) error {
	q.mu.Lock()
	reserved := q.reservedSeq
	q.mu.Unlock()
	if seq <= reserved {
		return nil
	}
	seq += seqBlock
	if _, err := tx.Exec(`INSERT INTO meta VALUES ('seq', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, seq); err != nil {
		return err
	}
	tx.OnCommit(func() {
		q.mu.Lock()
		q.reservedSeq = max(q.reservedSeq, seq)
		q.mu.Unlock()
	})
	return nil
}

// load fills the index from the database.
func (q *Queue) load(ctx context.Context) error {
	now := q.now().UnixMilli()
	q.nextSeq = q.reservedSeq + 1
	return q.db.Read(ctx, func(tx *sqlitedb.Tx) error {
		lanes := map[int64]*lane{}
		err := tx.Query(`SELECT id, name, visibility_ms, max_receive, dead_letter FROM queue ORDER BY id`, func(r sqlitedb.Row) error {
			o := Options{Visibility: time.Duration(r.Int(2)) * time.Millisecond, MaxReceive: int(r.Int(3)), DeadLetter: r.Text(4)}
			lanes[r.Int(0)] = q.index.known(r.Int(0), r.Text(1), o)
			return nil
		})
		if err != nil {
			return err
		}
		return tx.Query(`SELECT seq, queue, due_ms, sent_ms, receives, tenant FROM message ORDER BY seq`, func(r sqlitedb.Row) error {
			l := lanes[r.Int(1)]
			if l == nil {
				return push.Errorf(push.CodeInternalError, "The database is damaged: message %d belongs to no queue. Restore it from a backup.", r.Int(0))
			}
			m := &message{seq: r.Int(0), sent: r.Int(3), receives: int32(r.Int(4))}
			q.index.add(l, r.Text(5), m, r.Int(2), now)
			if m.state == ready {
				// It may have been in hand when the process died, and receivers
				// that care about a repetition must hear of it. It does not count
				// towards the dead-letter queue.
				m.receives = max(m.receives, 1)
			}
			q.nextSeq = max(q.nextSeq, m.seq+1)
			return nil
		})
	})
}

// storeLanes writes the queues that the database does not know as they are.
func (q *Queue) storeLanes(tx *sqlitedb.Tx) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.index.unstored {
		_, err := tx.Exec(`INSERT INTO queue VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
			visibility_ms = excluded.visibility_ms, max_receive = excluded.max_receive, dead_letter = excluded.dead_letter`,
			l.id, l.name, l.Visibility.Milliseconds(), l.MaxReceive, l.DeadLetter)
		if err != nil {
			return err
		}
		as := l.Options
		tx.OnCommit(func() {
			q.mu.Lock()
			l.stored = l.Options == as
			q.index.unstored = slices.DeleteFunc(q.index.unstored, func(l *lane) bool { return l.stored })
			q.mu.Unlock()
		})
	}
	return nil
}
