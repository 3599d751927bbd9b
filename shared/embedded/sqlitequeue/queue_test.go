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

func (f *fixture) info(t *testing.T, queue string) QueueInfo {
	t.Helper()
	all, err := f.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if i.Name == queue {
			return i
		}
	}
	t.Fatalf("no queue %s among %+v", queue, all)
	return QueueInfo{}
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

func TestReceiveCountsOfWhatCameBackSurviveARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fresh(t)
		f.send(t, "q", pipeline.Outgoing{Body: "b"})
		for range 3 {
			f.receive(t, "q", 1)
			time.Sleep(time.Minute)
		}
		f.reopen(t)
		if m := f.receive(t, "q", 1)[0]; m.ReceiveCount != 4 {
			t.Errorf("receive count is %d, want 4", m.ReceiveCount)
		}
	})
}

func TestOptionsAreKeptAndMovesToADeadLetterQueueSurvive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fresh(t)
		o := Options{Visibility: 10 * time.Second, MaxReceive: 1, DeadLetter: "arn:aws:sqs:us-east-1:000000000000:dead"}
		for range 2 { // the second changes nothing
			if err := f.Ensure(t.Context(), "q", o); err != nil {
				t.Fatal(err)
			}
		}
		f.reopen(t)
		o.DeadLetter = "dead"
		if got := f.info(t, "q").Options; got != o {
			t.Errorf("options are %+v, want %+v", got, o)
		}
		f.send(t, "q", pipeline.Outgoing{Body: "b", Group: "g"})
		if in, err := f.Receive(t.Context(), "q", 1, 0, 0); err != nil || len(in) != 1 { // 0: the queue's own timeout
			t.Fatal(in, err)
		}
		time.Sleep(10*time.Second + time.Millisecond)
		f.reopen(t)
		if got := f.info(t, "q"); got.Visible+got.InFlight+got.Delayed != 0 {
			t.Errorf("left behind: %+v", got)
		}
		m := f.receive(t, "dead", 1)[0]
		if m.Body != "b" || m.Group != "g" {
			t.Errorf("dead letter is %+v", m)
		}
	})
}

func TestARestartCountsAsAReceiveButMovesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fresh(t)
		if err := f.Ensure(t.Context(), "q", Options{MaxReceive: 1, DeadLetter: "dead"}); err != nil {
			t.Fatal(err)
		}
		f.send(t, "q", pipeline.Outgoing{Body: "visible"}, pipeline.Outgoing{Body: "delayed", Delay: time.Minute})
		for range 3 {
			f.reopen(t)
		}
		if m := f.receive(t, "q", 1)[0]; m.Body != "visible" || m.ReceiveCount != 2 {
			t.Errorf("received %+v, which may have been received before", m)
		}
		time.Sleep(time.Minute)
		if m := f.receive(t, "q", 1)[0]; m.Body != "delayed" || m.ReceiveCount != 1 {
			t.Errorf("received %+v, which cannot have been received before", m)
		}
	})
}

func TestAQueueThatIsItsOwnDeadLetterQueueKeepsItsMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fresh(t)
		for q, dead := range map[string]string{"a": "a", "b": "c", "c": "b"} {
			if err := f.Ensure(t.Context(), q, Options{MaxReceive: 1, DeadLetter: dead}); err != nil {
				t.Fatal(err)
			}
		}
		f.send(t, "a", pipeline.Outgoing{Body: "own"})
		f.send(t, "b", pipeline.Outgoing{Body: "ring"})
		for range 5 {
			f.receive(t, "a", 1)
			f.receive(t, "b", 1)
			f.receive(t, "c", 1)
			time.Sleep(time.Minute)
		}
		if n := f.info(t, "a").Visible; n != 1 {
			t.Errorf("%d messages in the queue", n)
		}
		if n := f.info(t, "b").Visible + f.info(t, "c").Visible; n != 1 {
			t.Errorf("%d messages in the ring", n)
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
		"peek behind no message": third(f.Peek(t.Context(), "q", "not an id", 1)),
	} {
		if _, ok := pipeline.Refused(err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[A any](_ A, err error) error        { return err }
func third[A, B any](_ A, _ B, err error) error { return err }

func TestOperatorsSeeQueuesWithoutTouchingThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fresh(t)
		oldest := time.Now()
		for i := range 23 {
			f.send(t, "q", pipeline.Outgoing{Body: fmt.Sprintf("%02d", i), Group: fmt.Sprint(i % 2), Delay: time.Duration(i%3) * time.Minute,
				Attributes: []push.Attribute{{Name: "n", Type: "String", Value: "v"}}})
			time.Sleep(time.Second)
		}
		f.receive(t, "q", 3)
		f.send(t, "other", pipeline.Outgoing{Body: "elsewhere"})
		var got []string
		for after := ""; ; {
			page, next, err := f.Peek(t.Context(), "q", after, 5)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range page {
				got = append(got, m.Body)
				if m.Receipt != "" || len(m.Attributes) != 1 {
					t.Errorf("peeked %+v", m)
				}
			}
			if next == "" {
				break
			}
			after = next
		}
		if len(got) != 23 || !slices.IsSorted(got) {
			t.Errorf("peeked %v", got)
		}
		want := QueueInfo{Name: "q", Options: Options{Visibility: defaultVisibility}, Visible: 5, InFlight: 3, Delayed: 15, OldestSent: oldest.UTC()}
		if i := f.info(t, "q"); i != want {
			t.Errorf("info is %+v, want %+v", i, want)
		}
		if page, next, err := f.Peek(t.Context(), "typo", "", 5); err != nil || len(page) > 0 || next != "" {
			t.Errorf("an unknown queue holds %v, %q, %v", page, next, err)
		}
		if all, err := f.List(t.Context()); err != nil || len(all) != 2 {
			t.Errorf("looking made queues: %v, %v", all, err)
		}
	})
}

func TestOneGivenMessageIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fresh(t)
		f.send(t, "q", pipeline.Outgoing{Body: "a"}, pipeline.Outgoing{Body: "b"}, pipeline.Outgoing{Body: "c", Delay: time.Hour / 5})
		page, _, err := f.Peek(t.Context(), "q", "", 10)
		if err != nil || len(page) != 3 {
			t.Fatal(page, err)
		}
		for _, want := range page[1:] {
			got, found, err := f.Take(t.Context(), "q", want.ID, time.Minute)
			if err != nil || !found || got.Body != want.Body || got.Receipt == "" || got.ReceiveCount != 1 {
				t.Errorf("took %+v, %v, %v, want %+v", got, found, err, want)
			}
			if _, found, err := f.Take(t.Context(), "q", want.ID, time.Minute); found || err != nil {
				t.Errorf("taken twice: %v, %v", found, err)
			}
			if err := f.Delete(t.Context(), "q", []string{got.Receipt}); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range []string{"", "x", page[1].ID, f.messageID(99)} {
			if _, found, err := f.Take(t.Context(), "q", id, time.Minute); found || err != nil {
				t.Errorf("took %q: %v, %v", id, found, err)
			}
		}
		if _, found, err := f.Take(t.Context(), "typo", page[0].ID, time.Minute); found || err != nil {
			t.Errorf("taken from another queue: %v, %v", found, err)
		}
		if got := bodies(f.receive(t, "q", 10)); !slices.Equal(got, []string{"a"}) {
			t.Errorf("left: %v", got)
		}
	})
}

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

func TestInsertExistsOnlyWhenItsTransactionCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fresh(t)
		due := time.Now().Add(2 * time.Hour) // beyond what Send delays
		insert := func(body string, err error) error {
			return f.db.Do(t.Context(), func(tx *sqlitedb.Tx) error {
				return errors.Join(f.Insert(tx, "q", []pipeline.Outgoing{{Body: body, Delay: time.Hour}}, []time.Time{due}), err)
			})
		}
		no := errors.New("no")
		if err := insert("undone", no); !errors.Is(err, no) {
			t.Fatal(err)
		}
		if err := insert("kept", nil); err != nil {
			t.Fatal(err)
		}
		if _, ok := pipeline.Refused(insert("\x00", nil)); !ok {
			t.Error("an illegal body was inserted")
		}
		if n := f.info(t, "q").Delayed; n != 1 {
			t.Errorf("%d messages are known, want the one that was committed", n)
		}
		f.reopen(t)
		time.Sleep(2*time.Hour - time.Millisecond)
		if got := f.receive(t, "q", 10); len(got) > 0 {
			t.Errorf("early: %+v", got)
		}
		time.Sleep(time.Millisecond)
		if got := bodies(f.receive(t, "q", 10)); !slices.Equal(got, []string{"kept"}) {
			t.Errorf("received %v", got)
		}
	})
}

