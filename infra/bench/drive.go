package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// sender sends the next messages of one publisher, as many as the load's batch;
// first is the marker of the first of them, the others follow by number.
type sender func(ctx context.Context, first marker) error

// grace is how long calls under way may take once the time of sending is over.
const grace = 35 * time.Second

// drive sends under load. senders is called once per publisher: each has its
// own. wait is pause, or a test's clock.
func drive(ctx context.Context, wait func(time.Duration), run uint32, l load, senders func() sender) (sent, error) {
	if l.Clients < 1 || l.Batch < 1 || l.For <= 0 {
		return sent{}, errors.New("a load needs clients, a batch and a time")
	}
	ctx, cancel := context.WithTimeout(ctx, l.For+grace)
	defer cancel()
	d := &driver{wait: wait, run: run, load: l, latency: newHistogram(), late: newHistogram()}
	d.started = time.Now()
	d.deadline = d.started.Add(l.For)
	next := d.closedLoop
	if l.Rate > 0 {
		schedule := make(chan ticket, 1<<16)
		go d.pace(schedule)
		next = func() (ticket, bool) {
			tk, ok := <-schedule
			return tk, ok
		}
	}
	var wg sync.WaitGroup
	for range l.Clients {
		wg.Go(func() { d.publisher(ctx, senders(), next) })
	}
	wg.Wait()
	d.result.Started, d.result.Ended = d.started.UnixNano(), time.Now().UnixNano()
	d.result.Latency, d.result.Late = quantilesOf(d.latency), quantilesOf(d.late)
	return d.result, nil
}

type driver struct {
	wait              func(time.Duration)
	run               uint32
	load              load
	started, deadline time.Time
	next              atomic.Int64

	mu            sync.Mutex
	result        sent
	latency, late *hdrhistogram.Histogram
}

// ticket is one call to make: its first sequence number and its time.
type ticket struct {
	seq int64
	at  time.Time
}

// closedLoop hands out the next call for now.
func (d *driver) closedLoop() (ticket, bool) {
	now := time.Now()
	if !now.Before(d.deadline) {
		return ticket{}, false
	}
	seq := d.next.Add(int64(d.load.Batch)) - int64(d.load.Batch)
	if d.load.Count > 0 && seq >= d.load.Count {
		return ticket{}, false
	}
	return ticket{seq, now}, true
}

// pace puts calls on the schedule at their times. A call's latency counts from
// there, so that a slow server cannot thin out its own load (coordinated
// omission).
func (d *driver) pace(schedule chan<- ticket) {
	defer close(schedule)
	gap := time.Duration(float64(time.Second) / d.load.Rate * float64(d.load.Batch))
	for seq := int64(0); d.load.Count == 0 || seq < d.load.Count; seq += int64(d.load.Batch) {
		at := d.started.Add(time.Duration(seq/int64(d.load.Batch)) * gap)
		if !at.Before(d.deadline) {
			return
		}
		if left := time.Until(at); left > 0 {
			d.wait(left)
		}
		schedule <- ticket{seq, at}
	}
}

// publisher makes calls until none is left.
func (d *driver) publisher(ctx context.Context, send sender, next func() (ticket, bool)) {
	for {
		tk, more := next()
		if !more {
			return
		}
		begun := time.Now()
		err := send(ctx, marker{Run: d.run, Seq: tk.seq, At: tk.at.UnixNano()})
		d.record(tk, begun, err)
		if err != nil && (d.load.StopOnError || ctx.Err() != nil) {
			return
		}
	}
}

func (d *driver) record(tk ticket, begun time.Time, err error) {
	n := d.load.Batch
	took, late := time.Since(tk.at), begun.Sub(tk.at)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.result.Tried += int64(n)
	if err != nil {
		d.result.Failed += int64(n)
		if d.result.Error == "" {
			d.result.Error = err.Error()
		}
		return
	}
	for i := range n {
		d.result.Accepted.add(tk.seq + int64(i))
	}
	_ = d.latency.RecordValue(min(max(took.Microseconds(), 1), d.latency.HighestTrackableValue())) // in range
	_ = d.late.RecordValue(min(max(late.Microseconds(), 1), d.late.HighestTrackableValue()))       // in range
}
