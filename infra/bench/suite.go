package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// suite is one invocation: the receiver and the client live through it, servers
// come and go.
type suite struct {
	ctx    context.Context // ends everything; the suite is one call deep
	plan   plan
	binary string
	base   string // folder of this invocation's files
	log    io.Writer

	receiver, client *worker
	at               addresses
	runs             uint32
	report           *report
	// peak is the rate of deliveries of unsigned single publishes, by fan-out.
	peak map[int]float64
}

// measure runs the plan. The error is for what kept it from starting.
func measure(ctx context.Context, p plan, binary, dir string, log io.Writer) (*report, error) {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(binary); err != nil {
		return nil, fmt.Errorf("there is no server to measure: %w; build it, or name it with --server", err)
	}
	base, err := os.MkdirTemp(dir, "postino-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(base)
	ctx, cancel := context.WithTimeout(ctx, p.Limit)
	defer cancel()
	s := &suite{ctx: ctx, plan: p, binary: binary, base: base, log: log, peak: map[int]float64{}, report: newReport(p)}
	defer s.stopWorkers()
	if err := s.startWorkers(); err != nil {
		return nil, err
	}
	if s.report.Machine, err = describeMachine(base); err != nil {
		return nil, err
	}
	load := startLoadMeter(s.receiver, s.client)
	s.phases()
	s.report.Machine.Others = load.others(s.receiver, s.client)
	s.report.judge()
	return s.report, nil
}

// startWorkers starts receiver and client, which stopWorkers stops, those that were
// started, in any case.
func (s *suite) startWorkers() (err error) {
	if s.receiver, err = startWorker(s.ctx, "receiver"); err != nil {
		return err
	}
	if s.client, err = startWorker(s.ctx, "client"); err != nil {
		return err
	}
	return s.receiver.call("hello", nothing{}, &s.at)
}

func (s *suite) stopWorkers() {
	for _, w := range []*worker{s.client, s.receiver} {
		if w != nil {
			w.stop()
		}
	}
}

// phases runs them one by one. What breaks one is noted and does not keep the
// others from running.
func (s *suite) phases() {
	type phase struct {
		name string
		run  func() error
	}
	for _, p := range []phase{
		{"throughput", s.throughput}, // and latency
		{"retry", s.retries},
		{"waiting", s.waiting},
		{"crash", s.crashes},
		{"isolation", s.isolation},
	} {
		if !s.plan.has(p.name) && !(p.name == "throughput" && s.plan.has("latency")) {
			continue
		}
		if err := s.ctx.Err(); err != nil {
			s.broken("%s was not measured: %v", p.name, context.Cause(s.ctx))
			continue
		}
		began := time.Now()
		if err := p.run(); err != nil {
			s.broken("%s: %v", p.name, err)
		}
		s.say("%s took %s", p.name, time.Since(began).Round(100*time.Millisecond))
	}
	if pr, err := s.progress(); err == nil {
		for _, f := range pr.Faults {
			s.broken("%s", f)
		}
	}
}

// broken notes something lost or broken: the exit code will be 1.
func (s *suite) broken(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.report.Broken = append(s.report.Broken, text)
	s.say("BROKEN: %s", text)
}

func (s *suite) say(format string, args ...any) { fmt.Fprintf(s.log, "bench: "+format+"\n", args...) }

// withServer runs f on a fresh server.
func (s *suite) withServer(f func(*server) error) error {
	srv, err := newServer(s.binary, s.base)
	if err != nil {
		return err
	}
	if _, err := srv.start(s.ctx); err != nil {
		srv.kill()
		return err
	}
	if err := f(srv); err != nil {
		_ = srv.close() // f's error is the one to tell
		return err
	}
	return srv.close()
}

// pass waits for d, or less when the suite is over.
func (s *suite) pass(d time.Duration) {
	select {
	case <-s.ctx.Done():
	case <-time.After(d):
	}
}

func (s *suite) progress() (p progress, err error) {
	err = s.receiver.call("progress", nothing{}, &p)
	return p, err
}

// await polls the receiver until done says so or the time is up, and gives the
// latest progress.
func (s *suite) await(limit time.Duration, done func(progress) bool) (progress, error) {
	for began := time.Now(); ; s.pass(5 * time.Millisecond) {
		p, err := s.progress()
		if err != nil || done(p) || time.Since(began) > limit {
			return p, err
		}
		if err := s.ctx.Err(); err != nil {
			return p, err
		}
	}
}
