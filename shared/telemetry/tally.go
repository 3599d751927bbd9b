package telemetry

import (
	"time"

	"postino/shared/pipeline"
)

// Tally is what happened in a while. The counts are of deliveries unless they say
// otherwise.
type Tally struct {
	// Accepted counts messages, Queued the deliveries that they were for.
	Accepted, Queued int
	Delivered        int
	// Retried counts attempts that failed and will be repeated.
	Retried       int
	Dead, Dropped int
	// Throttled counts jobs put back to wait for a throttle slot, Waited those put
	// back for anything else.
	Throttled, Waited int
	// Faults counts failures on our own side, Poison queue messages that were no
	// jobs.
	Faults, Poison int
	Redriven       int
	// DeadLetterRefused counts letters that the subscription's own queue refused
	// for good.
	DeadLetterRefused int
	// Returned counts records of a batch that went back to their queue.
	Returned int

	// In milliseconds.
	attemptDuration, lateness, timeToDeliver, throttleBacklog []float64
	// In records.
	batchSize []float64
}

type sum struct {
	name string
	n    int
}

// counters are the metrics that are sums. One of nought is left out of a line:
// a metric costs for each hour in which it is written.
func (t *Tally) counters() [13]sum {
	return [...]sum{
		{"Accepted", t.Accepted}, {"DeliveriesQueued", t.Queued}, {"Delivered", t.Delivered}, {"Retried", t.Retried},
		{"Dead", t.Dead}, {"Dropped", t.Dropped}, {"Throttled", t.Throttled}, {"Waited", t.Waited}, {"Faults", t.Faults},
		{"Poison", t.Poison}, {"Redriven", t.Redriven}, {"DeadLetterRefused", t.DeadLetterRefused}, {"Returned", t.Returned},
	}
}

type distribution struct {
	name, unit string
	// byLane: it says little where the fresh lane and the retries are mixed.
	byLane bool
	values []float64
}

// distributions are the metrics of which every value counts.
func (t *Tally) distributions() [5]distribution {
	return [...]distribution{
		{"AttemptDuration", "Milliseconds", true, t.attemptDuration},
		{"Lateness", "Milliseconds", true, t.lateness},
		{"BatchSize", "Count", true, t.batchSize},
		{"TimeToDeliver", "Milliseconds", false, t.timeToDeliver},
		{"ThrottleBacklog", "Milliseconds", false, t.throttleBacklog},
	}
}

// Metric is one of those that EMF writes.
type Metric struct {
	Name string
	// Unit is CloudWatch's: Count or Milliseconds.
	Unit string
	// ByLane metrics have the dimension Lane beside Stack.
	ByLane bool
}

// Metrics are all that EMF writes, for those who look at them.
func Metrics() (all []Metric) {
	var t Tally
	for _, c := range t.counters() {
		all = append(all, Metric{Name: c.name, Unit: "Count"})
	}
	for _, d := range t.distributions() {
		all = append(all, Metric{Name: d.name, Unit: d.unit, ByLane: d.byLane})
	}
	return all
}

func (t *Tally) add(e *pipeline.Event) {
	switch e.Kind {
	case pipeline.EventAccepted:
		t.Accepted++
		t.Queued += e.Deliveries
	case pipeline.EventDelivered:
		t.Delivered++
		// After a redrive the time since acceptance tells of the one who redrove.
		if e.Generation == "" && !e.Accepted.IsZero() {
			t.timeToDeliver = append(t.timeToDeliver, milliseconds(e.Attempt.Ended.Sub(e.Accepted)))
		}
	case pipeline.EventRetry:
		t.Retried++
	case pipeline.EventDead:
		t.Dead++
		if e.Refused != "" {
			t.DeadLetterRefused++
		}
	case pipeline.EventDropped:
		t.Dropped++
	case pipeline.EventWait:
		if e.Throttled {
			t.Throttled++
			t.throttleBacklog = append(t.throttleBacklog, milliseconds(e.At.Sub(e.Time)))
		} else {
			t.Waited++
		}
	case pipeline.EventFault:
		t.Faults++
	case pipeline.EventPoison:
		t.Poison++
	case pipeline.EventRedriven:
		t.Redriven++
	}
	if e.Attempted() {
		t.attemptDuration = append(t.attemptDuration, milliseconds(e.Attempt.Ended.Sub(e.Attempt.Started)))
	}
	if d, ok := e.Lateness(); ok {
		t.lateness = append(t.lateness, milliseconds(d))
	}
}

// plus adds o's counts.
func (t *Tally) plus(o *Tally) {
	t.Accepted += o.Accepted
	t.Queued += o.Queued
	t.Delivered += o.Delivered
	t.Retried += o.Retried
	t.Dead += o.Dead
	t.Dropped += o.Dropped
	t.Throttled += o.Throttled
	t.Waited += o.Waited
	t.Faults += o.Faults
	t.Poison += o.Poison
	t.Redriven += o.Redriven
	t.DeadLetterRefused += o.DeadLetterRefused
	t.Returned += o.Returned
}

// milliseconds has three decimals and is never negative: two machines' clocks may
// differ by more than a push takes.
func milliseconds(d time.Duration) float64 { return float64(max(0, d.Microseconds())) / 1000 }
