package deliverypolicy

import (
	"math"
	"time"
)

// Phase names the part of a schedule that planned an attempt.
type Phase string

// The phases in their order.
const (
	// Initial is the first attempt; it follows no failure.
	Initial Phase = "initial"
	// Immediate retries follow without delay.
	Immediate Phase = "immediate"
	// PreBackoff retries wait the minimum delay each.
	PreBackoff Phase = "pre-backoff"
	// Backoff retries wait longer and longer, from the minimum to the maximum.
	Backoff Phase = "backoff"
	// PostBackoff retries wait the maximum delay each.
	PostBackoff Phase = "post-backoff"
)

// Schedule is when a failed delivery is tried again: the initial attempt, then
// Immediate retries without delay, PreBackoff retries after Min each, Backoff
// retries along Curve from Min to Max, PostBackoff retries after Max each. The
// zero Schedule is one attempt and no retry.
//
// Any value is usable: negative counts and delays count as 0, a Max below Min
// as Min, an unknown Curve as Linear. Sums saturate instead of overflowing.
type Schedule struct {
	// Immediate, PreBackoff, Backoff and PostBackoff count retries.
	Immediate, PreBackoff, Backoff, PostBackoff int
	// Min and Max bound every delay but those of the immediate phase. SNS
	// policies have whole seconds from 1 to 3,600.
	Min, Max time.Duration
	Curve    Curve
	// Spread adds a uniformly random 0 to Spread to every non-zero delay, for
	// schedules that are random by nature. 0 leaves the usual jitter, which adds
	// at most a tenth of the delay.
	Spread time.Duration
}

// Retries is how many attempts may follow the initial one.
func (s Schedule) Retries() int {
	n := 0
	for _, count := range []int{s.Immediate, s.PreBackoff, s.Backoff, s.PostBackoff} {
		if count = max(count, 0); n > math.MaxInt-count {
			return math.MaxInt
		}
		n += count
	}
	return n
}

// Delay is the pause between the end of the attempt before a retry and that
// retry, without jitter, and the retry's phase. retry counts from 1; smaller
// numbers give the initial attempt, greater ones than Retries the last retry,
// since a policy may be shortened while a delivery is under way. Backoff delays
// are whole milliseconds wherever Min and Max are.
func (s Schedule) Delay(retry int) (time.Duration, Phase) {
	retry = min(retry, s.Retries())
	if retry < 1 {
		return 0, Initial
	}
	least, most := s.bounds()
	if retry <= s.Immediate {
		return 0, Immediate
	}
	retry -= max(s.Immediate, 0)
	if retry <= s.PreBackoff {
		return least, PreBackoff
	}
	retry -= max(s.PreBackoff, 0)
	if retry <= s.Backoff {
		return s.Curve.delay(retry, s.Backoff, least, most), Backoff
	}
	return most, PostBackoff
}

// PhaseOf is the phase of an attempt; attempt 1 is the initial one.
func (s Schedule) PhaseOf(attempt int) Phase {
	_, phase := s.Delay(max(attempt, 1) - 1)
	return phase
}

// Total is the sum of all delays without jitter and without the time that
// attempts take. A sum beyond the largest Duration gives the largest Duration.
// It takes time in proportion to Backoff, not to the other counts.
func (s Schedule) Total() time.Duration {
	least, most := s.bounds()
	sum := add(times(s.PreBackoff, least), times(s.PostBackoff, most))
	for i := 1; i <= s.Backoff; i++ {
		d := s.Curve.delay(i, s.Backoff, least, most)
		if d == most { // and so are all that follow
			return add(sum, times(s.Backoff-i+1, most))
		}
		sum = add(sum, d)
	}
	return sum
}

// bounds gives Min and Max as every method takes them: 0 <= least <= most.
func (s Schedule) bounds() (least, most time.Duration) {
	least = max(s.Min, 0)
	return least, max(s.Max, least)
}

// add is a + b for durations that are not negative, saturating.
func add(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// times is n x d for a d that is not negative, saturating; a negative n is 0.
func times(n int, d time.Duration) time.Duration {
	if n <= 0 || d == 0 {
		return 0
	}
	if time.Duration(n) > math.MaxInt64/d {
		return math.MaxInt64
	}
	return time.Duration(n) * d
}
