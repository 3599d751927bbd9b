package pipeline

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"postino/shared/push"
)

// slow is a directory that takes a while to answer.
type slow struct{ *fakes }

func (s slow) Subscription(ctx context.Context, arn string, strong bool) (push.Subscription, error) {
	time.Sleep(10 * time.Millisecond)
	return s.fakes.Subscription(ctx, arn, strong)
}

// A batch's jobs begin at once, and none finds kept what the others are reading.
func TestJobsSideBySideShareOneReadOfTheirSubscription(t *testing.T) {
	for name, c := range map[string]struct {
		ttl      time.Duration
		gone     bool
		down     error
		reads    int
		ok, fail bool
	}{
		"kept":              {ttl: 5 * time.Second, reads: 2, ok: true},
		"nothing is kept":   {reads: 2 * 10, ok: true},
		"it does not exist": {ttl: 5 * time.Second, gone: true, reads: 4}, // weakly, then strongly
		"the store is down": {ttl: 5 * time.Second, down: errDown, reads: 2, fail: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakes(2)
				f.directory = c.down
				if c.gone {
					clear(f.subs)
				}
				targets := targets{directory: slow{f}, ttl: c.ttl}
				var jobs sync.WaitGroup
				for i := range 20 {
					arn := subARN(topicA, i%2)
					jobs.Go(func() {
						tg, ok, err := targets.get(t.Context(), arn, f.clock())
						if ok != c.ok || (err != nil) != c.fail || ok && tg.sub.ARN != arn {
							t.Errorf("%s: %+v, %v, %v", arn, tg.sub, ok, err)
						}
					})
				}
				jobs.Wait()
				if f.reads != c.reads {
					t.Errorf("%d reads of two subscriptions by twenty jobs, want %d", f.reads, c.reads)
				}
				// What failed is asked again, and not kept.
				before := f.reads
				if _, _, err := targets.get(t.Context(), subARN(topicA, 0), f.clock()); (err != nil) != c.fail {
					t.Error(err)
				}
				if again := f.reads > before; again != (c.fail || c.gone || c.ttl == 0) {
					t.Errorf("read again: %v", again)
				}
			})
		})
	}
}
