package sqlitequeue

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postino/shared/conformance"
	"postino/shared/embedded/sqlitedb"
	"postino/shared/operator"
	"postino/shared/pipeline"
	"postino/shared/push"
)

// fixture is a queue that a test can close and open again.
type fixture struct {
	*Queue
	sqlitedb.Options
	db *sqlitedb.DB
}

func (f *fixture) open(t *testing.T) {
	t.Helper()
	var err error
	if f.db, err = sqlitedb.Open(f.Options); err != nil {
		t.Fatal(err)
	}
	if f.Queue, err = Open(t.Context(), f.db, Config{}); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) close(t *testing.T) {
	t.Helper()
	if err := errors.Join(f.Close(), f.db.Close()); err != nil {
		t.Error(err)
	}
}

func (f *fixture) reopen(t *testing.T) {
	t.Helper()
	f.close(t)
	f.open(t)
}

func fresh(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{Options: sqlitedb.Options{Dir: t.TempDir()}}
	f.open(t)
	t.Cleanup(func() { f.close(t) })
	return f
}

func (f *fixture) send(t *testing.T, queue string, entries ...pipeline.Outgoing) {
	t.Helper()
	if err := errors.Join(f.Send(t.Context(), queue, entries)...); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) receive(t *testing.T, queue string, limit int) []pipeline.Incoming {
	t.Helper()
	in, err := f.Receive(t.Context(), queue, limit, time.Minute, 0)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func (f *fixture) info(t *testing.T, queue string) operator.QueueInfo {
	t.Helper()
	i, err := f.Info(t.Context(), queue)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func (f *fixture) options(queue string) Options {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.index.lanes[queue].Options
}

func bodies(in []pipeline.Incoming) (b []string) {
	for _, m := range in {
		b = append(b, m.Body)
	}
	return b
}

func TestQueueConforms(t *testing.T) {
	conformance.ExerciseQueue(t, conformance.QueueHarness{
		Harness: conformance.Harness[conformance.Queue]{
			Run:  synctest.Test,
			Late: 2 * time.Millisecond,
			Open: func(t *testing.T) conformance.Queue { return fresh(t) },
			Reopen: func(t *testing.T, q conformance.Queue) conformance.Queue {
				q.(*fixture).reopen(t)
				return q
			},
		},
		Redrive: func(t *testing.T, q conformance.Queue, queue, deadLetter string, maxReceive int) {
			if err := q.(*fixture).Ensure(t.Context(), queue, Options{MaxReceive: maxReceive, DeadLetter: deadLetter}); err != nil {
				t.Fatal(err)
			}
		},
	})
}

func TestAReceiptIsStaleAsSoonAsItsMessageReappears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fresh(t)
		f.send(t, "q", pipeline.Outgoing{Body: "b"})
		m := f.receive(t, "q", 1)[0]
		time.Sleep(time.Minute)
		for _, receipt := range []string{m.Receipt, "", "x", "1", ".", "1.zzzzzzzzzzzzzzzzzzzzzz", "-1.1"} {
			if err := errors.Join(f.Delete(t.Context(), "q", []string{receipt}), f.ChangeVisibility(t.Context(), "q", receipt, time.Hour)); err != nil {
				t.Errorf("receipt %q: %v", receipt, err)
			}
		}
		if got := f.receive(t, "q", 10); len(got) != 1 {
			t.Errorf("%d messages, want the one that reappeared", len(got))
		}
		if err := f.Delete(t.Context(), "other", []string{m.Receipt}); err != nil {
			t.Error(err)
		}
	})
}

func TestTenantsTakeTurnsAcrossReceives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fresh(t)
		for i := range 20 {
			f.send(t, "q", slices.Repeat([]pipeline.Outgoing{{Body: fmt.Sprint("busy ", i), Group: "busy"}}, 10)...)
		}
		f.send(t, "q", pipeline.Outgoing{Body: "quiet", Group: "quiet"})
		f.receive(t, "q", 1)
		if got := bodies(f.receive(t, "q", 2)); !slices.Contains(got, "quiet") {
			t.Errorf("behind 200 of a busy tenant the quiet one waits: %v", got)
		}
	})
}

func TestBodiesComeFromTheFileWhenMemoryHasThemNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fresh(t)
		want := map[string]pipeline.Outgoing{}
		add := func(n, size int, delay time.Duration) {
			e := pipeline.Outgoing{Body: fmt.Sprint(n, strings.Repeat("x", size)), Delay: delay,
				Attributes: []push.Attribute{{Name: "n", Type: "Number", Value: fmt.Sprint(n)}}}
			want[e.Body] = e
			f.send(t, "q", e)
		}
		for i := range 25 {
			add(i, 1_000_000, 0) // more than the cache holds
		}
		if f.index.cached > cacheSize+1<<20 {
			t.Errorf("%d bytes are cached", f.index.cached)
		}
		for i := range 15 {
			add(100+i, 10, time.Second)
		}
		time.Sleep(time.Second)
		for range 2 {
			for len(want) > 0 {
				in := f.receive(t, "q", 10)
				if len(in) == 0 {
					t.Fatalf("%d messages are missing", len(want))
				}
				for _, m := range in {
					e, ok := want[m.Body]
					if !ok || len(m.Attributes) != 1 || m.Attributes[0] != e.Attributes[0] {
						t.Fatalf("received %.20q with %+v", m.Body, m.Attributes)
					}
					delete(want, m.Body)
				}
			}
			if f.index.cached != 0 {
				t.Errorf("%d bytes are cached of nothing", f.index.cached)
			}
		}
	})
}

