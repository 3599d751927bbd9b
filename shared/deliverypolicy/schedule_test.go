package deliverypolicy

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// seconds lists a schedule's delays, up to n of them.
func seconds(s Schedule, n int) []float64 {
	var out []float64
	for retry := 1; retry <= min(n, s.Retries()); retry++ {
		d, _ := s.Delay(retry)
		out = append(out, d.Seconds())
	}
	return out
}

func TestTheBackoffCurvesReadAsDocumented(t *testing.T) {
	for _, c := range []struct {
		name        string
		curve       Curve
		n           int
		least, most time.Duration
		want        []float64
	}{
		{"linear grows by equal steps", Linear, 3, 20 * time.Second, 40 * time.Second, []float64{20, 30, 40}},
		{"linear rounds down to milliseconds", Linear, 4, 5 * time.Second, 6 * time.Second, []float64{5, 5.333, 5.666, 6}},
		{"arithmetic grows by 1, 2, 3 parts", Arithmetic, 4, 1 * time.Second, 13 * time.Second, []float64{1, 3, 7, 13}},
		{"geometric grows by an equal factor", Geometric, 4, 2 * time.Second, 54 * time.Second, []float64{2, 6, 18, 54}},
		{"geometric may grow by less than doubling", Geometric, 3, 4 * time.Second, 9 * time.Second, []float64{4, 6, 9}},
		{"exponential doubles and stays at the maximum", Exponential, 10, time.Second, 20 * time.Second, []float64{1, 2, 4, 8, 16, 20, 20, 20, 20, 20}},
		{"exponential doubles exactly to the maximum", Exponential, 10, time.Second, 512 * time.Second, []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}},
		{"exponential takes the larger factor it needs", Exponential, 4, time.Second, 27 * time.Second, []float64{1, 3, 9, 27}},
		{"exponential with two retries jumps", Exponential, 2, time.Second, 3600 * time.Second, []float64{1, 3600}},
		{"one retry waits the minimum", Exponential, 1, 7 * time.Second, 60 * time.Second, []float64{7}},
		{"equal bounds are one delay", Geometric, 3, 20 * time.Second, 20 * time.Second, []float64{20, 20, 20}},
		{"an unknown curve is linear", "cubic", 3, 20 * time.Second, 40 * time.Second, []float64{20, 30, 40}},
		{"a minimum of nothing still ends at the maximum", Exponential, 3, 0, 4 * time.Millisecond, []float64{0, 0.002, 0.004}},
		{"a minimum of nothing under geometric too", Geometric, 3, 0, 4 * time.Millisecond, []float64{0, 0.002, 0.004}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Schedule{Backoff: c.n, Min: c.least, Max: c.most, Curve: c.curve}
			if diff := cmp.Diff(c.want, seconds(s, c.n)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestThePredefinedSchedulesAreThoseOfTheirVendors(t *testing.T) {
	for _, c := range []struct {
		name    string
		s       Schedule
		retries int
		total   time.Duration
		start   []float64
	}{
		{"default", defaultRetry().Schedule(), 3, time.Minute, []float64{20, 20, 20}},
		{"AWS-managed: 100,015 over 23 days", AWSManaged(), 100_015, 2_000_133 * time.Second,
			[]float64{0, 0, 0, 1, 1, 1, 2, 4, 8, 16, 20, 20, 20, 20, 20, 20}},
		{"customer-managed: 50 over 6 hours", CustomerManaged(), 50, 25_850 * time.Second,
			[]float64{10, 10, 10, 20, 40, 80, 160, 320, 600, 600, 600, 600, 600}},
		{"MNS backoff: 3", MNSBackoffRetry(), 3, 30 * time.Second, []float64{10, 10, 10}},
		{"MNS decay: 176 over a day", MNSExponentialDecay(), 176, 86_015 * time.Second,
			[]float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 512, 512}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.s.Retries(); got != c.retries {
				t.Errorf("%d retries, want %d", got, c.retries)
			}
			if got := c.s.Total(); got != c.total {
				t.Errorf("total %v, want %v", got, c.total)
			}
			if diff := cmp.Diff(c.start, seconds(c.s, len(c.start))); diff != "" {
				t.Error(diff)
			}
		})
	}
	if days := AWSManaged().Total().Hours() / 24; math.Floor(days) != 23 {
		t.Errorf("the AWS-managed policy takes %.2f days", days)
	}
	if hours := CustomerManaged().Total().Hours(); hours <= 6 {
		t.Errorf("the customer-managed policy takes %.2f hours", hours)
	}
}

func TestNumbersOutsideAScheduleGiveItsEnds(t *testing.T) {
	s := Schedule{Immediate: 1, PreBackoff: 1, Backoff: 1, PostBackoff: 1, Min: time.Second, Max: time.Minute}
	for _, c := range []struct {
		retry int
		delay time.Duration
		phase Phase
	}{
		{math.MinInt, 0, Initial}, {-1, 0, Initial}, {0, 0, Initial}, {1, 0, Immediate}, {2, time.Second, PreBackoff},
		{3, time.Second, Backoff}, {4, time.Minute, PostBackoff}, {5, time.Minute, PostBackoff}, {math.MaxInt, time.Minute, PostBackoff},
	} {
		if d, p := s.Delay(c.retry); d != c.delay || p != c.phase {
			t.Errorf("retry %d: %v %s, want %v %s", c.retry, d, p, c.delay, c.phase)
		}
	}
	if d, p := (Schedule{}).Delay(1); d != 0 || p != Initial {
		t.Errorf("no retry: %v %s", d, p)
	}
	odd := Schedule{Immediate: -5, PreBackoff: -1, Backoff: 2, PostBackoff: -9, Min: -time.Second, Max: -time.Minute}
	if odd.Retries() != 2 || odd.Total() != 0 || odd.PhaseOf(2) != Backoff {
		t.Errorf("negative numbers: %d retries, total %v, %s", odd.Retries(), odd.Total(), odd.PhaseOf(2))
	}
}

// drawSchedule draws schedules in whole milliseconds, ordinary and absurd ones.
func drawSchedule(t *rapid.T, longest time.Duration) Schedule {
	count := rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, 120))
	delay := rapid.OneOf(rapid.Int64Range(1, 60), rapid.Int64Range(1, int64(longest/time.Millisecond)))
	a, b := delay.Draw(t, "a"), delay.Draw(t, "b")
	return Schedule{
		Immediate: count.Draw(t, "immediate"), PreBackoff: count.Draw(t, "pre"),
		Backoff: count.Draw(t, "backoff"), PostBackoff: count.Draw(t, "post"),
		Min: time.Duration(min(a, b)) * time.Millisecond, Max: time.Duration(max(a, b)) * time.Millisecond,
		Curve: rapid.SampledFrom([]Curve{Linear, Arithmetic, Geometric, Exponential}).Draw(t, "curve"),
	}
}

