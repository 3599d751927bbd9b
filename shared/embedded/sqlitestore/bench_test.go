package sqlitestore

import (
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"postino/shared/embedded/sqlitedb"
	"postino/shared/operator"
	"postino/shared/push"
)

func opened(b *testing.B) *Store {
	b.Helper()
	db, err := sqlitedb.Open(sqlitedb.Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	s, err := Open(b.Context(), db)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRetry is what a failing delivery writes: its creation, then a claim
// and its settling for each of three retries, 16 deliveries at a time.
func BenchmarkRetry(b *testing.B) {
	s := opened(b)
	var next atomic.Int64
	var wg sync.WaitGroup
	before := cpuTime()
	for range 16 {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				if err := retry(b, s, int(n)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64((cpuTime()-before).Microseconds())/float64(b.N)/7, "cpu-µs/write")
}

func retry(b *testing.B, s *Store, n int) error {
	d := record("orders", n, push.Finished)
	d.Key.MessageID = fmt.Sprint(n)
	attempt := push.Attempt{Number: 1, Phase: "backoff", Started: epoch, Ended: epoch, Class: push.Retryable, Status: 503,
		Detail: "503 Service Unavailable", Reason: "503 Service Unavailable is retryable: attempt 2 of 4 (backoff) in 20s"}
	d.Remember(attempt)
	if _, ok, err := s.Create(b.Context(), d); err != nil || !ok {
		return fmt.Errorf("create: %v, %w", ok, err)
	}
	for a := 2; a <= 4; a++ {
		claim := push.Delivery{Key: d.Key, Attempt: a, Owner: "owner", LeaseEnd: epoch.Add(time.Hour), UpdatedAt: epoch, Expires: epoch.Add(time.Hour)}
		held, ok, err := s.Claim(b.Context(), claim, epoch)
		if err != nil || !ok {
			return fmt.Errorf("claim: %v, %w", ok, err)
		}
		held.State = push.Finished
		held.Remember(attempt)
		if _, ok, err = s.Settle(b.Context(), held); err != nil || !ok {
			return fmt.Errorf("settle: %v, %w", ok, err)
		}
	}
	return nil
}

// BenchmarkList is an operator's look at the latest of 20,000 deliveries.
func BenchmarkList(b *testing.B) {
	s := opened(b)
	var wg sync.WaitGroup
	for part := range 16 {
		wg.Go(func() {
			for n := part; n < 20_000; n += 16 {
				if _, _, err := s.Create(b.Context(), record("orders", n, states[n%5])); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for name, f := range map[string]operator.Filter{
		"all":          {Limit: 50},
		"state":        {Limit: 50, States: []push.State{push.Dead}},
		"subscription": {Limit: 50, Subscription: subscriptionARN("orders", 1)},
		"message":      {Limit: 50, MessageID: "message-77"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, _, err := s.ListDeliveries(b.Context(), f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
