package deliverypolicy

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"postino/shared/push"
)

func failed() push.Result { return push.Result{Class: push.Retryable, Status: 503} }

func TestADecisionSaysWhatHappensNextWhenAndWhy(t *testing.T) {
	ended := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	s := Schedule{Immediate: 1, PreBackoff: 1, Backoff: 2, PostBackoff: 2, Min: 20 * time.Second, Max: 40 * time.Second, Curve: Linear}
	in := func(d time.Duration) time.Time { return ended.Add(d) }
	result := func(class push.Class, status int, fault string) push.Result {
		return push.Result{Class: class, Status: status, Fault: fault}
	}
	for _, c := range []struct {
		name    string
		attempt int
		r       push.Result
		random  float64
		want    Decision
	}{
		{"success is the end", 2, result(push.Success, 204, ""), 0.5,
			Decision{Action: Done, Phase: Immediate, Reason: "204 No Content: delivered by attempt 2"}},
		{"a permanent failure is not retried", 1, result(push.Permanent, 410, ""), 0.5,
			Decision{Action: DeadLetter, Phase: Initial, Reason: "410 Gone is permanent: no retry"}},
		{"a blocked address is not retried", 3, result(push.Permanent, 0, "blocked"), 0.5,
			Decision{Action: DeadLetter, Phase: PreBackoff, Reason: "blocked address is permanent: no retry"}},
		{"the first retry is immediate and has no jitter", 1, failed(), 0.999,
			Decision{Action: Retry, At: in(0), Phase: Immediate, Reason: "503 Service Unavailable is retryable: attempt 2 of 7 (immediate) at once"}},
		{"then the minimum", 2, result(push.Retryable, 0, "timeout"), 0,
			Decision{Action: Retry, After: 20 * time.Second, At: in(20 * time.Second), Phase: PreBackoff, Reason: "timeout is retryable: attempt 3 of 7 (pre-backoff) in 20s"}},
		{"then the backoff, with jitter", 4, result(push.Retryable, 0, "refused"), 0.5,
			Decision{Action: Retry, After: 42 * time.Second, At: in(42 * time.Second), Phase: Backoff, Reason: "connection refused is retryable: attempt 5 of 7 (backoff) in 42s"}},
		{"then the maximum", 6, result(push.Retryable, 429, ""), 0.1,
			Decision{Action: Retry, After: 40400 * time.Millisecond, At: in(40400 * time.Millisecond), Phase: PostBackoff, Reason: "429 Too Many Requests is retryable: attempt 7 of 7 (post-backoff) in 40.4s"}},
		{"then nothing", 7, result(push.Retryable, 500, ""), 0.5,
			Decision{Action: DeadLetter, Phase: PostBackoff, Reason: "attempt 7 of 7 failed (500 Internal Server Error): retries exhausted"}},
		{"a policy shortened under way ends at the next failure", 9, result(push.Retryable, 0, "dns"), 0.5,
			Decision{Action: DeadLetter, Phase: PostBackoff, Reason: "attempt 9 failed (DNS failure): retries exhausted, the policy now allows 7"}},
		{"an unknown class is retried", 1, push.Result{Status: 599}, 0,
			Decision{Action: Retry, At: in(0), Phase: Immediate, Reason: "599 is retryable: attempt 2 of 7 (immediate) at once"}},
		{"an attempt before the first is the first", -3, result(push.Retryable, 0, ""), 0,
			Decision{Action: Retry, At: in(0), Phase: Immediate, Reason: "no answer is retryable: attempt 2 of 7 (immediate) at once"}},
		{"a fault says more than a status", 1, result(push.Permanent, 200, "protocol"), 0,
			Decision{Action: DeadLetter, Phase: Initial, Reason: "protocol error is permanent: no retry"}},
		{"a broken random number is no jitter", 2, failed(), math.NaN(),
			Decision{Action: Retry, After: 20 * time.Second, At: in(20 * time.Second), Phase: PreBackoff, Reason: "503 Service Unavailable is retryable: attempt 3 of 7 (pre-backoff) in 20s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := s.Decide(c.attempt, ended, c.r, c.random); got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestFaultsAreNamedInWords(t *testing.T) {
	for fault, want := range map[string]string{
		"timeout": "timeout", "dns": "DNS failure", "refused": "connection refused", "reset": "connection reset",
		"unreachable": "host unreachable", "tls": "TLS failure", "blocked": "blocked address", "protocol": "protocol error",
		"meteor": "meteor", "": "no answer",
	} {
		if got := string(appendResult(nil, push.Result{Fault: fault})); got != want {
			t.Errorf("%q reads %q, want %q", fault, got, want)
		}
	}
}

func TestTheEndOfAnAttemptIsRoundedUpToMilliseconds(t *testing.T) {
	zone := time.FixedZone("UTC+9", 9*3600)
	ended := time.Date(2025, 3, 1, 12, 0, 0, 1, zone)
	d := defaultRetry().Schedule().Decide(1, ended, failed(), 0)
	if want := time.Date(2025, 3, 1, 3, 0, 20, 1_000_000, time.UTC); d.At != want {
		t.Errorf("retry at %v, want %v", d.At, want)
	}
	if d.After != 20*time.Second {
		t.Errorf("after %v, want 20s", d.After)
	}
}

// TestARetryIsNeverEarlyAndAtMostATenthLate is the promise for the usual jitter,
// over any end of attempt, down to the nanosecond.
func TestARetryIsNeverEarlyAndAtMostATenthLate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSchedule(t, 24*time.Hour)
		s.Min, s.Max = s.Min+10*time.Millisecond, s.Max+10*time.Millisecond // a tenth must hold a millisecond
		attempt := rapid.IntRange(1, s.Retries()+1).Draw(t, "attempt")
		ended := time.Unix(0, rapid.Int64Range(0, 4e18).Draw(t, "ended"))
		random := rapid.OneOf(rapid.Float64Range(0, 1), rapid.Just(math.Nextafter(1, 0))).Draw(t, "random")
		d := s.Decide(attempt, ended, failed(), random)
		if attempt > s.Retries() {
			if d.Action != DeadLetter || d.After != 0 || !d.At.IsZero() {
				t.Fatalf("%+v", d)
			}
			return
		}
		delay, phase := s.Delay(attempt)
		wait := d.At.Sub(ended)
		switch {
		case d.Action != Retry || d.Phase != phase:
			t.Fatalf("%+v, want a retry in phase %s", d, phase)
		case d.At.Nanosecond()%int(time.Millisecond) != 0 || d.At.Location() != time.UTC:
			t.Fatalf("at %v: not in whole milliseconds of UTC", d.At)
		case delay == 0 && (d.After != 0 || wait >= time.Millisecond):
			t.Fatalf("no delay became %v, %v", d.After, wait)
		case d.After < delay || wait < d.After:
			t.Fatalf("early: delay %v, after %v, waits %v", delay, d.After, wait)
		case delay > 0 && wait > delay+delay/10:
			t.Fatalf("late: delay %v, waits %v", delay, wait)
		}
	})
}