func TestSenselessSettingsAreRefused(t *testing.T) {
	f := fresh(t)
	for _, o := range []Options{{Visibility: -1}, {Visibility: 13 * time.Hour}, {MaxReceive: -1}, {DeadLetter: "a b"}, {DeadLetter: "x.fifo"}} {
		if _, ok := pipeline.Refused(f.Ensure(t.Context(), "q", o)); !ok {
			t.Errorf("%+v was accepted", o)
		}
	}
	if all, err := f.List(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("refused settings made %v, %v", all, err)
	}
	for name, err := range map[string]error{
		"no queue":               f.Ensure(t.Context(), "", Options{}),
		"receive of none":        second(f.Receive(t.Context(), "q", 0, time.Minute, 0)),
		"a negative timeout":     second(f.Receive(t.Context(), "q", 1, -1, 0)),
		"a timeout over 12 h":    f.ChangeVisibility(t.Context(), "q", "r", 13*time.Hour),
		"a negative visibility":  f.ChangeVisibility(t.Context(), "q", "r", -1),
		"look behind no message": second(f.Look(t.Context(), "q", operator.Sweep{After: "not an id"}, nil)),
	} {
		if _, ok := pipeline.Refused(err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[A any](_ A, err error) error { return err }

func TestMessageIDsAreNeverUsedAgain(t *testing.T) {
	f := fresh(t)
	seen := map[string]bool{}
	for range 3 {
		for range 3 {
			f.send(t, "q", pipeline.Outgoing{Body: "b"})
			m := f.receive(t, "q", 1)[0]
			if seen[m.ID] {
				t.Fatalf("id %s was used before", m.ID)
			}
			seen[m.ID] = true
			if err := f.Delete(t.Context(), "q", []string{m.Receipt}); err != nil {
				t.Fatal(err)
			}
		}
		f.reopen(t) // on an empty queue
	}
	if a, b := fresh(t), fresh(t); a.messageID(1) == b.messageID(1) {
		t.Error("two installations give the same id")
	}
	for _, seq := range []int64{0, 1, 1 << 40, 1<<62 - 1} {
		if got, ok := f.sequence(f.messageID(seq)); !ok || got != seq {
			t.Errorf("id of %d reads %d, %v", seq, got, ok)
		}
	}
}

func TestNothingIsVisibleAFractionOfAMillisecondEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fresh(t)
		for range 20 {
			time.Sleep(137 * time.Microsecond)
			const hold = 2500 * time.Microsecond
			start := time.Now()
			f.send(t, "q", pipeline.Outgoing{Body: "b", Delay: hold})
			for _, what := range []string{"delayed", "hidden"} {
				in, err := f.Receive(t.Context(), "q", 1, hold, time.Minute)
				if err != nil || len(in) != 1 {
					t.Fatal(in, err)
				}
				if after := time.Since(start); after < hold || after > hold+2*time.Millisecond {
					t.Errorf("%s for %v, want %v", what, after, hold)
				}
				start = time.Now()
				if what == "hidden" {
					if err := f.Delete(t.Context(), "q", []string{in[0].Receipt}); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	})
}

func TestEveryWaitingReceiverIsWokenThatThereIsSomethingFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fresh(t)
		start := time.Now()
		if in, err := f.Receive(t.Context(), "q", 1, time.Minute, time.Second); err != nil || len(in) > 0 { // has left the line
			t.Fatal(in, err)
		}
		got := make(chan string, 4)
		for range 4 {
			go func() {
				in, err := f.Receive(t.Context(), "q", 1, time.Minute, time.Minute)
				if err != nil || len(in) != 1 {
					t.Error(in, err)
				}
				got <- strings.Join(bodies(in), ",")
			}()
		}
		synctest.Wait()
		f.send(t, "q", pipeline.Outgoing{Body: "a"}, pipeline.Outgoing{Body: "b"}, pipeline.Outgoing{Body: "c"})
		f.send(t, "q", pipeline.Outgoing{Body: "d"})
		all := []string{<-got, <-got, <-got, <-got}
		slices.Sort(all)
		if !slices.Equal(all, []string{"a", "b", "c", "d"}) || time.Since(start) != time.Second {
			t.Errorf("got %v after %v", all, time.Since(start))
		}
	})
}
