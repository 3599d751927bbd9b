package sqlitequeue

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"postino/shared/embedded/sqlitedb"
	"postino/shared/pipeline"
	"postino/shared/push"
)

// opened is a queue on a fresh database, closed with the test.
func opened(tb testing.TB) *Queue {
	tb.Helper()
	return reopened(tb, tb.TempDir())
}

func reopened(tb testing.TB, dir string) *Queue {
	tb.Helper()
	db, err := sqlitedb.Open(sqlitedb.Options{Dir: dir})
	if err != nil {
		tb.Fatal(err)
	}
	q, err := Open(tb.Context(), db, Config{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := q.Close(); err != nil {
			tb.Error(err)
		}
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return q
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// residentMiB is the process's resident memory, 0 where /proc does not tell.
func residentMiB() float64 {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kb, _ := strconv.Atoi(strings.Fields(rest + " 0")[0])
	return float64(kb) / 1024
}

// BenchmarkMessage is a message's whole life: sent durably, received, deleted.
func BenchmarkMessage(b *testing.B) {
	for _, c := range []struct{ batch, senders int }{{1, 1}, {1, 16}, {10, 1}, {10, 16}} {
		b.Run(fmt.Sprintf("batch=%d/senders=%d", c.batch, c.senders), func(b *testing.B) {
			benchmarkMessage(b, c.batch, c.senders)
		})
	}
}

func benchmarkMessage(b *testing.B, batch, senders int) {
	q, ctx := opened(b), b.Context()
	body := strings.Repeat("x", 1000)
	entries := make([]pipeline.Outgoing, batch)
	for i := range entries {
		entries[i] = pipeline.Outgoing{Body: body, Group: fmt.Sprintf("tenant-%d", i)}
	}
	total := int64(b.N+batch-1) / int64(batch) * int64(batch)
	var left, got atomic.Int64
	left.Store(total)
	var wg sync.WaitGroup
	b.ResetTimer()
	before := cpuTime()
	for range senders {
		wg.Go(func() {
			for left.Add(-int64(batch)) >= 0 {
				for _, err := range q.Send(ctx, "attempts", entries) {
					if err != nil {
						b.Error(err)
					}
				}
			}
		})
	}
	receiving, stop := context.WithCancel(ctx)
	for range 2 {
		wg.Go(func() {
			for receiving.Err() == nil {
				in, _ := q.Receive(receiving, "attempts", 10, time.Minute, time.Second)
				receipts := make([]string, len(in))
				for i := range in {
					receipts[i] = in[i].Receipt
				}
				if err := q.Delete(ctx, "attempts", receipts); err != nil {
					b.Error(err)
				}
				if got.Add(int64(len(in))) == total {
					stop()
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	stop()
	b.ReportMetric(float64((cpuTime()-before).Microseconds())/float64(total), "cpu-µs/msg")
}

// BenchmarkWaiting reports what 100,000 delayed messages of 1 KB cost in memory.
func BenchmarkWaiting(b *testing.B) {
	const waiting = 100_000
	q := opened(b)
	body := strings.Repeat("x", 1000)
	var wg sync.WaitGroup
	var next atomic.Int64
	for range 16 {
		wg.Go(func() {
			mine := make([]pipeline.Outgoing, pipeline.MaxBatch)
			for {
				n := next.Add(int64(len(mine)))
				if n > waiting {
					return
				}
				for i := range mine {
					mine[i] = pipeline.Outgoing{Body: body, Group: fmt.Sprintf("subscription-%d", n%1000), Delay: 10 * time.Minute}
				}
				for _, err := range q.Send(b.Context(), "retries", mine) {
					if err != nil {
						b.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	for b.Loop() {
		if _, err := q.List(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "heap-MiB")
	b.ReportMetric(float64(m.Sys)/(1<<20), "go-sys-MiB")
	b.ReportMetric(residentMiB(), "rss-MiB")
}

// BenchmarkLateness reports how long after their time delayed messages are in
// a receiver's hands, 500 a second of them.
func BenchmarkLateness(b *testing.B) {
	q := opened(b)
	var late []time.Duration
	for b.Loop() {
		const waiting = 500
		start := time.Now()
		for n := range waiting / pipeline.MaxBatch {
			entries := make([]pipeline.Outgoing, pipeline.MaxBatch)
			for i := range entries {
				delay := time.Second + time.Duration(n*pipeline.MaxBatch+i)*time.Second/waiting
				entries[i] = pipeline.Outgoing{Body: strings.Repeat("x", 1000), Group: fmt.Sprint(n)}
				entries[i].Delay = delay - time.Since(start)
				entries[i].Attributes = []push.Attribute{{Name: "due", Type: "Number", Value: fmt.Sprint(start.Add(delay).UnixNano())}}
			}
			if err := errors.Join(q.Send(b.Context(), "retries", entries)...); err != nil {
				b.Fatal(err)
			}
		}
		for got := 0; got < waiting; {
			in, err := q.Receive(b.Context(), "retries", 10, time.Minute, time.Second)
			if err != nil {
				b.Fatal(err)
			}
			now := time.Now().UnixNano()
			for _, m := range in {
				due, _ := strconv.ParseInt(m.Attributes[0].Value, 10, 64)
				late = append(late, time.Duration(now-due))
				if err := q.Delete(b.Context(), "retries", []string{m.Receipt}); err != nil {
					b.Fatal(err)
				}
			}
			got += len(in)
		}
	}
	slices.Sort(late)
	b.ReportMetric(float64(late[len(late)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(late[len(late)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(late[0].Microseconds())/1000, "earliest-ms")
}
