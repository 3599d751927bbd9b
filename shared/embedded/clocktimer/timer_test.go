package clocktimer

import (
	"testing"
	"testing/synctest"
	"time"

	"postino/shared/conformance"
	"postino/shared/embedded/sqlitedb"
	"postino/shared/embedded/sqlitequeue"
)

// fixture is a timer with its queue that a test can close and open again.
type fixture struct {
	*Timer
	queue *sqlitequeue.Queue
	db    *sqlitedb.DB
	dir   string
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
	f.Timer = Open(f.db, f.queue, Config{})
}

func (f *fixture) close(t *testing.T) {
	t.Helper()
	for _, close := range []func() error{f.Close, f.queue.Close, f.db.Close} {
		if err := close(); err != nil {
			t.Error(err)
		}
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
