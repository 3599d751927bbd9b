package sqlitedb

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// lazyFor is how long a lazy write waits for a commit to ride with before it
// makes one of its own; lazyAgain is the pause after one that failed.
const (
	lazyFor   = 20 * time.Millisecond
	lazyAgain = 250 * time.Millisecond
)

// groupMax bounds a commit, so that its first waiter is not kept for ever by
// the ones that came later.
const groupMax = 512

// job is one submitted function and whom to tell.
type job struct {
	fn   func(*Tx) error
	done func(error) // nil on lazy ones
	err  error
}

// writer owns the one connection that writes.
type writer struct {
	// callers wait for the next commit, served did for the last.
	callers atomic.Int64
	served  int64
	// commits counts them; restart asks for a checkpoint before the next.
	commits atomic.Uint64
	restart atomic.Bool

	conn    *conn
	explain func(error) error

	mu      sync.Mutex
	urgent  []*job
	lazy    []*job
	closing bool          // no urgent jobs are taken
	ended   bool          // nor lazy ones: what a last commit brings about is still written
	wake    chan struct{} // holds one token when there is something to look at
	stopped chan struct{}
}

func newWriter(c *conn, explain func(error) error) *writer {
	return &writer{conn: c, explain: explain, wake: make(chan struct{}, 1), stopped: make(chan struct{})}
}

// Do runs fn in a transaction and returns when it is on the disk, or nothing of
// it is. fn's error is returned and undoes what fn wrote, and only that. fn may
// run more than once, with what it wrote before undone; it must not call Do.
//
// When ctx ends first its error is returned and the write may still happen.
func (db *DB) Do(ctx context.Context, fn func(*Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	answer := make(chan error, 1)
	db.Submit(fn, func(err error) { answer <- err })
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Submit is Do without waiting: done is called with the outcome, on the
// writer's goroutine, so it must be quick and must not wait for another write.
func (db *DB) Submit(fn func(*Tx) error, done func(error)) {
	if !db.writer.add(&job{fn: fn, done: done}) {
		done(ErrClosed)
	}
}

// Lazy runs fn in a transaction that somebody else waits for, or in one of its
// own after 20 ms. It is tried again until it is committed; only a crash within
// that time loses it. Register what must follow the commit with OnCommit.
func (db *DB) Lazy(fn func(*Tx) error) { db.writer.add(&job{fn: fn}) }

// add reports false after Close.
func (w *writer) add(j *job) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended || w.closing && j.done != nil {
		return false
	}
	if j.done == nil {
		w.lazy = append(w.lazy, j)
	} else {
		w.urgent = append(w.urgent, j)
		w.callers.Add(1)
	}
	w.signal()
	return true
}

func (w *writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// stop commits what is pending and ends the writer.
func (w *writer) stop() {
	w.mu.Lock()
	w.closing = true
	w.signal()
	w.mu.Unlock()
	<-w.stopped
}

func (w *writer) run() {
	defer close(w.stopped)
	patience := time.NewTimer(0) // runs while lazy jobs wait
	patience.Stop()
	armed := false
	for {
		due := false
		select {
		case <-w.wake:
		case <-patience.C:
			armed, due = false, true
		}
		w.gather()
		urgent, lazy, closing := w.take(due)
		var kept []*job
		if len(urgent)+len(lazy) > 0 {
			kept = w.commit(urgent, lazy)
			w.mu.Lock()
			w.lazy = append(kept, w.lazy...)
			w.mu.Unlock()
			if len(kept) > 0 && !closing {
				patience.Reset(lazyAgain)
				armed = true
				continue
			}
		}
		if closing && w.end(len(kept) > 0) {
			return
		}
		if waiting := w.waiting(); waiting && !armed {
			patience.Reset(lazyFor)
			armed = true
		}
	}
}

const (
	// gatherYields is how often a commit stands back for others.
	gatherYields = 4
	// gatherFrom is how many callers the last commit must have served for the
	// next one to wait for as many, gatherMost at most.
	gatherFrom = 4
	gatherLook = 50 * time.Microsecond
	gatherMost = time.Millisecond
)

// gather lets others submit before a commit is made: few large commits do the
// work of many small ones, each of which costs some 0.2 ms. Goroutines that are
// ready to run always may; when the last commit served several callers the next
// one also waits a little for as many. A caller that is alone is never delayed.
func (w *writer) gather() {
	for range gatherYields {
		runtime.Gosched()
	}
	waiting := w.callers.Load()
	if waiting == 0 {
		return
	}
	if w.served >= gatherFrom {
		for waited := time.Duration(0); waiting < w.served && waited < gatherMost; waited += gatherLook {
			time.Sleep(gatherLook)
			waiting = w.callers.Load()
		}
	}
	w.served = w.callers.Swap(0)
}

// Join tells the writer that one more caller waits for a function that is
// submitted already.
func (db *DB) Join() { db.writer.callers.Add(1) }

// take gives what the next commit is made of: the urgent jobs with the lazy
// ones riding along, or, when they are due, the lazy ones alone.
func (w *writer) take(due bool) (urgent, lazy []*job, closing bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(len(w.urgent), groupMax)
	urgent, w.urgent = w.urgent[:n:n], w.urgent[n:]
	if n > 0 || due || w.closing {
		lazy, w.lazy = w.lazy, nil
	}
	if len(w.urgent) > 0 || w.closing {
		w.signal() // come again
	}
	return urgent, lazy, w.closing
}

func (w *writer) waiting() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.lazy) > 0
}

