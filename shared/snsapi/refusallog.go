package snsapi

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"postino/shared/push"
)

const (
	// refusalBurst and refusalEvery bound the log lines of calls that no key has
	// signed: so many of a code at once, and so many a second. Anybody can send
	// such calls, and a flood of them must not fill a disk or a bill.
	refusalBurst = 20
	refusalEvery = time.Second
)

// refusalLog counts log lines by code, of which there are few. Its zero value is
// usable.
type refusalLog struct {
	mu sync.Mutex
	by map[push.Code]*refusalLines
}

type refusalLines struct {
	budget *rate.Limiter
	asked  time.Time // when the budget was last asked
	left   int       // lines left out since the last one
}

// log reports whether a refusal gets its line, and how many before it got none.
func (r *refusalLog) log(code push.Code, now time.Time) (logged bool, left int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.by[code]
	if l == nil {
		if r.by == nil {
			r.by = map[push.Code]*refusalLines{}
		}
		l = &refusalLines{}
		r.by[code] = l
	}
	if l.budget == nil || l.asked.Sub(now) > refusalBurst*refusalEvery { // the clock was set back
		l.budget = rate.NewLimiter(rate.Every(refusalEvery), refusalBurst)
	}
	l.asked = now
	if !l.budget.AllowN(now, 1) {
		l.left++
		return false, 0
	}
	left, l.left = l.left, 0
	return true, left
}
