package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// nothing is the arguments or the result of a command that has none.
type nothing struct{}

// addresses are where the receiver listens.
type addresses struct {
	// URL is where it lives; MortalURL refuses connections after "die".
	URL, MortalURL string
}

// beginArgs start a run; what came of the one before is forgotten.
type beginArgs struct {
	Run  uint32
	Subs int
	Wait time.Duration
}

// progress is a snapshot of the counters of the current run.
type progress struct {
	// Now is the receiver's clock, Unix nanoseconds; Last is when the latest new
	// message came, 0 before.
	Now, Last                          int64
	Unique, Duplicates, Refused, Stale int64
	Confirmed                          int64
	Held                               int
	Faults                             []string
}

// missingArgs ask which of the accepted messages have not arrived.
type missingArgs struct {
	Accepted bitmap
	Topics   int
}

// lateness is what the flaky lane measured.
type lateness struct {
	quantiles
	// EarliestUS is the least lateness in microseconds, negative if too early.
	EarliestUS int64
}

var errNoRun = errors.New("no run has begun")

// commands is what the suite may ask of the receiver.
func (r *receiver) commands(url string, dying *http.Server, mortal *net.TCPAddr) map[string]handler {
	return map[string]handler{
		"hello": handle(func(context.Context, nothing) (addresses, error) {
			return addresses{URL: url, MortalURL: "http://" + mortal.String()}, nil
		}),
		"begin": handle(func(_ context.Context, a beginArgs) (nothing, error) {
			r.run.Store(newTally(a.Run, a.Subs, a.Wait))
			return nothing{}, nil
		}),
		"die": handle(func(context.Context, nothing) (nothing, error) {
			return nothing{}, errors.Join(dying.Close(), keepClosed(mortal))
		}),
		"progress": handle(func(context.Context, nothing) (progress, error) { return r.progress(), nil }),
		"latency":  ofRun(r, func(t *tally, _ nothing) (quantiles, error) { return t.quantiles(), nil }),
		"lateness": ofRun(r, func(t *tally, _ nothing) (lateness, error) {
			t.flaky.mu.Lock()
			defer t.flaky.mu.Unlock()
			return lateness{quantilesOf(t.flaky.lateness), t.flaky.earliest.Microseconds()}, nil
		}),
		"missing": ofRun(r, func(t *tally, a missingArgs) (int64, error) { return t.missing(a.Accepted, a.Topics), nil }),
		"sample": ofRun(r, func(t *tally, _ nothing) (sample, error) {
			t.subs[0].mu.Lock()
			defer t.subs[0].mu.Unlock()
			if t.sample.Body == nil {
				return sample{}, errors.New("nothing has arrived")
			}
			return t.sample, nil
		}),
		"release": ofRun(r, func(t *tally, _ nothing) (nothing, error) {
			t.held.release()
			return nothing{}, nil
		}),
		"resumptions": ofRun(r, func(t *tally, _ nothing) ([]resumption, error) { return t.resumptions(), nil }),
	}
}

// ofRun makes a handler that needs a run.
func ofRun[A, R any](r *receiver, f func(*tally, A) (R, error)) handler {
	return handle(func(_ context.Context, a A) (R, error) {
		t := r.run.Load()
		if t == nil {
			var zero R
			return zero, errNoRun
		}
		return f(t, a)
	})
}

func (r *receiver) progress() progress {
	p := progress{Now: time.Now().UnixNano(), Confirmed: r.confirmed.Load(), Stale: r.stale.Load()}
	r.mu.Lock()
	p.Faults = append(p.Faults, r.faults...)
	r.mu.Unlock()
	if t := r.run.Load(); t != nil {
		p.Unique, p.Duplicates, p.Refused, p.Last = t.unique.Load(), t.duplicates.Load(), t.refused.Load(), t.last.Load()
		t.held.mu.Lock()
		p.Held = t.held.waiting
		t.held.mu.Unlock()
	}
	return p
}