// end reports whether nothing is left to do; lazy jobs that have just failed
// are given up.
func (w *writer) end(giveUp bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = len(w.urgent) == 0 && (len(w.lazy) == 0 || giveUp)
	return w.ended
}

// commit runs the jobs, commits once, and answers. It returns the lazy jobs
// that must be tried again.
func (w *writer) commit(urgent, lazy []*job) (kept []*job) {
	if w.restart.CompareAndSwap(true, false) {
		// Where it fails the log only stays as long as it is.
		_, _ = checkpoint(w.conn, "RESTART")
	}
	defer w.commits.Add(1)
	group := slices.Concat(urgent, lazy)
	tx := &Tx{conn: w.conn}
	redo, err := w.attempt(tx, group, false)
	if redo {
		tx = &Tx{conn: w.conn}
		_, err = w.attempt(tx, group, true)
	}
	if err == nil {
		for _, f := range tx.committed {
			f()
		}
	}
	for _, j := range urgent {
		if err != nil {
			j.err = err
		}
		j.done(w.explain(j.err))
	}
	if err == nil {
		for _, j := range lazy {
			if j.err != nil {
				kept = append(kept, j)
			}
		}
		return kept
	}
	if len(urgent) > 0 && len(lazy) > 0 {
		// Deletions make room on a full disk: they must not fail together with
		// the insertions that found none.
		return w.commit(nil, lazy)
	}
	return lazy
}

// attempt makes one transaction of group. At first without savepoints: a job
// that fails after it wrote asks for the transaction to be done again (redo)
// with one savepoint a job.
func (w *writer) attempt(tx *Tx, group []*job, savepoints bool) (redo bool, err error) {
	if _, err := w.conn.exec("BEGIN IMMEDIATE"); err != nil {
		return false, err
	}
	for _, j := range group {
		if redo, err = w.step(tx, j, savepoints); redo || err != nil {
			_, _ = w.conn.exec("ROLLBACK") // SQLite may have rolled back by itself
			return redo, err
		}
	}
	if _, err := w.conn.exec("COMMIT"); err != nil {
		_, _ = w.conn.exec("ROLLBACK")
		return false, err
	}
	return false, nil
}

// step runs one job within the transaction.
func (w *writer) step(tx *Tx, j *job, savepoint bool) (redo bool, err error) {
	if savepoint {
		if _, err := w.conn.exec("SAVEPOINT job"); err != nil {
			return false, err
		}
	}
	w.conn.wrote = false
	hooks := len(tx.committed)
	j.err = guard(j.fn, tx)
	if j.err != nil {
		tx.committed = tx.committed[:hooks]
		if !savepoint {
			return w.conn.wrote || primary(j.err) != 0, nil
		}
		if _, err := w.conn.exec("ROLLBACK TO job"); err != nil {
			return false, j.err // the transaction itself is gone: a full disk
		}
	}
	if savepoint {
		_, err = w.conn.exec("RELEASE job")
	}
	return false, err
}

// guard keeps a panic in fn from ending the writer, and the process with it.
func guard(fn func(*Tx) error, tx *Tx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a transaction: %v", p)
		}
	}()
	return fn(tx)
}

// Tx runs statements within Do, Lazy or Read; it is of no use afterwards.
// Arguments are int, int64, string, []byte or nil.
type Tx struct {
	conn      *conn
	committed []func()
}

// Exec runs a statement and gives the number of rows it changed. Statements
// stay prepared: pass constant texts.
func (tx *Tx) Exec(query string, args ...any) (changed int64, err error) {
	return tx.conn.exec(query, args...)
}

// Query calls row for every row of the answer. row must not run statements of
// the same text.
func (tx *Tx) Query(query string, row func(Row) error, args ...any) error {
	return tx.conn.query(query, row, args...)
}

// OnCommit has f called on the writer's goroutine once the transaction is on
// the disk, before Do returns; f is forgotten when it is undone.
func (tx *Tx) OnCommit(f func()) { tx.committed = append(tx.committed, f) }
