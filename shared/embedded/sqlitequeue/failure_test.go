package sqlitequeue

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postino/shared/embedded/sqlitedb"
	"postino/shared/operator"
	"postino/shared/pipeline"
)

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
		"take":              second(f.Take(t.Context(), "q", operator.Sweep{}, nil)),
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
	if got := f.options("q"); got != want {
		t.Errorf("options are %+v, want %+v", got, want)
	}
}
