package pipeline

import (
	"context"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// throttle hands out the slots of maxReceivesPerSecond. It reserves them in
// blocks, so that a store write pays for many attempts; a block is at most a
// quarter of a second of the rate, which bounds the burst.
type throttle struct {
	slots Slots

	mu     sync.Mutex
	blocks *lru.Cache[string, *block]
}

type block struct {
	mu   sync.Mutex
	rate int
	next time.Time
	left int
}

const (
	// blocksKept bounds the subscriptions whose blocks are remembered; one that
	// is forgotten costs at most the slots left in its block.
	blocksKept = 10_000
	blockOf    = 250 * time.Millisecond
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
		// lru.New fails only on a size that is not positive.
		t.blocks, _ = lru.New[string, *block](blocksKept)
	}
	b, ok := t.blocks.Get(subscriptionARN)
	if !ok {
		b = &block{}
		t.blocks.Add(subscriptionARN, b)
	}
	return b
}
