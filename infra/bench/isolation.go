package main

import (
	"fmt"
)

// isolationRow compares the good subscriptions without and with bad ones.
type isolationRow struct {
	Good, Hanging, Refusing int
	// Rate is messages a second over all topics.
	Rate          float64
	Control, With latencyRow
}

// Kept is the share of the good subscriptions' rate that was kept.
func (r isolationRow) Kept() float64 { return r.With.Through / r.Control.Through }

// Slower is the factor by which their p99 grew.
func (r isolationRow) Slower() float64 { return r.With.First.P99() / r.Control.First.P99() }

// isolation publishes at half of the peak, first with only the good
// subscriptions, then with the bad ones beside them on the same topics: half of
// those never answer, the other half's port is closed. The load is an open
// loop: the same in both, whatever the bad ones cost.
func (s *suite) isolation() error {
	return s.withServer(func(srv *server) error {
		var topics []string
		for i := range s.plan.IsolationTopics {
			arn, err := srv.createTopic(fmt.Sprintf("isolation-%d", i))
			if err != nil {
				return err
			}
			topics = append(topics, arn)
		}
		good, bad := s.plan.IsolationGood, s.plan.IsolationBad
		var goodOnes, badOnes []order
		for i := range good {
			goodOnes = append(goodOnes, order{topics[i%len(topics)], fmt.Sprintf("%s/s/%d", s.at.URL, i), true, ""})
		}
		for i := range bad {
			endpoint := fmt.Sprintf("%s/hang/%d", s.at.URL, i)
			if i >= bad/2 {
				endpoint = fmt.Sprintf("%s/s/%d", s.at.MortalURL, i)
			}
			badOnes = append(badOnes, order{topics[i%len(topics)], endpoint, true, ""})
		}
		if err := s.subscribe(srv, goodOnes); err != nil {
			return err
		}
		fanOut := good / len(topics)
		deliveries := s.plan.IsolationRate
		if peak, ok := s.peak[10]; ok {
			deliveries = peak / 2
		}
		row := isolationRow{Good: good, Hanging: bad / 2, Refusing: bad - bad/2, Rate: deliveries / float64(fanOut)}
		var err error
		if row.Control, err = s.openLoop(srv, topics, fanOut, good, row.Rate, s.plan.IsolationControl, "isolation, control"); err != nil {
			return err
		}
		if err := s.subscribe(srv, badOnes); err != nil {
			return err
		}
		if err := s.receiver.call("die", nothing{}, nil); err != nil {
			return err
		}
		if row.With, err = s.openLoop(srv, topics, fanOut, good, row.Rate, s.plan.IsolationBadFor, "isolation, with the bad ones"); err != nil {
			return err
		}
		s.report.Isolation = &row
		return nil
	})
}
