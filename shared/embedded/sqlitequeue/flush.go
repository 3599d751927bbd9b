package sqlitequeue

import (
	"slices"

	"postino/shared/embedded/sqlitedb"
)

// flushLater has acknowledgements, receive counts and moves to dead-letter
// queues written with the next commit. The caller holds the lock.
func (q *Queue) flushLater() {
	if q.flushing || len(q.deleted)+len(q.index.returned) == 0 {
		return
	}
	q.flushing = true
	q.db.Lazy(q.flush)
}

// change is what a message that came back has in its row.
type change struct {
	seq, lane int64
	receives  int32
}

// flush may run more than once: what it writes is struck off only when it is
// committed.
func (q *Queue) flush(tx *sqlitedb.Tx) error {
	if err := q.storeLanes(tx); err != nil {
		return err
	}
	q.mu.Lock()
	gone := slices.Clone(q.deleted)
	changes := make([]change, len(q.index.returned))
	for i, m := range q.index.returned {
		changes[i] = change{m.seq, m.tenant.lane.id, m.receives}
	}
	q.mu.Unlock()

	deleted, returned := len(gone), len(changes)
	tx.OnCommit(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.deleted = slices.Delete(q.deleted, 0, deleted)
		q.index.returned = slices.Delete(q.index.returned, 0, returned)
		q.flushing = false
		q.flushLater()
	})
	for _, c := range changes {
		if _, err := tx.Exec(`UPDATE message SET queue = ?, receives = ? WHERE seq = ?`, c.lane, int64(c.receives), c.seq); err != nil {
			return err
		}
	}
	slices.Sort(gone)
	for len(gone) > 0 {
		n := 1
		for n < len(gone) && gone[n] == gone[0]+int64(n) {
			n++
		}
		if _, err := tx.Exec(`DELETE FROM message WHERE seq BETWEEN ? AND ?`, gone[0], gone[n-1]); err != nil {
			return err
		}
		gone = gone[n:]
	}
	return nil
}