func TestJitterReachesAlmostATenthAndGrowsWithTheRandomNumber(t *testing.T) {
	s, ended := defaultRetry().Schedule(), time.Unix(0, 0)
	previous := time.Duration(-1)
	for i := range 1000 {
		d := s.Decide(1, ended, failed(), float64(i)/1000)
		if d.After < previous {
			t.Fatalf("%v after %v", d.After, previous)
		}
		previous = d.After
	}
	if previous < 21_990*time.Millisecond || previous >= 22*time.Second {
		t.Errorf("the longest of a thousand is %v, want just under 22s", previous)
	}
}

func TestAnMNSRetryComesAfterTenToTwentySeconds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rapid.Float64Range(0, math.Nextafter(1, 0)).Draw(t, "random")
		ended := time.Unix(0, rapid.Int64Range(0, 4e18).Draw(t, "ended"))
		d := MNSBackoffRetry().Decide(rapid.IntRange(1, 3).Draw(t, "attempt"), ended, failed(), random)
		if wait := d.At.Sub(ended); d.Phase != Backoff || wait < 10*time.Second || wait > 20*time.Second {
			t.Fatalf("waits %v in phase %s", wait, d.Phase)
		}
		if expected := 10 + 10*random; math.Abs(d.After.Seconds()-expected) > 0.0011 {
			t.Fatalf("random %v gives %v, not spread evenly", random, d.After)
		}
	})
}

