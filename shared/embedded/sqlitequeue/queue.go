// Package sqlitequeue is an SQS-like queue in the embedded server's database:
// visibility timeouts, delays up to 900 s, receive counts, batches of ten, at
// least once, redrive to a dead-letter queue, message groups served in turn.
//
// What Send answered nil for is on the disk. Everything else is decided in
// memory: receiving reads the database only for bodies that were not sent just
// now, and acknowledgements ride with the next commit. So a crash makes visible
// at once whatever was received and not yet acknowledged, or acknowledged
// within the last 20 ms; delays keep their time. Receive counts are written when
// a message comes back, so after a start every visible message counts as
// received once: it may have been.
//
// Unlike SQS it keeps messages until they are deleted, however long.
package sqlitequeue

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"time"

	"postino/shared/embedded/sqlitedb"
)

// Options are a queue's own settings.
type Options struct {
	// Visibility is used where Receive is given none; 30 s unless set (SQS's
	// default).
	Visibility time.Duration
	// MaxReceive is after how many receives without a Delete a message moves to
	// DeadLetter; 0 for never.
	MaxReceive int
	// DeadLetter is a queue's name or ARN, "" for none. It is made on first use.
	DeadLetter string
}

const defaultVisibility = 30 * time.Second

// maxVisibility is SQS's bound on a visibility timeout.
const maxVisibility = 12 * time.Hour

// cacheSize bounds the bodies kept in memory between Send and Receive.
const cacheSize = 16 << 20

// napMax bounds how long the clock is not looked at, so that a step of the wall
// clock is noticed.
const napMax = time.Minute

// ErrClosed answers calls made after Close.
var ErrClosed = errors.New("queue is closed")

// Config are New's dependencies; nil fields mean time.Now and crypto/rand.
type Config struct {
	Now    func() time.Time
	Random io.Reader
}

// Queue is all queues of one database. It implements pipeline.Queues and
// conformance.Queue.
type Queue struct {
	db  *sqlitedb.DB
	now func() time.Time
	// installation makes message ids differ between databases.
	installation uint64

	mu      sync.Mutex
	index   *index
	nextSeq int64
	// reservedSeq is the highest number this database may have given out.
	reservedSeq int64
	batch       *batch
	deleted     []int64
	flushing    bool
	// nap is when the clock goroutine next wakes by itself.
	nap    int64
	closed bool

	kick    chan struct{}
	closing chan struct{}
	stopped chan struct{}
}

// Open loads what waits in db and starts the queue's clock. Nothing is in
// flight after a start.
func Open(ctx context.Context, db *sqlitedb.DB, c Config) (*Queue, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Random == nil {
		c.Random = rand.Reader
	}
	var seed [16]byte
	if _, err := io.ReadFull(c.Random, seed[:]); err != nil {
		return nil, err
	}
	q := &Queue{
		db: db, now: c.Now, index: newIndex(binary.BigEndian.Uint64(seed[:8])),
		kick: make(chan struct{}, 1), closing: make(chan struct{}), stopped: make(chan struct{}),
	}
	if err := q.identify(ctx, binary.BigEndian.Uint64(seed[8:])); err != nil {
		return nil, err
	}
	if err := q.load(ctx); err != nil {
		return nil, err
	}
	go q.tick()
	return q, nil
}

// Ensure makes the queue, or gives it other options.
func (q *Queue) Ensure(ctx context.Context, queue string, o Options) error {
	name, err := queueName(queue)
	if err != nil {
		return err
	}
	if o.Visibility == 0 {
		o.Visibility = defaultVisibility
	}
	if o.Visibility < 0 || o.Visibility > maxVisibility || o.MaxReceive < 0 {
		return refuse("a visibility timeout is 0 to %v and a receive count not negative", maxVisibility)
	}
	if o.DeadLetter != "" {
		if o.DeadLetter, err = queueName(o.DeadLetter); err != nil {
			return err
		}
	}
	q.mu.Lock()
	l := q.index.lane(name)
	if l.Options != o && l.stored {
		l.stored = false
		q.index.unstored = append(q.index.unstored, l)
	}
	l.Options = o
	stored := l.stored
	q.mu.Unlock()
	if stored {
		return nil
	}
	return q.db.Do(ctx, q.storeLanes)
}

// Close stops the clock and fails receivers that wait. Acknowledgements still
// on their way are written by the database's own Close.
func (q *Queue) Close() error {
	q.mu.Lock()
	already := q.closed
	q.closed = true
	q.mu.Unlock()
	if !already {
		close(q.closing)
	}
	<-q.stopped
	return nil
}

// tick keeps time: it makes messages visible when they are due.
func (q *Queue) tick() {
	defer close(q.stopped)
	alarm := time.NewTimer(napMax)
	defer alarm.Stop()
	for {
		alarm.Reset(q.settle())
		select {
		case <-alarm.C:
		case <-q.kick:
		case <-q.closing:
			return
		}
	}
}

// settle makes due messages ready and says how long nothing will be.
func (q *Queue) settle() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	q.index.advance(now.UnixMilli())
	q.flushLater()
	next := now.Add(napMax)
	if h := q.index.due; len(h) > 0 && h[0].at < next.UnixMilli() {
		next = time.UnixMilli(h[0].at)
	}
	q.nap = next.UnixMilli()
	return next.Sub(now)
}

// watch wakes the clock when something is due before it would look again.
func (q *Queue) watch() {
	if h := q.index.due; len(h) > 0 && h[0].at < q.nap {
		q.nap = h[0].at
		select {
		case q.kick <- struct{}{}:
		default:
		}
	}
}

// ceilMilli rounds up: a message is never visible early.
func ceilMilli(t time.Time) int64 { return t.Add(time.Millisecond - 1).UnixMilli() }
