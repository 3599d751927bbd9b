package main

import (
	"errors"
	"fmt"
	"time"
)

// crashRow is one SIGKILL and what followed.
type crashRow struct {
	// Accepted messages until the kill, Lost ones after the restart.
	Accepted, Lost int64
	// Restart is the time from starting the server to a 200 on /healthz, ms.
	Restart figure
	// First and Retried are the attempts in flight at the kill: first attempts,
	// and attempts after a failure.
	First, Retried repush
}

// repush is when what was in flight came again, in milliseconds behind the
// first 200 on /healthz (negative: before it). Nothing was in flight: NaN.
type repush struct {
	InFlight, Back int
	Begin, End     figure
	// Duplicates are messages that came again after a 200.
	Duplicates int64
}

func newRepush(r resumption, up time.Time) repush {
	p := repush{InFlight: r.InFlight, Back: r.Back, Duplicates: r.Duplicates, Begin: unknown, End: unknown}
	if r.Back > 0 {
		p.Begin = figure(float64(r.First-up.UnixNano()) / 1e6)
		p.End = figure(float64(r.Last-up.UnixNano()) / 1e6)
	}
	return p
}

// crashes kills a server that has pushes in flight, several times over.
func (s *suite) crashes() error {
	return s.withServer(func(srv *server) error {
		topic, err := srv.createTopic("crashes")
		if err != nil {
			return err
		}
		err = s.subscribe(srv, []order{
			{topic, s.at.URL + "/hold/0", true, fixed(3, time.Second)},
			{topic, s.at.URL + "/late/1", true, fixed(3, time.Second)},
		})
		if err != nil {
			return err
		}
		for i := range s.plan.Crashes {
			if err := s.crash(srv, topic); err != nil {
				return fmt.Errorf("kill %d: %w", i+1, err)
			}
		}
		return nil
	})
}

// crash is one round: publish while the receiver holds its answers, kill,
// release, restart, and see what comes.
func (s *suite) crash(srv *server, topic string) error {
	run, err := s.begin(2, 0)
	if err != nil {
		return err
	}
	done := s.inBackground("publish", publishArgs{URL: srv.url() + "/", Topics: []string{topic}, Run: run, load: load{
		Clients: s.plan.Clients, Batch: 1, For: s.plan.CrashAfter + 10*time.Second,
		Rate: s.plan.CrashRate, StopOnError: true,
	}})
	s.pass(s.plan.CrashAfter)
	srv.kill()
	o := <-done
	if o.err != nil {
		return o.err
	}
	p, err := s.await(5*time.Second, func(p progress) bool { return p.Held == 0 })
	if err != nil {
		return err
	}
	if p.Held > 0 {
		return errors.New("the receiver still holds requests of a server that is dead")
	}
	if err := s.receiver.call("release", nothing{}, nil); err != nil {
		return err
	}
	began := time.Now()
	up, err := srv.start(s.ctx)
	if err != nil {
		s.broken("after kill -9 the server does not come up again")
		return err
	}
	_, lost, err := s.drain(o.Accepted, 2*o.Accepted.count(), 1)
	if err != nil {
		return err
	}
	var rs []resumption
	if err := s.receiver.call("resumptions", nothing{}, &rs); err != nil {
		return err
	}
	row := crashRow{
		Accepted: o.Accepted.count(), Lost: lost, Restart: figure(float64(up.Sub(began).Microseconds()) / 1000),
		First: newRepush(rs[0], up), Retried: newRepush(rs[1], up),
	}
	s.report.Crashes = append(s.report.Crashes, row)
	if lost > 0 {
		s.broken("after kill -9, %d of %d deliveries of accepted messages were LOST", lost, 2*row.Accepted)
	}
	s.say("killed with %d + %d in flight; up in %.0f ms; all pushed again %.0f and %.0f ms later",
		row.First.InFlight, row.Retried.InFlight, row.Restart, row.First.End, row.Retried.End)
	return nil
}
