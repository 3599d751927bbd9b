package clocktimer

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"postino/shared/conformance"
	"postino/shared/embedded/sqlitedb"
	"postino/shared/embedded/sqlitequeue"
	"postino/shared/pipeline"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a timer with its queue that a test can close and open again.
type fixture struct {
	*Timer
	queue *sqlitequeue.Queue
	db    *sqlitedb.DB
	dir   string
	log   lockedBuffer
}

// lockedBuffer is a log that is written and read side by side.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (f *fixture) open(t *testing.T) {
	t.Helper()
	var err error
	if f.db, err = sqlitedb.Open(sqlitedb.Options{Dir: f.dir}); err != nil {
		t.Fatal(err)
	}
	if f.queue, err = sqlitequeue.Open(t.Context(), f.db, sqlitequeue.Config{}); err != nil {
		t.Fatal(err)
	}
	f.Timer = Open(f.db, f.queue, Config{Log: slog.New(slog.NewTextHandler(&f.log, nil))})
}

func (f *fixture) close(t *testing.T) {
	t.Helper()
	if err := errors.Join(f.Close(), f.queue.Close(), f.db.Close()); err != nil {
		t.Error(err)
	}
}

func fresh(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{dir: t.TempDir()}
	f.open(t)
	t.Cleanup(func() { f.close(t) })
	return f
}

func (f *fixture) timed() conformance.Timed { return conformance.Timed{Timer: f, Queue: f.queue} }

func TestTimerConforms(t *testing.T) {
	conformance.ExerciseTimer(t, conformance.Harness[conformance.Timed]{
		Run:  synctest.Test,
		Late: 2 * time.Millisecond,
		Open: func(t *testing.T) conformance.Timed { return fresh(t).timed() },
		Reopen: func(t *testing.T, p conformance.Timed) conformance.Timed {
			f := p.Timer.(*fixture)
			f.close(t)
			f.open(t)
			return f.timed()
		},
	})
}

func (f *fixture) at(t *testing.T, name string, after time.Duration) {
	t.Helper()
	if err := f.At(t.Context(), name, time.Now().Add(after), "q", pipeline.Outgoing{Body: name}); err != nil {
		t.Fatal(err)
	}
}

// visible gives the bodies that can be received now.
func (f *fixture) visible(t *testing.T) (bodies []string) {
	t.Helper()
	for {
		in, err := f.queue.Receive(t.Context(), "q", 10, time.Hour, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(in) == 0 {
			return bodies
		}
		for _, m := range in {
			bodies = append(bodies, m.Body)
		}
	}
}

func TestAMessageBecomesVisibleAtItsTimeToTheMillisecond(t *testing.T) {
	for _, after := range []time.Duration{time.Millisecond, time.Second, ahead, ahead + time.Millisecond, 20 * time.Minute, 24*time.Hour + 500*time.Microsecond} {
		t.Run(after.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := fresh(t)
				f.at(t, "b", after)
				time.Sleep(after - time.Microsecond)
				if got := f.visible(t); len(got) > 0 {
					t.Errorf("visible early: %v", got)
				}
				time.Sleep(time.Millisecond)
				if got := f.visible(t); len(got) != 1 {
					t.Errorf("not visible in time: %v", got)
				}
			})
		})
	}
}

func TestAnEarlierTimeThanTheOneWaitedForIsNotMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fresh(t)
		f.at(t, "late", 10*time.Hour)
		time.Sleep(time.Second)
		f.at(t, "soon", 30*time.Second)
		f.at(t, "later", 90*time.Second)
		time.Sleep(30*time.Second + time.Millisecond)
		if got := f.visible(t); len(got) != 1 || got[0] != "soon" {
			t.Errorf("visible: %v", got)
		}
		time.Sleep(time.Minute)
		if got := f.visible(t); len(got) != 1 || got[0] != "later" {
			t.Errorf("visible: %v", got)
		}
	})
}

func TestWhatBecameDueWhileNothingRanIsSentAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fresh(t)
		for n := range 3*moveMax + 1 { // several transactions' worth
			f.at(t, fmt.Sprint(n), time.Hour+time.Duration(n)*time.Millisecond)
		}
		f.close(t)
		time.Sleep(2 * time.Hour)
		f.open(t)
		time.Sleep(time.Millisecond)
		got := f.visible(t)
		if len(got) != 3*moveMax+1 {
			t.Fatalf("%d are visible", len(got))
		}
		for n, body := range got {
			if body != fmt.Sprint(n) {
				t.Fatalf("number %d is %s", n, body)
			}
		}
		f.close(t)
		f.open(t)
		time.Sleep(time.Minute)
		if again := f.visible(t); len(again) != len(got) || f.left(t) != 0 { // in flight before the restart
			t.Errorf("%d are there after a restart, %d are left in the table", len(again), f.left(t))
		}
	})
}

// left counts the rows of the table.
func (f *fixture) left(t *testing.T) (n int) {
	t.Helper()
	err := f.db.Read(t.Context(), func(tx *sqlitedb.Tx) error {
		return tx.Query(`SELECT count(*) FROM timer`, func(r sqlitedb.Row) error { n = int(r.Int(0)); return nil })
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestWhatTheQueueWouldRefuseIsRefusedAtOnce(t *testing.T) {
	f := fresh(t)
	for queue, e := range map[string]pipeline.Outgoing{
		"q":      {Body: "\x00"},
		"a b":    {Body: "b"},
		"q.fifo": {Body: "b"},
		"other":  {},
	} {
		if _, ok := pipeline.Refused(f.At(t.Context(), "n", time.Now(), queue, e)); !ok {
			t.Errorf("%s took %+v", queue, e)
		}
	}
	if n := f.left(t); n != 0 {
		t.Errorf("%d were stored", n)
	}
}

func TestAMoveThatFailsIsSaidAndTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fresh(t)
		sql := func(statement string) {
			t.Helper()
			err := f.db.Do(t.Context(), func(tx *sqlitedb.Tx) error {
				_, err := tx.Exec(statement)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		f.at(t, "b", 5*time.Minute)
		sql(`ALTER TABLE message RENAME TO away`)
		time.Sleep(5 * time.Minute)
		if got := f.log.String(); !strings.Contains(got, "trying again") {
			t.Errorf("the log says %q", got)
		}
		sql(`ALTER TABLE away RENAME TO message`)
		time.Sleep(again + time.Millisecond)
		if got := f.visible(t); len(got) != 1 || f.left(t) != 0 {
			t.Errorf("visible: %v", got)
		}
	})
}

func TestACallThatComesWhileTheTableIsReadIsNotMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fresh(t)
		synctest.Wait()
		f.setNap(time.Time{})
		f.watch(time.Now().Add(10 * time.Hour))
		synctest.Wait()
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.nap.IsZero() {
			t.Error("the clock did not look again")
		}
	})
}
