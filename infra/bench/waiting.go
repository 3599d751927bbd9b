package main

import (
	"fmt"
	"time"
)

// waitingRow is the memory of a server whose jobs all wait for a retry.
type waitingRow struct {
	// Wanted jobs, and how many did fail once and wait.
	Wanted, Waiting int64
	// Empty is the server before the first publish, Full after the last failure.
	Empty, Full memory
	Took        time.Duration
}

// waiting publishes to an endpoint that answers 503, under a policy whose first
// retry is ten minutes away, and weighs the server. It is a server of its own:
// the peak since its start is the peak of this.
func (s *suite) waiting() error {
	return s.withServer(func(srv *server) error {
		topic, err := s.fanOut(srv, "waiting", "busy", 1, true, fixed(3, 10*time.Minute))
		if err != nil {
			return err
		}
		row := waitingRow{Wanted: int64(s.plan.Waiting)}
		if row.Empty, err = memoryOf(srv.pid()); err != nil {
			return err
		}
		run, err := s.begin(1, 0)
		if err != nil {
			return err
		}
		began := time.Now()
		o := <-s.inBackground("publish", publishArgs{URL: srv.url() + "/", Topics: []string{topic}, Run: run, load: load{
			Clients: s.plan.Clients, Batch: 10, For: s.plan.WaitingFor, Count: row.Wanted,
		}})
		if o.err != nil {
			return o.err
		}
		if o.Failed > 0 {
			s.broken("waiting: %d of %d messages were not accepted: %s", o.Failed, o.Tried, o.Error)
		}
		left := s.plan.WaitingFor - time.Since(began)
		p, err := s.await(left, func(p progress) bool { return p.Unique >= row.Wanted })
		if err != nil {
			return err
		}
		row.Waiting, row.Took = p.Unique, time.Since(began)
		if accepted := o.Accepted.count(); row.Waiting < accepted {
			s.say("waiting: %d of %d accepted messages had their first attempt within %s", row.Waiting, accepted, s.plan.WaitingFor)
		}
		s.pass(s.plan.Warm) // the last failures are being written
		if row.Full, err = memoryOf(srv.pid()); err != nil {
			return err
		}
		s.report.Waiting = &row
		s.say("%d jobs wait: %s, at most %s", row.Waiting, megabytes(row.Full.Resident), megabytes(row.Full.Peak))
		return nil
	})
}

func megabytes(bytes int64) string { return fmt.Sprintf("%.0f MB", float64(bytes)/1e6) }
