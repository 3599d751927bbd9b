package pipeline

import (
	"slices"
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
	// inFlight are the times at which the attempts under way began, oldest first.
	inFlight []time.Time
	// answered is when the last attempt succeeded that ended beside others.
	answered time.Time
	// sickUntil is set by an attempt that hung or could not connect.
	sickUntil time.Time
}

const (
	// hungAfter is how long an attempt may be in flight before its subscription
	// counts as hanging; healthy endpoints answer in milliseconds. Every success
	// beside it buys another such while: an endpoint that serves most of its
	// messages keeps the fresh lane. A failure, however quick, buys nothing.
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
	if len(c.inFlight) == 0 && !now.Before(c.sickUntil) {
		delete(h.subs, subscriptionARN)
		return false
	}
	return now.Before(c.sickUntil) || len(c.inFlight) > 0 && now.Sub(c.inFlight[0]) > hungAfter && now.Sub(c.answered) > hungAfter
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
	c.inFlight = append(c.inFlight, now)
}

// end is told when the attempt began, as begin was.
func (h *Health) end(subscriptionARN string, began, now time.Time, r push.Result) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.subs[subscriptionARN]
	if i := slices.IndexFunc(c.inFlight, began.Equal); i >= 0 {
		c.inFlight = slices.Delete(c.inFlight, i, i+1)
	}
	switch {
	case r.Class == push.Success:
		c.sickUntil, c.answered = time.Time{}, now
	case r.Fault == "timeout" || r.Status == 0 && !r.Connected:
		c.sickUntil = now.Add(sickFor)
	}
	if len(c.inFlight) == 0 && !now.Before(c.sickUntil) {
		delete(h.subs, subscriptionARN)
	}
}
