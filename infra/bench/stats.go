package main

import (
	"math"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// quantiles of a set of durations, in microseconds.
type quantiles struct {
	Count                      int64
	MinUS, P50US, P99US, MaxUS int64
}

func quantilesOf(h *hdrhistogram.Histogram) quantiles {
	return quantiles{
		Count: h.TotalCount(), MinUS: h.Min(),
		P50US: h.ValueAtQuantile(50), P99US: h.ValueAtQuantile(99), MaxUS: h.Max(),
	}
}

// P50 and P99 in milliseconds; NaN when nothing was measured.
func (q quantiles) P50() float64 { return q.ms(q.P50US) }
func (q quantiles) P99() float64 { return q.ms(q.P99US) }

func (q quantiles) ms(us int64) float64 {
	if q.Count == 0 {
		return math.NaN()
	}
	return float64(us) / 1000
}

// median is the middle of v, or the mean of the middle two; NaN of none.
func median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(v))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// ratios divides pair by pair: what was measured next to each other in time is
// compared with each other.
func ratios(measured, against []float64) []float64 {
	out := make([]float64, min(len(measured), len(against)))
	for i := range out {
		out[i] = measured[i] / against[i]
	}
	return out
}

// perSecond is the rate of n events between two times in Unix nanoseconds.
func perSecond(n, from, to int64) float64 { return float64(n) / (float64(to-from) / 1e9) }

// bucket is one of a cumulative histogram: Count values are ≤ Le.
type bucket struct {
	Le    float64
	Count float64
}

// bucketQuantile estimates a quantile (0..1) as Prometheus does: linear within
// a bucket, and the highest finite bound where it lies beyond all of them. NaN
// when nothing was counted.
func bucketQuantile(buckets []bucket, q float64) float64 {
	b := slices.SortedFunc(slices.Values(buckets), func(x, y bucket) int {
		if x.Le < y.Le {
			return -1
		}
		return 1
	})
	if len(b) == 0 || b[len(b)-1].Count == 0 {
		return math.NaN()
	}
	rank := q * b[len(b)-1].Count
	lower, below := 0.0, 0.0
	for _, x := range b {
		if x.Count >= rank && x.Count > below {
			if math.IsInf(x.Le, 1) {
				return lower
			}
			return lower + (x.Le-lower)*(rank-below)/(x.Count-below)
		}
		lower, below = x.Le, x.Count
	}
	return lower
}
