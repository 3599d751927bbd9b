// Package crew runs functions on goroutines that are used again. A fresh
// goroutine's stack grows from scratch under every push, which cost a tenth of
// the time of a delivery; a used one has grown already.
//
// Libraries for this bound the number of goroutines or queue work; here every
// function must run at once, so it is thirty lines of our own.
package crew

import "time"

// Crew runs functions. The zero value is not ready, see New.
type Crew struct {
	work chan func()
	rest time.Duration
}

// New makes a crew whose goroutines end after resting unused for so long.
func New(rest time.Duration) *Crew {
	return &Crew{work: make(chan func()), rest: rest}
}

// Go runs fn at once on a goroutine of the crew, a new one if none is free. fn
// must recover its own panics.
func (c *Crew) Go(fn func()) {
	select {
	case c.work <- fn:
	default:
		go c.member(fn)
	}
}

func (c *Crew) member(fn func()) {
	tired := time.NewTimer(c.rest)
	defer tired.Stop()
	for {
		fn()
		tired.Reset(c.rest)
		select {
		case fn = <-c.work:
		case <-tired.C:
			return
		}
	}
}
