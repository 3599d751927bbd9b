package pipeline

import (
	"sync"
	"time"

	"postino/shared/push"
)

// Health remembers which subscriptions hang or cannot be connected to, so that
// their first attempts take the retry lane and leave the fresh lane to others.
// It lives in one process and changes no schedule; losing it costs nothing but
// the isolation of the first few attempts. The zero value is ready.
type Health struct {
	mu   sync.Mutex
	subs map[string]*condition
}

type condition struct {
	inFlight int
	// since is when the oldest attempt known to be in flight began.
	since time.Time
	// sickUntil is set by an attempt that hung or could not connect.
	sickUntil time.Time
}

const (
	// hungAfter is how long an attempt may be in flight before its subscription
	// counts as hanging; healthy endpoints answer in milliseconds.
	hungAfter = time.Second
	// sickFor is how long a fault is remembered; a success forgets it at once.
	sickFor = time.Minute
)

// Sick reports whether first attempts should take the retry lane.
func (h *Health) Sick(subscriptionARN string, now time.Time) bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.subs[subscriptionARN]
	if c == nil {
		return false
	}
	if c.inFlight == 0 && !now.Before(c.sickUntil) {
		delete(h.subs, subscriptionARN)
		return false
	}
	return now.Before(c.sickUntil) || c.inFlight > 0 && now.Sub(c.since) > hungAfter
}

func (h *Health) begin(subscriptionARN string, now time.Time) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.subs == nil {
		h.subs = map[string]*condition{}
	}
	c := h.subs[subscriptionARN]
	if c == nil {
		c = &condition{}
		h.subs[subscriptionARN] = c
	}
	if c.inFlight == 0 {
		c.since = now
	}
	c.inFlight++
}

func (h *Health) end(subscriptionARN string, now time.Time, r push.Result) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.subs[subscriptionARN]
	c.inFlight--
	c.since = now // the others began later than the one that ended, or are about as old
	switch {
	case r.Class == push.Success:
		c.sickUntil = time.Time{}
	case r.Fault == "timeout" || r.Status == 0 && !r.Connected:
		c.sickUntil = now.Add(sickFor)
	}
	if c.inFlight == 0 && !now.Before(c.sickUntil) {
		delete(h.subs, subscriptionARN)
	}
}
