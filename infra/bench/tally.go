package main

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// tally is what the receiver saw of one run.
type tally struct {
	id   uint32
	subs []subTally
	// wait is the retry delay that the flaky lane's policy asks for.
	wait time.Duration

	unique, duplicates, refused atomic.Int64
	// last is when the latest new message arrived, Unix nanoseconds.
	last atomic.Int64

	// latency from the scheduled sending to the first arrival, in shards so
	// that the receiver's cores do not queue for one lock.
	latency [8]shard

	flaky flakyLane
	held  heldLane

	sampled atomic.Bool
	sample  sample
}

// subTally is one subscription's share.
type subTally struct {
	mu sync.Mutex
	// seen are the messages that came and were answered 200; on the busy lane
	// those that came.
	seen bitmap
	// again counts those that came once more after that.
	again int64
}

type shard struct {
	mu sync.Mutex
	h  *hdrhistogram.Histogram // microseconds
}

// sample is one request as the server sent it, to be sent again straight.
type sample struct {
	Header http.Header
	Body   []byte
	// Offset is where the body's marker starts.
	Offset int
}

// arrival is one notification.
type arrival struct {
	lane   string
	sub    int
	marker marker
	at     time.Time
}

// newHistogram takes 1 µs to 10 minutes, at three digits.
func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, 600_000_000, 3) }

func newTally(id uint32, subs int, wait time.Duration) *tally {
	t := &tally{id: id, subs: make([]subTally, subs), wait: wait, held: newHeldLane()}
	for i := range t.latency {
		t.latency[i].h = newHistogram()
	}
	t.flaky.attempts = map[pair]failure{}
	t.flaky.lateness = newHistogram()
	return t
}

// serve behaves as the lane says.
func (t *tally) serve(w http.ResponseWriter, req *http.Request, a arrival) {
	switch {
	case a.lane == "s":
		t.take(a)
		w.WriteHeader(http.StatusOK)
	case a.lane == "busy":
		t.take(a)
		t.refuse(w)
	case a.lane == "hang":
		<-req.Context().Done()
	case a.lane == "hold", a.lane == "late":
		if a.lane == "late" && t.held.refuseFirst(a) {
			t.refuse(w)
		} else if t.held.wait(req, a) {
			t.take(a)
			w.WriteHeader(http.StatusOK)
		}
	case a.lane == "tenth", strings.HasPrefix(a.lane, "flaky/"):
		if t.flaky.arrive(a, a.refusals(), t.wait) {
			t.refuse(w)
			return
		}
		t.take(a)
		w.WriteHeader(http.StatusOK)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// refusals is how many attempts of the message the flaky lanes refuse.
func (a arrival) refusals() int {
	if a.lane == "tenth" {
		if a.marker.Seq%10 == 0 {
			return 1
		}
		return 0
	}
	k, _ := strconv.Atoi(a.lane[len("flaky/"):])
	return k
}

func (t *tally) refuse(w http.ResponseWriter) {
	t.refused.Add(1)
	w.WriteHeader(http.StatusServiceUnavailable)
}

// take counts an arrival, and its latency when it is the first of its message.
func (t *tally) take(a arrival) {
	s := &t.subs[a.sub]
	s.mu.Lock()
	fresh := s.seen.add(a.marker.Seq)
	if !fresh {
		s.again++
	}
	s.mu.Unlock()
	if !fresh {
		t.duplicates.Add(1)
		return
	}
	t.unique.Add(1)
	now := a.at.UnixNano()
	t.last.Store(now)
	record(&t.latency[a.sub%len(t.latency)], now-a.marker.At)
}

// record notes nanoseconds as microseconds, at least 1.
func record(s *shard, ns int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.h.RecordValue(min(max(ns/1000, 1), s.h.HighestTrackableValue())) // in range by min and max
}

// quantiles merges the shards.
func (t *tally) quantiles() quantiles {
	all := newHistogram()
	for i := range t.latency {
		s := &t.latency[i]
		s.mu.Lock()
		all.Merge(s.h)
		s.mu.Unlock()
	}
	return quantilesOf(all)
}

// keepSample remembers the run's first notification.
func (t *tally) keepSample(h http.Header, body []byte, offset int) {
	if t.sampled.Load() || !t.sampled.CompareAndSwap(false, true) {
		return
	}
	t.subs[0].mu.Lock()
	defer t.subs[0].mu.Unlock()
	t.sample = sample{Header: h.Clone(), Body: append([]byte(nil), body...), Offset: offset}
}

// missing counts (message, subscription) pairs of wanted that have not arrived.
// With several topics, message n goes to topic n mod topics, and so does
// subscription n.
func (t *tally) missing(wanted bitmap, topics int) (n int64) {
	for i := range t.subs {
		s := &t.subs[i]
		s.mu.Lock()
		wanted.each(func(seq int64) {
			if seq%int64(topics) == int64(i%topics) && !s.seen.has(seq) {
				n++
			}
		})
		s.mu.Unlock()
	}
	return n
}

// resumptions gives one per subscription.
func (t *tally) resumptions() []resumption {
	rs := t.held.resumptions(len(t.subs))
	for i := range t.subs {
		s := &t.subs[i]
		s.mu.Lock()
		rs[i].Duplicates = s.again
		s.mu.Unlock()
	}
	return rs
}
