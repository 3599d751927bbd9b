package pipeline

import (
	"context"
	"sync"
	"time"
)

// throttle hands out the slots of maxReceivesPerSecond. It reserves them in
// blocks, so that a store write pays for many attempts; a block is at most a
// quarter of a second of the rate, which bounds the burst.
type throttle struct {
	slots Slots

	mu     sync.Mutex
	blocks map[string]*block
}

type block struct {
	mu   sync.Mutex
	rate int
	next time.Time
	left int
}

const (
	blockOf = 250 * time.Millisecond
	// slotGood is how long a slot may be used after its time: queues are late,
	// and an older one would let a backlog through in a burst.
	slotGood = 10 * time.Second
)

// take reserves one slot; it may lie in the future.
func (t *throttle) take(ctx context.Context, subscriptionARN string, rate int, now time.Time) (time.Time, error) {
	b := t.block(subscriptionARN)
	b.mu.Lock()
	defer b.mu.Unlock()
	step := time.Second / time.Duration(rate)
	if b.left == 0 || b.rate != rate || now.Sub(b.next) > time.Second {
		n := max(1, int(int64(rate)*int64(blockOf)/int64(time.Second)))
		first, err := t.slots.Reserve(ctx, subscriptionARN, float64(rate), n, now)
		if err != nil {
			return time.Time{}, err
		}
		b.rate, b.next, b.left = rate, first, n
	}
	slot := b.next
	b.next = b.next.Add(step)
	b.left--
	return slot, nil
}

func (t *throttle) block(subscriptionARN string) *block {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.blocks == nil {
		t.blocks = map[string]*block{}
	}
	b := t.blocks[subscriptionARN]
	if b == nil {
		b = &block{}
		t.blocks[subscriptionARN] = b
	}
	return b
}