func TestAFullDiskFailsSendsAndLosesNothing(t *testing.T) {
	f := &fixture{Options: sqlitedb.Options{Dir: t.TempDir(), MaxPages: 150}}
	f.open(t)
	t.Cleanup(func() { f.close(t) })
	accepted, failed := map[string]bool{}, 0
	for i := range 300 {
		body := fmt.Sprintf("%03d%s", i, strings.Repeat("x", 3000))
		if err := f.Send(t.Context(), "q", []pipeline.Outgoing{{Body: body}})[0]; err != nil {
			failed++
			if !sqlitedb.IsFull(err) {
				t.Fatalf("send failed with %v", err)
			}
			continue
		}
		accepted[body] = true
	}
	if failed == 0 || len(accepted) < 20 {
		t.Fatalf("%d accepted, %d failed", len(accepted), failed)
	}
	f.reopen(t)
	if n := f.info(t, "q").Visible; n != len(accepted) {
		t.Errorf("%d messages, %d were accepted", n, len(accepted))
	}
	for len(accepted) > 0 {
		in := f.receive(t, "q", 10)
		if len(in) == 0 {
			t.Fatalf("%d accepted messages are missing", len(accepted))
		}
		for _, m := range in {
			if !accepted[m.Body] {
				t.Errorf("%.10q was not accepted, or came twice", m.Body)
			}
			delete(accepted, m.Body)
			if err := f.Delete(t.Context(), "q", []string{m.Receipt}); err != nil {
				t.Fatal(err)
			}
		}
	}
	f.reopen(t) // the deletions made room
	f.send(t, "q", pipeline.Outgoing{Body: "again"})
	if got := bodies(f.receive(t, "q", 10)); !slices.Equal(got, []string{"again"}) {
		t.Errorf("received %.40q", got)
	}
}

func TestEveryDeletionIsKeptByAClose(t *testing.T) {
	f := fresh(t)
	for range 10 { // deletions that come while others are being written
		f.send(t, "q", slices.Repeat([]pipeline.Outgoing{{Body: "b"}}, 10)...)
		for _, m := range f.receive(t, "q", 10) {
			if err := f.Delete(t.Context(), "q", []string{m.Receipt}); err != nil {
				t.Fatal(err)
			}
			f.send(t, "other", pipeline.Outgoing{Body: "takes deletions along"})
		}
		f.reopen(t)
		if n := f.info(t, "q").Visible; n > 0 {
			t.Fatalf("%d deleted messages came back", n)
		}
	}
}

func TestAClosedQueueAnswersErrClosed(t *testing.T) {
	f := fresh(t)
	waiting := make(chan error, 1)
	go func() {
		_, err := f.Receive(t.Context(), "q", 1, time.Minute, time.Hour)
		waiting <- err
	}()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"waiting receive":   <-waiting,
		"receive":           second(f.Receive(t.Context(), "q", 1, time.Minute, 0)),
		"send":              f.Send(t.Context(), "q", []pipeline.Outgoing{{Body: "b"}})[0],
		"delete":            f.Delete(t.Context(), "q", nil),
		"change visibility": f.ChangeVisibility(t.Context(), "q", "r", 0),
		"take":              third(f.Take(t.Context(), "q", f.messageID(1), time.Minute)),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s answers %v", name, err)
		}
	}
}

func TestAFailedCommitDoesNotJamTheQueue(t *testing.T) {
	f := fresh(t)
	if err := f.db.Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := f.Send(t.Context(), "q", []pipeline.Outgoing{{Body: "b"}})[0]; !errors.Is(err, sqlitedb.ErrClosed) {
			t.Errorf("send answers %v", err)
		}
	}
	if _, err := f.Receive(t.Context(), "q", 1, time.Minute, 0); err != nil {
		t.Error(err)
	}
}

func TestAFailedCommitFailsItsBatchAndNoLaterOne(t *testing.T) {
	f := fresh(t)
	// As when the commit cannot even begin: insert never runs.
	b := &batch{q: f.Queue, done: make(chan struct{})}
	f.batch = b
	no := errors.New("no")
	b.settle(no)
	if <-b.done; !errors.Is(b.err, no) {
		t.Errorf("the batch is told %v", b.err)
	}
	f.send(t, "q", pipeline.Outgoing{Body: "b"})
	if n := f.info(t, "q").Visible; n != 1 {
		t.Errorf("%d messages are there", n)
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

func TestOptionsChangedDuringACommitAreStoredByTheNext(t *testing.T) {
	f := fresh(t)
	want := Options{Visibility: time.Minute, MaxReceive: 7, DeadLetter: "dead"}
	f.send(t, "q", pipeline.Outgoing{Body: "b"})
	if err := f.Ensure(t.Context(), "q", Options{Visibility: time.Hour}); err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	l := f.index.lane("q")
	l.stored = false
	f.index.unstored = append(f.index.unstored, l)
	f.mu.Unlock()
	err := f.db.Do(t.Context(), func(tx *sqlitedb.Tx) error {
		err := f.storeLanes(tx)
		f.mu.Lock()
		l.Options = want
		f.mu.Unlock()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	f.send(t, "q", pipeline.Outgoing{Body: "b"})
	f.reopen(t)
	if got := f.info(t, "q").Options; got != want {
		t.Errorf("options are %+v, want %+v", got, want)
	}
}
