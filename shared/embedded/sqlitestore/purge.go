package sqlitestore

import (
	"context"
	"time"

	"postino/shared/embedded/sqlitedb"
	"postino/shared/push"
)

// keptFor is how long tombstones, and subscriptions that nobody confirmed, are
// kept (SNS API reference, Subscribe: unconfirmed ones go after three days).
const keptFor = 72 * time.Hour

// Purge removes up to limit deliveries whose time has come, up to limit
// subscriptions deleted or left unconfirmed for three days, and throttle slots
// that lie in the past. It gives the number of deliveries and subscriptions
// removed; call it again soon when that is not 0.
func (s *Store) Purge(ctx context.Context, now time.Time, limit int) (removed int, err error) {
	subs, err := s.purgeSubscriptions(ctx, now, limit)
	if err != nil {
		return 0, err
	}
	past := s.pastSlots(now)
	var deliveries int64
	err = s.db.Do(context.WithoutCancel(ctx), func(tx *sqlitedb.Tx) (err error) {
		deliveries, err = tx.Exec(`DELETE FROM delivery WHERE id IN (SELECT id FROM delivery WHERE expires_ms > 0 AND expires_ms < ? LIMIT ?)`,
			now.UnixMilli(), limit)
		if err != nil {
			return err
		}
		for _, sub := range past {
			if _, err := tx.Exec(`DELETE FROM slot WHERE subscription = ? AND next_ns < ?`, sub, now.UnixNano()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return subs, err
	}
	return subs + int(deliveries), nil
}

// pastSlots forgets slots that no longer hold anything back.
func (s *Store) pastSlots(now time.Time) (past []string) {
	s.slots.mu.Lock()
	defer s.slots.mu.Unlock()
	for sub, next := range s.slots.next {
		if next < now.UnixNano() && !s.slots.dirty[sub] {
			delete(s.slots.next, sub)
			past = append(past, sub)
		}
	}
	return past
}

func (s *Store) purgeSubscriptions(ctx context.Context, now time.Time, limit int) (int, error) {
	s.change.Lock()
	defer s.change.Unlock()
	old := now.Add(-keptFor)
	e := newEdit()
	for arn, sub := range s.dir.subs {
		if len(e.subs) < limit && outlived(sub, old) {
			e.sub(&s.dir, arn, nil)
		}
	}
	if len(e.subs) == 0 {
		return 0, nil
	}
	return len(e.subs), s.store(ctx, e)
}

func outlived(s push.Subscription, old time.Time) bool {
	if s.Deleted() {
		return s.DeletedAt.Before(old)
	}
	return !s.Confirmed && s.CreatedAt.Before(old)
}
