package main

import (
	"fmt"
	"math"
	"time"
)

// throughputRow is one way to publish, measured against straight POSTs. The
// lists have one figure per round, in order.
type throughputRow struct {
	FanOut int
	// Signed: SNS's JSON envelope with its RSA signature; otherwise raw delivery.
	Signed bool
	// Batch is how many messages a call publishes: 1 is Publish.
	Batch int
	// Straight and Deliveries are POSTs a second at the receiver.
	Straight, Deliveries, Ratios series
	// ThroughDrain is deliveries a second from the first publish until all that
	// was accepted had arrived.
	ThroughDrain series
	// Backlog is how many accepted deliveries were outstanding at the end of
	// the window, at the most.
	Backlog int64
	// CPU of the server, µs per delivery and per message, all work included.
	CPUPerDelivery, CPUPerMessage series
	AllocsPerDelivery             series
	// Publish is the latency of the calls of the round with the median p99.
	Publish    []quantiles
	Duplicates int64
}

// group is the rows that share a server and its straight baseline.
type group struct {
	fanOut int
	signed bool
}

func (g group) String() string {
	if g.signed {
		return fmt.Sprintf("fan-out %d, signed", g.fanOut)
	}
	return fmt.Sprintf("fan-out %d, raw", g.fanOut)
}

// throughput measures all four groups, and latency beside the raw ones.
func (s *suite) throughput() error {
	for _, g := range []group{{10, false}, {1, false}, {10, true}, {1, true}} {
		if g.signed && !s.plan.has("throughput") {
			continue
		}
		if err := s.withServer(func(srv *server) error { return s.group(srv, g) }); err != nil {
			return fmt.Errorf("%s: %w", g, err)
		}
	}
	return nil
}

// group warms the server up, takes a sample of what it pushes and goes through
// the rounds: straight, single, batch; straight, single, batch; …
func (s *suite) group(srv *server, g group) error {
	topic, err := s.fanOut(srv, "throughput", "s", g.fanOut, !g.signed, "")
	if err != nil {
		return err
	}
	single := throughputRow{FanOut: g.fanOut, Signed: g.signed, Batch: 1}
	batch := throughputRow{FanOut: g.fanOut, Signed: g.signed, Batch: 10}
	warmUp := throughputRow{FanOut: g.fanOut, Signed: g.signed, Batch: 1}
	if err := s.pushed(srv, topic, &warmUp, s.plan.Warm, s.plan.Warm/2); err != nil {
		return err
	}
	var smp sample
	if err := s.receiver.call("sample", nothing{}, &smp); err != nil {
		return err
	}
	for range s.plan.Rounds {
		rate, err := s.straight(g, smp)
		if err != nil {
			return err
		}
		for _, row := range []*throughputRow{&single, &batch} {
			row.Straight = append(row.Straight, rate)
			if err := s.pushed(srv, topic, row, s.plan.Warm, s.plan.Window); err != nil {
				return err
			}
		}
		if g.signed {
			s.report.RSA = append(s.report.RSA, signingCost())
		}
	}
	for _, row := range []*throughputRow{&single, &batch} {
		row.Ratios = ratios(row.Deliveries, row.Straight)
		s.report.Throughput = append(s.report.Throughput, *row)
		s.say("%s, %d a call: %.0f/s of %.0f/s straight, ratio %.2f, %.0f µs CPU a delivery",
			g, row.Batch, median(row.Deliveries), median(row.Straight), median(row.Ratios), median(row.CPUPerDelivery))
	}
	if g.signed {
		return nil
	}
	s.peak[g.fanOut] = median(single.Deliveries)
	if s.plan.has("latency") {
		return s.latencies(srv, topic, g.fanOut)
	}
	return nil
}

// straight measures keep-alive POSTs of the sample by the same client to the
// same receiver.
func (s *suite) straight(g group, smp sample) (rate float64, err error) {
	run, err := s.begin(g.fanOut, 0)
	if err != nil {
		return 0, err
	}
	a := straightArgs{Sample: smp, Run: run, load: load{
		Clients: s.plan.Clients, Batch: 1, For: s.plan.StraightWarm + s.plan.StraightWindow + 100*time.Millisecond,
	}}
	for i := range g.fanOut {
		a.URLs = append(a.URLs, fmt.Sprintf("%s/s/%d", s.at.URL, i))
	}
	done := s.inBackground("straight", a)
	rate, _, err = s.window(s.plan.StraightWarm, s.plan.StraightWindow)
	o := <-done
	if err == nil {
		err = o.err
	}
	if err == nil && o.Failed > 0 {
		s.broken("%s: %d straight POSTs failed: %s", g, o.Failed, o.Error)
	}
	return rate, err
}

// pushed publishes in a closed loop for warm + length, measures at the receiver
// over length, waits for the rest and adds a round to row. The server's CPU and
// allocations are counted from before the first publish until after the last
// delivery, so that accepting and delivering the same messages is compared.
func (s *suite) pushed(srv *server, topic string, row *throughputRow, warm, length time.Duration) error {
	run, err := s.begin(row.FanOut, 0)
	if err != nil {
		return err
	}
	before, err := srv.usage()
	if err != nil {
		return err
	}
	done := s.inBackground("publish", publishArgs{URL: srv.url() + "/", Topics: []string{topic}, Run: run, load: load{
		Clients: s.plan.Clients, Batch: row.Batch, For: warm + length + 50*time.Millisecond,
	}})
	rate, end, err := s.window(warm, length)
	o := <-done
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%s, %d a call", group{row.FanOut, row.Signed}, row.Batch)
	p, err := s.settled(what, o, row.FanOut, 1)
	if err != nil {
		return err
	}
	s.pass(100 * time.Millisecond) // lets acknowledgements reach the disk
	after, err := srv.usage()
	if err != nil {
		return err
	}
	messages := float64(o.Accepted.count())
	deliveries := messages * float64(row.FanOut)
	row.Deliveries = append(row.Deliveries, rate)
	row.ThroughDrain = append(row.ThroughDrain, perSecond(p.Unique, o.Started, p.Last))
	row.Backlog = max(row.Backlog, int64(deliveries)-end.Unique)
	cpu := float64((after.CPU - before.CPU).Microseconds())
	row.CPUPerDelivery = append(row.CPUPerDelivery, cpu/deliveries)
	row.CPUPerMessage = append(row.CPUPerMessage, cpu/messages)
	allocs := math.NaN()
	if before.HasAllocs && after.HasAllocs {
		allocs = (after.Allocations - before.Allocations) / deliveries
	}
	row.AllocsPerDelivery = append(row.AllocsPerDelivery, allocs)
	row.Publish = append(row.Publish, o.Latency)
	row.Duplicates += p.Duplicates
	return nil
}
