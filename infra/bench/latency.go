package main

import (
	"fmt"
	"time"
)

// latencyRow is an open loop at a rate, with single publishes and raw delivery.
type latencyRow struct {
	FanOut int
	// Rate is messages a second asked for, Load says why that many.
	Rate float64
	Load string
	// Publish is from the scheduled time to the answer, First from the
	// scheduled time to the first arrival at each subscription, Late what the
	// client itself was late (it is part of both).
	Publish, First, Late quantiles
	// Through is deliveries a second during the time of publishing.
	Through float64
}

// openLoopClients is how many calls of an open loop may be under way: enough
// that a stall of the server does not become one of the client.
const openLoopClients = 256

// latencies measures the steady rate (at fan-out 1) and half of the peak.
func (s *suite) latencies(srv *server, topic string, fanOut int) error {
	if fanOut == 1 {
		if err := s.latency(srv, []string{topic}, fanOut, s.plan.SteadyRate, s.plan.Steady, steadyLoad); err != nil {
			return err
		}
	}
	half := s.peak[fanOut] / float64(fanOut) / 2
	if !(half > 0) {
		return fmt.Errorf("fan-out %d has no peak to halve", fanOut)
	}
	return s.latency(srv, []string{topic}, fanOut, half, s.plan.HalfPeak, halfPeakLoad)
}

const (
	steadyLoad   = "steady"
	halfPeakLoad = "half of the peak"
)

func (s *suite) latency(srv *server, topics []string, fanOut int, rate float64, length time.Duration, why string) error {
	row, err := s.openLoop(srv, topics, fanOut, fanOut, rate, length, why)
	if err != nil {
		return err
	}
	s.report.Latency = append(s.report.Latency, row)
	return nil
}

// openLoop publishes at a rate to topics that have fanOut subscriptions each,
// subs in all, and waits until everything has arrived.
func (s *suite) openLoop(srv *server, topics []string, fanOut, subs int, rate float64, length time.Duration, why string) (latencyRow, error) {
	row := latencyRow{FanOut: fanOut, Rate: rate, Load: why}
	run, err := s.begin(subs, 0)
	if err != nil {
		return row, err
	}
	done := s.inBackground("publish", publishArgs{URL: srv.url() + "/", Topics: topics, Run: run, load: load{
		Clients: openLoopClients, Batch: 1, For: length, Rate: rate,
	}})
	through, _, err := s.window(0, length)
	o := <-done
	if err != nil {
		return row, err
	}
	_, err = s.settled(fmt.Sprintf("%s, fan-out %d", why, fanOut), o, fanOut, len(topics))
	if err != nil {
		return row, err
	}
	row.Publish, row.Late, row.Through = o.Latency, o.Late, through
	if err := s.receiver.call("latency", nothing{}, &row.First); err != nil {
		return row, err
	}
	s.say("%s, fan-out %d, %.0f messages/s: publish p50 %.2f p99 %.2f ms, first delivery p50 %.2f p99 %.2f ms",
		why, fanOut, rate, row.Publish.P50(), row.Publish.P99(), row.First.P50(), row.First.P99())
	return row, nil
}
