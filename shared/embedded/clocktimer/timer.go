// Package clocktimer keeps queue messages that are due later than a queue's
// longest delay in the embedded server's database, and moves each into its
// queue, in one transaction, shortly before it is due. The queue does the rest,
// so a message appears at its time to the millisecond.
package clocktimer

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"postino/shared/embedded/sqlitedb"
	"postino/shared/embedded/sqlitequeue"
	"postino/shared/pipeline"
	"postino/shared/push"
)

const (
	// ahead is how long before its time a message moves into the queue.
	ahead = time.Minute
	// napMax bounds how long the clock is not looked at.
	napMax = time.Minute
	// moveMax is the most messages one transaction moves.
	moveMax = 200
	// again is the pause after a move that failed.
	again = time.Second
)

// Timer implements pipeline.Timer.
type Timer struct {
	db    *sqlitedb.DB
	queue *sqlitequeue.Queue
	now   func() time.Time
	log   *slog.Logger

	mu sync.Mutex
	// nap is when the clock goroutine next wakes by itself, zero while it is
	// looking at the table.
	nap time.Time

	kick    chan struct{}
	stop    context.CancelFunc
	stopped chan struct{}
}

// Config are Open's dependencies; nil fields mean time.Now and slog.Default.
type Config struct {
	Now func() time.Time
	Log *slog.Logger
}

// Open starts the timer. Messages that became due while no server ran are moved
// at once.
func Open(db *sqlitedb.DB, queue *sqlitequeue.Queue, c Config) *Timer {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	ctx, stop := context.WithCancel(context.Background())
	t := &Timer{db: db, queue: queue, now: c.Now, log: c.Log, kick: make(chan struct{}, 1), stop: stop, stopped: make(chan struct{})}
	go t.run(ctx)
	return t
}

// At implements pipeline.Timer: it returns when the message is on the disk. The
// name is free again once the message has moved into the queue. A message that
// the queue would refuse is refused here.
func (t *Timer) At(ctx context.Context, name string, at time.Time, queue string, e pipeline.Outgoing) error {
	e.Delay = 0
	if err := sqlitequeue.Check(queue, e); err != nil {
		return err
	}
	attributes, err := json.Marshal(e.Attributes)
	if err != nil {
		return err
	}
	atMilli := at.Add(time.Millisecond - 1).UnixMilli() // never early
	err = t.db.Do(ctx, func(tx *sqlitedb.Tx) error {
		_, err := tx.Exec(`INSERT INTO timer VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO NOTHING`,
			name, atMilli, queue, e.Group, string(attributes), e.Body)
		return err
	})
	if err == nil {
		t.watch(at)
	}
	return err
}

// watch wakes the clock when at comes before it would look again.
func (t *Timer) watch(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.nap.IsZero() || at.Add(-ahead).Before(t.nap) {
		select {
		case t.kick <- struct{}{}:
		default:
		}
	}
}

// Close stops the clock. What waits stays in the database.
func (t *Timer) Close() error {
	t.stop()
	<-t.stopped
	return nil
}

func (t *Timer) run(ctx context.Context) {
	defer close(t.stopped)
	alarm := time.NewTimer(napMax)
	defer alarm.Stop()
	for {
		t.setNap(time.Time{})
		nap, err := t.move(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			t.log.Error("due messages could not be moved into their queue; trying again", "err", err)
			nap = again
		}
		t.setNap(t.now().Add(nap))
		alarm.Reset(nap)
		select {
		case <-alarm.C:
		case <-t.kick:
		case <-ctx.Done():
			return
		}
	}
}

func (t *Timer) setNap(until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.nap = until
}

// entry is a row of the table.
type entry struct {
	name, queue string
	at          time.Time
	out         pipeline.Outgoing
}

// move puts what is due soon into its queue, in part when it is much, and says
// how long nothing will be.
func (t *Timer) move(ctx context.Context) (time.Duration, error) {
	if err := t.moveSome(ctx); err != nil {
		return 0, err
	}
	return t.untilNext(ctx)
}

// moveSome is one transaction: a message leaves the table and enters the queue,
// or neither.
func (t *Timer) moveSome(ctx context.Context) error {
	return t.db.Do(ctx, func(tx *sqlitedb.Tx) error {
		due, err := t.due(tx)
		if err != nil {
			return err
		}
		for _, e := range due {
			if err := t.queue.Insert(tx, e.queue, []pipeline.Outgoing{e.out}, []time.Time{e.at}); err != nil {
				return err
			}
			if _, err := tx.Exec(`DELETE FROM timer WHERE name = ?`, e.name); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *Timer) due(tx *sqlitedb.Tx) (due []entry, err error) {
	until := t.now().Add(ahead).UnixMilli()
	err = tx.Query(`SELECT name, at_ms, queue, tenant, attributes, body FROM timer WHERE at_ms <= ? ORDER BY at_ms LIMIT ?`,
		func(r sqlitedb.Row) error {
			e := entry{name: r.Text(0), at: time.UnixMilli(r.Int(1)), queue: r.Text(2), out: pipeline.Outgoing{Group: r.Text(3), Body: r.Text(5)}}
			var attributes []push.Attribute
			err := json.Unmarshal([]byte(r.Text(4)), &attributes)
			e.out.Attributes = attributes
			due = append(due, e)
			return err
		}, until, moveMax)
	return due, err
}

func (t *Timer) untilNext(ctx context.Context) (time.Duration, error) {
	nap := napMax
	err := t.db.Read(ctx, func(tx *sqlitedb.Tx) error {
		return tx.Query(`SELECT at_ms FROM timer ORDER BY at_ms LIMIT 1`, func(r sqlitedb.Row) error {
			nap = min(napMax, max(0, time.UnixMilli(r.Int(0)).Add(-ahead).Sub(t.now())))
			return nil
		})
	})
	return nap, err
}
