package sqlitequeue

import (
	"testing"
	"testing/synctest"
	"time"

	"postino/shared/conformance"
	"postino/shared/embedded/sqlitedb"
)

// fixture is a queue that a test can close and open again.
type fixture struct {
	*Queue
	dir string
	db  *sqlitedb.DB
}

func (f *fixture) open(t *testing.T) {
	t.Helper()
	var err error
	if f.db, err = sqlitedb.Open(sqlitedb.Options{Dir: f.dir}); err != nil {
		t.Fatal(err)
	}
	if f.Queue, err = Open(t.Context(), f.db, Config{}); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) close(t *testing.T) {
	t.Helper()
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err := f.db.Close(); err != nil {
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

func TestQueueConforms(t *testing.T) {
	conformance.ExerciseQueue(t, conformance.QueueHarness{
		Harness: conformance.Harness[conformance.Queue]{
			Run:  synctest.Test,
			Late: 2 * time.Millisecond,
			Open: func(t *testing.T) conformance.Queue { return fresh(t) },
			Reopen: func(t *testing.T, q conformance.Queue) conformance.Queue {
				f := q.(*fixture)
				f.close(t)
				f.open(t)
				return f
			},
		},
		Redrive: func(t *testing.T, q conformance.Queue, queue, deadLetter string, maxReceive int) {
			if err := q.(*fixture).Ensure(t.Context(), queue, Options{MaxReceive: maxReceive, DeadLetter: deadLetter}); err != nil {
				t.Fatal(err)
			}
		},
	})
}