func TestASpreadLeavesImmediateRetriesImmediate(t *testing.T) {
	s := Schedule{Immediate: 1, Min: time.Second, Max: time.Second, Spread: time.Minute}
	if d := s.Decide(1, time.Unix(0, 0), failed(), 0.9); d.After != 0 || !d.At.Equal(time.Unix(0, 0)) {
		t.Errorf("an immediate retry waits %v until %v", d.After, d.At)
	}
}

// TestADeadEndpointGetsExactlyItsAttempts walks whole deliveries.
func TestADeadEndpointGetsExactlyItsAttempts(t *testing.T) {
	walk := func(s Schedule) (attempts int, took time.Duration) {
		start := time.Unix(1_700_000_000, 0)
		for at := start; ; {
			attempts++
			d := s.Decide(attempts, at, failed(), 0)
			if d.Action != Retry {
				return attempts, at.Sub(start)
			}
			at = d.At
		}
	}
	for _, s := range []Schedule{{}, defaultRetry().Schedule(), AWSManaged(), CustomerManaged(), MNSBackoffRetry(), MNSExponentialDecay()} {
		if attempts, took := walk(s); attempts != s.Retries()+1 || took != s.Total() {
			t.Errorf("%+v: %d attempts in %v, want %d in %v", s, attempts, took, s.Retries()+1, s.Total())
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := drawSchedule(t, time.Hour)
		if attempts, took := walk(s); attempts != s.Retries()+1 || took != s.Total() {
			t.Fatalf("%d attempts in %v, want %d in %v", attempts, took, s.Retries()+1, s.Total())
		}
	})
}

func TestOnlyHTTPAndHTTPSHaveDeliveryPolicies(t *testing.T) {
	for p, want := range map[push.Protocol]bool{push.HTTP: true, push.HTTPS: true, "sqs": false, "lambda": false, "email": false, "": false, "HTTP": false} {
		if Applies(p) != want {
			t.Errorf("%q: %v", p, !want)
		}
	}
}

// everyCurve is a schedule per curve whose attempts cover all phases.
func everyCurve() []Schedule {
	var out []Schedule
	for _, c := range []Curve{Linear, Arithmetic, Geometric, Exponential} {
		out = append(out, Schedule{Immediate: 3, PreBackoff: 2, Backoff: 10, PostBackoff: 35, Min: time.Second, Max: time.Hour, Curve: c})
	}
	return out
}

func TestADecisionAllocatesAtMostTwice(t *testing.T) {
	ended := time.Now()
	results := []push.Result{failed(), {Class: push.Success, Status: 200}, {Class: push.Permanent, Status: 410}, {Class: push.Retryable, Fault: "unreachable"}}
	for _, s := range everyCurve() {
		for attempt := 1; attempt <= s.Retries()+2; attempt++ {
			for _, r := range results {
				var d Decision
				if n := testing.AllocsPerRun(10, func() { d = s.Decide(attempt, ended, r, 0.7) }); n > 2 {
					t.Fatalf("attempt %d on %s: %v allocations for %+v", attempt, s.Curve, n, d)
				}
			}
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	ended := time.Now()
	for _, s := range everyCurve() {
		b.Run(string(s.Curve), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if d := s.Decide(6+i%10, ended, failed(), 0.7); d.Action != Retry {
					b.Fatal(d)
				}
			}
		})
	}
}

func BenchmarkParseSubscription(b *testing.B) {
	const doc = `{"healthyRetryPolicy":{"minDelayTarget":1,"maxDelayTarget":60,"numRetries":50,"numNoDelayRetries":3,"numMinDelayRetries":2,"numMaxDelayRetries":35,"backoffFunction":"exponential"},"throttlePolicy":{"maxReceivesPerSecond":10},"requestPolicy":{"headerContentType":"application/json"}}`
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseSubscription(doc, false); err != nil {
			b.Fatal(err)
		}
	}
}
