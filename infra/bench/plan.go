package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// plan says how long and how much is measured. Every phase is bounded by it.
type plan struct {
	Quick bool
	// Limit bounds the whole run.
	Limit time.Duration
	// Phases to run, in this order.
	Phases []string

	Clients int // concurrent publishers, each in a closed loop
	Rounds  int // straight/single/batch rounds of a throughput group
	Warm    time.Duration
	Window  time.Duration // of publishing, after Warm
	// StraightWarm and StraightWindow are the same for straight POSTs.
	StraightWarm, StraightWindow time.Duration
	// Stall is how long nothing may arrive before the rest counts as lost. It is
	// longer than SNS's default retry delay of 20 s with its jitter, so that one
	// failed attempt is not taken for a loss.
	Stall time.Duration

	Steady     time.Duration // of publishing SteadyRate messages a second
	SteadyRate float64
	HalfPeak   time.Duration

	RetryFor      time.Duration
	RetryRate     float64
	RetryAttempts int // failures before the success

	Waiting    int // jobs that wait
	WaitingFor time.Duration

	Crashes    int
	CrashAfter time.Duration // of publishing; retries are in flight after 1.1 s
	CrashRate  float64       // messages a second

	IsolationTopics, IsolationGood, IsolationBad int // subscriptions in all
	IsolationControl, IsolationBadFor            time.Duration
	IsolationRate                                float64 // deliveries a second where no peak was measured
}

var phases = []string{"throughput", "latency", "retry", "waiting", "crash", "isolation"}

// fullPlan takes about six minutes, at most eight.
func fullPlan() plan {
	return plan{
		Limit: 8 * time.Minute, Phases: phases, Clients: 16, Rounds: 3,
		Warm: time.Second, Window: 3 * time.Second,
		StraightWarm: 500 * time.Millisecond, StraightWindow: 2 * time.Second,
		Stall:  45 * time.Second,
		Steady: 20 * time.Second, SteadyRate: 100, HalfPeak: 8 * time.Second,
		RetryFor: 10 * time.Second, RetryRate: 50, RetryAttempts: 3,
		Waiting: 100_000, WaitingFor: 90 * time.Second,
		Crashes: 3, CrashAfter: 2 * time.Second, CrashRate: 1000,
		IsolationTopics: 10, IsolationGood: 900, IsolationBad: 100,
		IsolationControl: 10 * time.Second, IsolationBadFor: 25 * time.Second, IsolationRate: 2000,
	}
}

// quickPlan exercises every phase in well under half a minute.
func quickPlan() plan {
	return plan{
		Quick: true,
		Limit: time.Minute, Phases: phases, Clients: 4, Rounds: 1,
		Warm: 100 * time.Millisecond, Window: 300 * time.Millisecond,
		StraightWarm: 50 * time.Millisecond, StraightWindow: 200 * time.Millisecond,
		Stall:  25 * time.Second,
		Steady: time.Second, SteadyRate: 100, HalfPeak: 300 * time.Millisecond,
		RetryFor: 500 * time.Millisecond, RetryRate: 50, RetryAttempts: 1,
		Waiting: 2000, WaitingFor: 15 * time.Second,
		Crashes: 1, CrashAfter: 1300 * time.Millisecond, CrashRate: 200,
		IsolationTopics: 2, IsolationGood: 36, IsolationBad: 4,
		IsolationControl: time.Second, IsolationBadFor: time.Second, IsolationRate: 360,
	}
}

// choose narrows the plan to a comma-separated list of phases; "" keeps all.
// Latency is measured beside throughput, whose peak it halves.
func (p *plan) choose(list string) error {
	if list == "" {
		return nil
	}
	p.Phases = strings.Split(list, ",")
	for _, name := range p.Phases {
		if !slices.Contains(phases, name) {
			return fmt.Errorf("no phase is called %q; there are %s", name, strings.Join(phases, ", "))
		}
	}
	return nil
}

func (p plan) has(phase string) bool { return slices.Contains(p.Phases, phase) }