func TestEveryScheduleKeepsCountOrderBoundsAndEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSchedule(t, math.MaxInt64)
		var want []Phase
		for _, part := range []struct {
			phase Phase
			count int
		}{{Immediate, s.Immediate}, {PreBackoff, s.PreBackoff}, {Backoff, s.Backoff}, {PostBackoff, s.PostBackoff}} {
			want = append(want, slices.Repeat([]Phase{part.phase}, part.count)...)
		}
		if s.Retries() != len(want) {
			t.Fatalf("%d retries, want %d", s.Retries(), len(want))
		}
		var backoff []time.Duration
		for i, phase := range want {
			d, p := s.Delay(i + 1)
			if p != phase || s.PhaseOf(i+2) != phase {
				t.Fatalf("retry %d is in phase %s (attempt: %s), want %s", i+1, p, s.PhaseOf(i+2), phase)
			}
			if d%time.Millisecond != 0 {
				t.Fatalf("retry %d waits %v, not whole milliseconds", i+1, d)
			}
			switch {
			case p == Immediate && d != 0, p == PreBackoff && d != s.Min, p == PostBackoff && d != s.Max:
				t.Fatalf("retry %d in phase %s waits %v", i+1, p, d)
			case p == Backoff:
				backoff = append(backoff, d)
			}
		}
		if len(backoff) == 0 {
			return
		}
		if !slices.IsSorted(backoff) {
			t.Fatalf("backoff falls: %v", backoff)
		}
		if backoff[0] != s.Min || len(backoff) > 1 && backoff[len(backoff)-1] != s.Max {
			t.Fatalf("backoff from %v to %v is %v", s.Min, s.Max, backoff)
		}
	})
}

func TestTheTotalIsTheSumOfTheDelays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSchedule(t, 24*time.Hour)
		var sum time.Duration
		for retry := 1; retry <= s.Retries(); retry++ {
			d, _ := s.Delay(retry)
			sum += d
		}
		if s.Total() != sum {
			t.Fatalf("total %v, sum %v", s.Total(), sum)
		}
	})
}

// TestEachCurveHasItsShape checks what the name promises, to the rounding.
func TestEachCurveHasItsShape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 60).Draw(t, "n")
		least := rapid.IntRange(1, 3600).Draw(t, "min")
		most := rapid.IntRange(least, 3600).Draw(t, "max")
		of := func(c Curve) []float64 {
			return seconds(Schedule{Backoff: n, Min: time.Duration(least) * time.Second, Max: time.Duration(most) * time.Second, Curve: c}, n)
		}
		linear, arithmetic, geometric, exponential := of(Linear), of(Arithmetic), of(Geometric), of(Exponential)
		const ms = 0.0011
		step := float64(most-least) / float64(n-1)
		part := float64(most-least) / float64(n*(n-1)/2)
		factor := math.Pow(float64(most)/float64(least), 1/float64(n-1))
		growth := max(2, factor)
		for i := 1; i < n; i++ {
			if d := linear[i] - linear[i-1]; math.Abs(d-step) > ms {
				t.Fatalf("linear step %d is %v, want %v", i, d, step)
			}
			if d := arithmetic[i] - arithmetic[i-1]; math.Abs(d-part*float64(i)) > ms {
				t.Fatalf("arithmetic step %d is %v, want %v", i, d, part*float64(i))
			}
			if d := geometric[i] - geometric[i-1]*factor; math.Abs(d) > ms*growth {
				t.Fatalf("geometric delay %d is off by %v", i, d)
			}
			if d := exponential[i] - min(exponential[i-1]*growth, float64(most)); math.Abs(d) > ms*growth {
				t.Fatalf("exponential delay %d is off by %v", i, d)
			}
			if exponential[i] < geometric[i] || linear[i]+ms < arithmetic[i] || linear[i]+ms < geometric[i] {
				t.Fatalf("the curves cross at %d: %v %v %v %v", i, linear[i], arithmetic[i], geometric[i], exponential[i])
			}
		}
	})
}

