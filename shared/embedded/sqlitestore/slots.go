package sqlitestore

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"postino/shared/embedded/sqlitedb"
)

// slots keeps, by subscription, the time of the next free slot. Memory decides;
// the file follows within some 20 ms, so a crash may give the slots of that
// time out again: a burst of as many messages at most.
type slots struct {
	mu       sync.Mutex
	next     map[string]int64 // Unix nanoseconds
	dirty    map[string]bool
	flushing bool
}

// Reserve implements pipeline.Slots by the generic cell rate algorithm without
// tolerance. rate and n must be positive.
func (s *Store) Reserve(_ context.Context, subscriptionARN string, rate float64, n int, now time.Time) (time.Time, error) {
	if !(rate > 0) || n < 1 {
		return time.Time{}, fmt.Errorf("%d slots at %v a second cannot be reserved", n, rate)
	}
	s.slots.mu.Lock()
	defer s.slots.mu.Unlock()
	first := max(s.slots.next[subscriptionARN], now.UnixNano())
	taken := math.Ceil(float64(n) / rate * float64(time.Second))
	if taken >= float64(math.MaxInt64-first) {
		return time.Time{}, fmt.Errorf("%d slots at %v a second lie too far in the future", n, rate)
	}
	s.slots.next[subscriptionARN] = first + int64(taken)
	s.slots.dirty[subscriptionARN] = true
	if !s.slots.flushing {
		s.slots.flushing = true
		s.db.Lazy(s.flushSlots)
	}
	return time.Unix(0, first).UTC(), nil
}

func (s *Store) flushSlots(tx *sqlitedb.Tx) error {
	s.slots.mu.Lock()
	now := make(map[string]int64, len(s.slots.dirty))
	for sub := range s.slots.dirty {
		now[sub] = s.slots.next[sub]
	}
	s.slots.mu.Unlock()
	tx.OnCommit(func() {
		s.slots.mu.Lock()
		defer s.slots.mu.Unlock()
		for sub, next := range now {
			if s.slots.next[sub] == next {
				delete(s.slots.dirty, sub)
			}
		}
		if s.slots.flushing = len(s.slots.dirty) > 0; s.slots.flushing {
			s.db.Lazy(s.flushSlots)
		}
	})
	for sub, next := range now {
		_, err := tx.Exec(`INSERT INTO slot VALUES (?, ?) ON CONFLICT (subscription) DO UPDATE SET next_ns = excluded.next_ns`, sub, next)
		if err != nil {
			return err
		}
	}
	return nil
}

// Backlog is how far beyond now slots are reserved, for the subscription where
// that is furthest; 0 when none waits.
func (s *Store) Backlog(now time.Time) (most time.Duration) {
	s.slots.mu.Lock()
	defer s.slots.mu.Unlock()
	for _, next := range s.slots.next {
		most = max(most, time.Duration(next-now.UnixNano()))
	}
	return most
}
