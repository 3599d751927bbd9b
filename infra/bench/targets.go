package main

import (
	"fmt"
	"math"
	"strings"
)

// target is a figure and what it is held against.
type target struct {
	Name  string
	Got   figure
	Limit figure
	// AtLeast: the figure is to be the limit or more; otherwise or less.
	AtLeast bool
	Unit    string
	// Verdict is met, MISSED or "not measured".
	Verdict string
}

// Verdicts.
const (
	met         = "met"
	missed      = "MISSED"
	notMeasured = "not measured"
)

func (r *report) atLeast(name string, got, limit float64, unit string) {
	r.target(target{Name: name, Got: figure(got), Limit: figure(limit), AtLeast: true, Unit: unit}, got >= limit)
}

func (r *report) atMost(name string, got, limit float64, unit string) {
	r.target(target{Name: name, Got: figure(got), Limit: figure(limit), Unit: unit}, got <= limit)
}

func (r *report) target(t target, ok bool) {
	switch {
	case !t.Got.known() || !t.Limit.known():
		t.Verdict = notMeasured
	case ok:
		t.Verdict = met
	default:
		t.Verdict = missed
	}
	r.Targets = append(r.Targets, t)
}

// Postino's targets on two shared cores, unsigned unless said otherwise.
const (
	wantRatio10       = 0.60 // of the straight POST rate
	wantRatio1        = 0.30
	wantCPU10         = 100 // µs of server CPU per delivery at fan-out 10
	wantSteadyP50     = 3   // ms from publish to first delivery at 100 messages/s
	wantSteadyP99     = 10
	wantHalfPeakP99   = 50
	wantRetryP99      = 50   // ms
	wantMemory        = 150  // MB with 100,000 jobs waiting
	wantSignatures    = 1.3  // RSA-2048 signatures' CPU per message on top of the unsigned cost
	wantRepush        = 1000 // ms from being up until all that was in flight has been pushed again
	wantIsolationRate = 0.95
	wantIsolationP99  = 2
)

// judge holds every figure against its target.
func (r *report) judge() {
	r.judgeThroughput()
	r.judgeSigned()
	for _, l := range r.Latency {
		at := fmt.Sprintf("%s (%s messages/s), fan-out %d", l.Load, figure(l.Rate), l.FanOut)
		if l.Load == steadyLoad {
			r.atMost("first delivery p50, "+at, l.First.P50(), wantSteadyP50, "ms")
			r.atMost("first delivery p99, "+at, l.First.P99(), wantSteadyP99, "ms")
		} else {
			r.atMost("first delivery p99, "+at, l.First.P99(), wantHalfPeakP99, "ms")
		}
	}
	if rt := r.Retry; rt != nil {
		if rt.ServerP99.known() {
			r.atMost("retry lateness p99, server's histogram", float64(rt.ServerP99), wantRetryP99, "ms")
		}
		r.atMost("retry lateness p99 beyond jitter, at the receiver", rt.BeyondJitter(rt.Receiver.P99()), wantRetryP99, "ms")
		r.atLeast("earliest retry, behind its delay", float64(rt.Earliest), 0, "ms")
	}
	if w := r.Waiting; w != nil {
		peak := float64(w.Full.Peak) / 1e6
		if w.Waiting < w.Wanted {
			peak = math.NaN()
		}
		r.atMost(fmt.Sprintf("peak memory with %d jobs waiting", w.Wanted), peak, wantMemory, "MB")
	}
	r.judgeCrashes()
	if i := r.Isolation; i != nil {
		r.atLeast("rate the good subscriptions keep beside dead ones", i.Kept(), wantIsolationRate, "×")
		r.atMost("their first-delivery p99 beside dead ones", i.Slower(), wantIsolationP99, "×")
	}
}

func (r *report) judgeThroughput() {
	for _, t := range r.Throughput {
		if t.Signed {
			continue
		}
		limit := wantRatio1
		if t.FanOut == 10 {
			limit = wantRatio10
		}
		r.atLeast(fmt.Sprintf("deliveries ÷ straight POSTs, fan-out %d, %s", t.FanOut, t.call()), median(t.Ratios), limit, "×")
		if t.FanOut == 10 {
			r.atMost("server CPU per delivery, fan-out 10, "+t.call(), median(t.CPUPerDelivery), wantCPU10, "µs")
		}
	}
}

// judgeSigned allows each signed message its share of RSA over the same message
// unsigned.
func (r *report) judgeSigned() {
	for _, t := range r.Throughput {
		if !t.Signed {
			continue
		}
		for _, u := range r.Throughput {
			if !u.Signed && u.FanOut == t.FanOut && u.Batch == t.Batch {
				limit := median(u.CPUPerMessage) + wantSignatures*median(r.RSA)
				r.atMost(fmt.Sprintf("server CPU per signed message, fan-out %d, %s", t.FanOut, t.call()),
					median(t.CPUPerMessage), limit, "µs")
			}
		}
	}
}

// judgeCrashes takes the worst kill.
func (r *report) judgeCrashes() {
	first, retried := math.NaN(), math.NaN()
	for _, c := range r.Crashes {
		first, retried = worst(first, c.First), worst(retried, c.Retried)
	}
	if len(r.Crashes) > 0 {
		r.atMost("after kill -9: first attempts in flight pushed again, the last of them", first, wantRepush, "ms")
		r.atMost("after kill -9: retries in flight pushed again, the last of them", retried, wantRepush, "ms")
	}
}

// worst is the later of two ends; one of which something never came back is
// infinite.
func worst(ms float64, p repush) float64 {
	switch {
	case p.InFlight == 0:
		return ms
	case p.Back < p.InFlight:
		return math.MaxFloat64
	case math.IsNaN(ms):
		return float64(p.End)
	default:
		return max(ms, float64(p.End))
	}
}

// call names how a row publishes.
func (t throughputRow) call() string {
	if t.Batch == 1 {
		return "Publish"
	}
	return fmt.Sprintf("PublishBatch of %d", t.Batch)
}

// form names how a row is delivered.
func (t throughputRow) form() string {
	if t.Signed {
		return "signed"
	}
	return "raw"
}

// list prints figures one after the other.
func list(v []float64) string {
	var out []string
	for _, x := range v {
		out = append(out, figure(x).String())
	}
	return strings.Join(out, " ")
}