func TestNothingOverflows(t *testing.T) {
	const huge = time.Duration(math.MaxInt64)
	counts := []int{math.MinInt, -1, 0, 1, 2, 3, 1 << 31, 1<<32 + 1, math.MaxInt - 1, math.MaxInt}
	delays := []time.Duration{math.MinInt64, -1, 0, 1, time.Millisecond, time.Hour, huge - 1, huge}
	rapid.Check(t, func(t *rapid.T) {
		count, delay := rapid.SampledFrom(counts), rapid.SampledFrom(delays)
		s := Schedule{
			Immediate: count.Draw(t, "immediate"), PreBackoff: count.Draw(t, "pre"), Backoff: count.Draw(t, "backoff"),
			PostBackoff: count.Draw(t, "post"), Min: delay.Draw(t, "min"), Max: delay.Draw(t, "max"),
			Spread: delay.Draw(t, "spread"),
			Curve:  rapid.SampledFrom([]Curve{Linear, Arithmetic, Geometric, Exponential}).Draw(t, "curve"),
		}
		if s.Retries() < 0 {
			t.Fatalf("%d retries", s.Retries())
		}
		least, most := s.bounds()
		a := rapid.IntRange(1, math.MaxInt).Draw(t, "retry")
		b := rapid.IntRange(a, math.MaxInt).Draw(t, "later retry")
		previous := time.Duration(0)
		for _, retry := range []int{1, a, b, math.MaxInt} {
			d, _ := s.Delay(retry)
			if d < previous || d > most || d > 0 && d < least {
				t.Fatalf("retry %d waits %v after %v, bounds %v and %v", retry, d, previous, least, most)
			}
			previous = d
		}
		if s.Backoff < 1<<20 { // Total is linear in it
			if total := s.Total(); total < 0 || s.PostBackoff > 0 && total < most {
				t.Fatalf("total %v", total)
			}
		}
		decision := s.Decide(a, time.Unix(0, 0), failed(), 0.999)
		if decision.After < 0 || decision.Action == "" || decision.Reason == "" {
			t.Fatalf("%+v", decision)
		}
	})
	if total := (Schedule{PostBackoff: math.MaxInt, Min: 1, Max: huge}).Total(); total != huge {
		t.Errorf("a total beyond a Duration is %v, want the largest", total)
	}
	if total := (Schedule{Backoff: 100, Min: huge - 1, Max: huge}).Total(); total != huge {
		t.Errorf("a backoff beyond a Duration adds up to %v, want the largest", total)
	}
}

func TestEndlessBackoffsKeepTheirShape(t *testing.T) {
	const hour = time.Hour
	endless := func(c Curve, most time.Duration) Schedule {
		return Schedule{Backoff: math.MaxInt, Min: time.Second, Max: most, Curve: c}
	}
	for _, c := range []struct {
		curve Curve
		want  time.Duration
	}{
		{Linear, time.Second + (hour-time.Second)/2},     // half the way after half the retries
		{Arithmetic, time.Second + (hour-time.Second)/4}, // a quarter
		{Geometric, time.Minute},                         // the geometric mean
		{Exponential, hour},
	} {
		d, phase := endless(c.curve, hour).Delay(math.MaxInt/2 + 1)
		if diff := d - c.want; phase != Backoff || diff < -2*time.Millisecond || diff > 2*time.Millisecond {
			t.Errorf("%s: %v in phase %s, want %v", c.curve, d, phase, c.want)
		}
	}
	const huge = time.Duration(math.MaxInt64)
	if d, _ := endless(Geometric, huge).Delay(math.MaxInt - 1); d < huge-time.Second || d > huge {
		t.Errorf("the last but one of an endless geometric backoff to %v is %v", huge, d)
	}
	// The sum needs only the delays before the maximum.
	s := endless(Exponential, 20*time.Second)
	s.Backoff = 400_000_000
	if want := 31*time.Second + 399_999_995*20*time.Second; s.Total() != want {
		t.Errorf("total %v, want %v", s.Total(), want)
	}
}
