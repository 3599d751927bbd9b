package main

import (
	"fmt"
	"time"
)

// retryRow is how late retries come, in milliseconds.
type retryRow struct {
	// Receiver is measured from when the 503 was about to be written plus the
	// policy's delay; it holds the jitter, which may add Jitter at most.
	Receiver quantiles
	Jitter   float64
	// Earliest is the least lateness seen: negative if a retry came too early.
	Earliest figure
	// ServerP50 and ServerP99 are from the server's own histogram, which knows
	// the jittered due time; NaN when it has none.
	ServerP50, ServerP99 figure
}

// BeyondJitter is the part of a receiver-side lateness that jitter cannot
// explain, in milliseconds.
func (r retryRow) BeyondJitter(lateMS float64) float64 { return max(0, lateMS-r.Jitter) }

const (
	retryDelay = time.Second
	// jitterShare is the most that the schedule may add to a delay.
	jitterShare = 0.10
)

// retries lets every message fail a few times under a policy of fixed delays.
func (s *suite) retries() error {
	return s.withServer(func(srv *server) error {
		k := s.plan.RetryAttempts
		topic, err := s.fanOut(srv, "retries", fmt.Sprintf("flaky/%d", k), 1, true, fixed(k, retryDelay))
		if err != nil {
			return err
		}
		run, err := s.begin(1, retryDelay)
		if err != nil {
			return err
		}
		o := <-s.inBackground("publish", publishArgs{URL: srv.url() + "/", Topics: []string{topic}, Run: run, load: load{
			Clients: openLoopClients, Batch: 1, For: s.plan.RetryFor, Rate: s.plan.RetryRate,
		}})
		if _, err := s.settled("retries", o, 1, 1); err != nil {
			return err
		}
		var late lateness
		if err := s.receiver.call("lateness", nothing{}, &late); err != nil {
			return err
		}
		row := retryRow{
			Receiver: late.quantiles, Earliest: unknown,
			Jitter:    float64(retryDelay.Milliseconds()) * jitterShare,
			ServerP50: unknown, ServerP99: unknown,
		}
		if late.Count > 0 {
			row.Earliest = figure(float64(late.EarliestUS) / 1000)
		}
		if b := srv.scrape().histogram("retry_lateness_seconds"); len(b) > 0 {
			row.ServerP50, row.ServerP99 = figure(1000*bucketQuantile(b, 0.5)), figure(1000*bucketQuantile(b, 0.99))
		}
		if late.EarliestUS < 0 {
			s.broken("a retry came %.3f ms before its delay was over", -float64(row.Earliest))
		}
		s.report.Retry = &row
		return nil
	})
}
