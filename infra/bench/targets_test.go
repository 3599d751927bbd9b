package main

import (
	"math"
	"testing"
)

// verdicts judges r and gives the verdict by the target's name.
func verdicts(r *report) map[string]string {
	r.judge()
	out := map[string]string{}
	for _, t := range r.Targets {
		out[t.Name] = t.Verdict
	}
	return out
}

func wantVerdict(t *testing.T, got map[string]string, name, want string) {
	t.Helper()
	if got[name] != want {
		t.Errorf("%q is %q, want %q; there are %v", name, got[name], want, got)
	}
}

func TestRatiosAreJudgedByFanOut(t *testing.T) {
	rows := func(fanOut int, ratio float64) throughputRow {
		return throughputRow{FanOut: fanOut, Batch: 1, Ratios: series{ratio}, CPUPerDelivery: series{100}}
	}
	v := verdicts(&report{Throughput: []throughputRow{rows(10, 0.6), rows(1, 0.29)}})
	wantVerdict(t, v, "deliveries ÷ straight POSTs, fan-out 10, Publish", met)
	wantVerdict(t, v, "deliveries ÷ straight POSTs, fan-out 1, Publish", missed)
	wantVerdict(t, v, "server CPU per delivery, fan-out 10, Publish", met)
	v = verdicts(&report{Throughput: []throughputRow{rows(10, 0.59)}})
	wantVerdict(t, v, "deliveries ÷ straight POSTs, fan-out 10, Publish", missed)
}

func TestASignedMessageMayCostTheUnsignedOneAnd1Point3Signatures(t *testing.T) {
	const name = "server CPU per signed message, fan-out 1, Publish"
	for cpu, want := range map[float64]string{1400: met, 1401: missed} {
		v := verdicts(&report{RSA: series{900, 1000, 1100}, Throughput: []throughputRow{
			{FanOut: 1, Batch: 1, CPUPerMessage: series{100}},
			{FanOut: 10, Batch: 1, CPUPerMessage: series{9999}},
			{FanOut: 1, Batch: 1, Signed: true, CPUPerMessage: series{cpu}},
		}})
		wantVerdict(t, v, name, want)
	}
}

func TestLatencyIsJudgedByItsLoad(t *testing.T) {
	q := quantiles{Count: 100, P50US: 2900, P99US: 20_000}
	v := verdicts(&report{Latency: []latencyRow{
		{FanOut: 1, Rate: 100, Load: steadyLoad, First: q},
		{FanOut: 1, Rate: 4000, Load: halfPeakLoad, First: q},
		{FanOut: 10, Rate: 800, Load: halfPeakLoad},
	}})
	wantVerdict(t, v, "first delivery p50, steady (100 messages/s), fan-out 1", met)
	wantVerdict(t, v, "first delivery p99, steady (100 messages/s), fan-out 1", missed)
	wantVerdict(t, v, "first delivery p99, half of the peak (4000 messages/s), fan-out 1", met)
	wantVerdict(t, v, "first delivery p99, half of the peak (800 messages/s), fan-out 10", notMeasured)
}

func TestJitterIsTakenOffTheReceiversLatenessAndEarlyRetriesMiss(t *testing.T) {
	row := retryRow{Receiver: quantiles{Count: 9, P99US: 149_000}, Jitter: 100, Earliest: 0.2, ServerP99: unknown}
	v := verdicts(&report{Retry: &row})
	wantVerdict(t, v, "retry lateness p99 beyond jitter, at the receiver", met)
	wantVerdict(t, v, "earliest retry, behind its delay", met)
	if _, there := v["retry lateness p99, server's histogram"]; there {
		t.Error("a histogram that the server does not have was judged")
	}
	row.Receiver.P99US, row.Earliest, row.ServerP99 = 151_000, -0.1, 60
	v = verdicts(&report{Retry: &row})
	wantVerdict(t, v, "retry lateness p99 beyond jitter, at the receiver", missed)
	wantVerdict(t, v, "earliest retry, behind its delay", missed)
	wantVerdict(t, v, "retry lateness p99, server's histogram", missed)
	wantVerdict(t, verdicts(&report{Retry: &retryRow{Earliest: unknown, ServerP99: unknown}}), "earliest retry, behind its delay", notMeasured)
}

func TestMemoryCountsOnlyWhenAllJobsWait(t *testing.T) {
	const name = "peak memory with 100 jobs waiting"
	full := memory{Resident: 90e6, Peak: 150e6}
	wantVerdict(t, verdicts(&report{Waiting: &waitingRow{Wanted: 100, Waiting: 100, Full: full}}), name, met)
	wantVerdict(t, verdicts(&report{Waiting: &waitingRow{Wanted: 100, Waiting: 99, Full: full}}), name, notMeasured)
	full.Peak++
	wantVerdict(t, verdicts(&report{Waiting: &waitingRow{Wanted: 100, Waiting: 100, Full: full}}), name, missed)
}

func TestTheWorstKillCountsAndWhatNeverCameBackMisses(t *testing.T) {
	const first, retried = "after kill -9: first attempts in flight pushed again, the last of them", "after kill -9: retries in flight pushed again, the last of them"
	none := repush{Begin: unknown, End: unknown}
	v := verdicts(&report{Crashes: []crashRow{
		{First: repush{InFlight: 2, Back: 2, Begin: -5, End: 999}, Retried: none},
		{First: none, Retried: none},
	}})
	wantVerdict(t, v, first, met)
	wantVerdict(t, v, retried, notMeasured)
	v = verdicts(&report{Crashes: []crashRow{
		{First: repush{InFlight: 2, Back: 2, End: 5}, Retried: repush{InFlight: 3, Back: 2, End: 5}},
		{First: repush{InFlight: 2, Back: 2, End: 1001}, Retried: none},
	}})
	wantVerdict(t, v, first, missed)
	wantVerdict(t, v, retried, missed)
}

func TestIsolationComparesWithTheControl(t *testing.T) {
	row := isolationRow{
		Control: latencyRow{Through: 1000, First: quantiles{Count: 9, P99US: 4000}},
		With:    latencyRow{Through: 950, First: quantiles{Count: 9, P99US: 8001}},
	}
	v := verdicts(&report{Isolation: &row})
	wantVerdict(t, v, "rate the good subscriptions keep beside dead ones", met)
	wantVerdict(t, v, "their first-delivery p99 beside dead ones", missed)
}

func TestOneSignatureIsMeasured(t *testing.T) {
	if us := signingCost(); math.IsNaN(us) || us < 10 || us > 1e6 {
		t.Errorf("an RSA-2048 signature takes %v µs", us)
	}
}
