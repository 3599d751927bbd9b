package main

import (
	"fmt"
	"time"
)

// begin opens a new run at the receiver and gives its number.
func (s *suite) begin(subs int, wait time.Duration) (uint32, error) {
	s.runs++
	return s.runs, s.receiver.call("begin", beginArgs{Run: s.runs, Subs: subs, Wait: wait}, nil)
}

// outcome is a call to the client that has ended.
type outcome struct {
	sent
	err error
}

// inBackground starts a command at the client, whose result comes later.
func (s *suite) inBackground(name string, args any) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		o.err = s.client.call(name, args, &o.sent)
		done <- o
	}()
	return done
}

// window gives the rate of new messages at the receiver between warm and
// warm + length from now, and the progress at its end.
func (s *suite) window(warm, length time.Duration) (rate float64, end progress, err error) {
	s.pass(warm)
	from, err := s.progress()
	if err != nil {
		return 0, end, err
	}
	s.pass(length)
	if end, err = s.progress(); err != nil {
		return 0, end, err
	}
	return perSecond(end.Unique-from.Unique, from.Now, end.Now), end, s.ctx.Err()
}

// drain waits until everything accepted has arrived, pairs in all, or until
// nothing new has come for the plan's Stall. What is missing then is lost.
func (s *suite) drain(accepted bitmap, pairs int64, topics int) (p progress, missing int64, err error) {
	last, moved := int64(-1), time.Now()
	for {
		if p, err = s.progress(); err != nil {
			return p, 0, err
		}
		if p.Unique != last {
			last, moved = p.Unique, time.Now()
		}
		stalled := time.Since(moved) > s.plan.Stall
		if p.Unique >= pairs || stalled {
			if err := s.receiver.call("missing", missingArgs{accepted, topics}, &missing); err != nil {
				return p, 0, err
			}
			if missing == 0 || stalled {
				return p, missing, nil
			}
		}
		if err := s.ctx.Err(); err != nil {
			return p, 0, fmt.Errorf("time is up with %d of %d deliveries made", p.Unique, pairs)
		}
		s.pass(10 * time.Millisecond)
	}
}

// settled drains and notes what is missing and what was not accepted as broken.
func (s *suite) settled(what string, o outcome, fanOut, topics int) (progress, error) {
	if o.err != nil {
		return progress{}, o.err
	}
	if o.Failed > 0 {
		s.broken("%s: %d of %d messages were not accepted: %s", what, o.Failed, o.Tried, o.Error)
	}
	pairs := o.Accepted.count() * int64(fanOut)
	p, missing, err := s.drain(o.Accepted, pairs, topics)
	if err != nil {
		return p, fmt.Errorf("%s: %w", what, err)
	}
	if missing > 0 {
		s.broken("%s: %d of %d deliveries of accepted messages were LOST", what, missing, pairs)
	}
	return p, nil
}
