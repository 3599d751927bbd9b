package deliverypolicy

import (
	"math"
	"math/bits"
	"time"
)

// Curve is the backoffFunction of a policy: the shape of the delays of the
// backoff phase.
type Curve string

// The curves. SNS publishes their names and a picture but no formula, so these
// take each name in its textbook sense. All start at the minimum delay, end at
// the maximum and never fall in between; a backoff phase of one retry waits the
// minimum.
const (
	// Linear grows by equal steps.
	Linear Curve = "linear"
	// Arithmetic grows by steps that themselves grow evenly: 1, 2, 3 … parts.
	Arithmetic Curve = "arithmetic"
	// Geometric grows by an equal factor.
	Geometric Curve = "geometric"
	// Exponential doubles, or grows by the larger factor that is needed to reach
	// the maximum by the last retry, and stays at the maximum once there: 1 to
	// 20 s over ten retries reads 1, 2, 4, 8, 16, 20, 20, 20, 20, 20.
	Exponential Curve = "exponential"
)

// delay is the i-th of n backoff delays, i from 1, between the given bounds,
// 0 <= least <= most.
func (c Curve) delay(i, n int, least, most time.Duration) time.Duration {
	switch {
	case i <= 1 || n <= 1 || least == most:
		return least
	case i >= n:
		return most
	}
	var d time.Duration
	steps, of := uint64(i-1), uint64(n-1)
	switch c {
	case Arithmetic:
		d = least + share(most-least, triangle(steps, of), triangle(of, of))
	case Geometric:
		d = geometric(steps, of, least, most)
	case Exponential:
		d = exponential(steps, of, least, most)
	default:
		d = least + share(most-least, steps, of)
	}
	return min(max(d, least), most)
}

// share is span x part / whole in whole milliseconds, rounded down, so that a
// sum of delays never exceeds what the policy's numbers say. part <= whole. The
// product is kept in 128 bits and cannot overflow.
func share(span time.Duration, part, whole uint64) time.Duration {
	high, low := bits.Mul64(uint64(span), part)
	quotient, _ := bits.Div64(high, low, whole)
	return time.Duration(quotient).Truncate(time.Millisecond)
}

// triangle is 1 + 2 + … + k, on a coarser scale where of is so large that the
// sum up to it would overflow.
func triangle(k, of uint64) uint64 {
	if coarse := bits.Len64(of) - 32; coarse > 0 {
		k >>= coarse
	}
	return k * (k + 1) / 2
}

// geometric is least x (most/least)^(steps/of), to the nearest millisecond.
func geometric(steps, of uint64, least, most time.Duration) time.Duration {
	start := float64(max(least, time.Millisecond)) // no factor leads up from 0
	exact := start * math.Pow(float64(most)/start, float64(steps)/float64(of))
	whole := math.Round(exact / float64(time.Millisecond))
	if limit := most / time.Millisecond; whole >= float64(limit) {
		return limit * time.Millisecond
	}
	return time.Duration(whole) * time.Millisecond
}

// exponential is least x 2^steps, or geometric where doubling would not get to
// most by the last retry.
func exponential(steps, of uint64, least, most time.Duration) time.Duration {
	start := max(least, time.Millisecond)
	if doublings := min(of, 63); start <= (most-1)>>doublings {
		return geometric(steps, of, least, most)
	}
	if steps >= 63 || start > most>>steps {
		return most
	}
	return start << steps
}
