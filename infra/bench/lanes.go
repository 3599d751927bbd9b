package main

import (
	"net/http"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// pair is one message on its way to one subscription.
type pair struct {
	sub int
	seq int64
}

func (a arrival) pair() pair { return pair{a.sub, a.marker.Seq} }

// failure is where a flaky message stands.
type failure struct {
	count int
	// answered is when the last 503 was about to be written: the server cannot
	// have seen the attempt end before that.
	answered time.Time
}

// flakyLane measures how late retries come.
type flakyLane struct {
	mu       sync.Mutex
	attempts map[pair]failure
	// lateness in microseconds behind (end of the attempt before + delay),
	// jitter included; earliest is the least of them, negative when a retry came
	// too early.
	lateness *hdrhistogram.Histogram
	earliest time.Duration
}

// arrive notes an attempt and says whether it is one of the k to be refused.
func (f *flakyLane) arrive(a arrival, k int, wait time.Duration) (refuse bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before, again := f.attempts[a.pair()]
	if again && before.count <= k {
		late := a.at.Sub(before.answered) - wait
		if f.lateness.TotalCount() == 0 || late < f.earliest {
			f.earliest = late
		}
		_ = f.lateness.RecordValue(min(max(late.Microseconds(), 0), f.lateness.HighestTrackableValue())) // in range
	}
	f.attempts[a.pair()] = failure{count: before.count + 1, answered: time.Now()}
	return before.count < k
}

// heldLane keeps requests waiting, to be in flight when the server is killed.
type heldLane struct {
	mu       sync.Mutex
	released chan struct{}
	open     bool
	// waiting is how many requests are held now.
	waiting int
	// refused are the pairs whose first attempt was refused, so that it is a
	// retry that is held.
	refused map[pair]bool
	// since has every pair that was in flight without an answer, again when
	// each first came back after the release.
	since, again map[pair]time.Time
}

func newHeldLane() heldLane {
	return heldLane{
		released: make(chan struct{}), refused: map[pair]bool{},
		since: map[pair]time.Time{}, again: map[pair]time.Time{},
	}
}

// refuseFirst says whether a is the first attempt of its pair.
func (h *heldLane) refuseFirst(a arrival) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open || h.refused[a.pair()] {
		return false
	}
	h.refused[a.pair()] = true
	return true
}

// wait holds a request until the release and says whether to answer it. One
// whose connection broke is not answered and stays in flight.
func (h *heldLane) wait(req *http.Request, a arrival) bool {
	h.mu.Lock()
	if h.open {
		_, inFlight := h.since[a.pair()]
		if _, back := h.again[a.pair()]; inFlight && !back {
			h.again[a.pair()] = a.at
		}
		h.mu.Unlock()
		return true
	}
	h.since[a.pair()] = a.at
	h.waiting++
	h.mu.Unlock()
	select {
	case <-req.Context().Done():
	case <-h.released:
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting--
	if req.Context().Err() != nil {
		return false
	}
	delete(h.since, a.pair())
	return true
}

// release lets everything through from now on.
func (h *heldLane) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.open {
		h.open = true
		close(h.released)
	}
}

// resumption is what became of one subscription's messages in flight at the kill.
type resumption struct {
	// InFlight is how many there were, Back how many of them came again.
	InFlight, Back int
	// First and Last are when, in Unix nanoseconds; 0 when none came.
	First, Last int64
	// Duplicates is how many of the subscription's messages, in flight or not,
	// came again after they had been answered 200.
	Duplicates int64
}

// resumptions gives one per subscription.
func (h *heldLane) resumptions(subs int) []resumption {
	h.mu.Lock()
	defer h.mu.Unlock()
	rs := make([]resumption, subs)
	for p := range h.since {
		rs[p.sub].InFlight++
	}
	for p, at := range h.again {
		r, ns := &rs[p.sub], at.UnixNano()
		if r.Back++; r.Back == 1 {
			r.First, r.Last = ns, ns
		}
		r.First, r.Last = min(r.First, ns), max(r.Last, ns)
	}
	return rs
}
