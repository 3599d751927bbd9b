package main

import (
	"io"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// metrics is one scrape of a server's /metrics.
type metrics map[string]*dto.MetricFamily

func parseMetrics(r io.Reader) (metrics, error) {
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(r)
	return metrics(families), err
}

// total sums a counter, gauge or untyped metric over its labels.
func (m metrics) total(name string) (v float64, ok bool) {
	f, ok := m[name]
	if !ok {
		return 0, false
	}
	for _, s := range f.GetMetric() {
		v += s.GetCounter().GetValue() + s.GetGauge().GetValue() + s.GetUntyped().GetValue()
	}
	return v, true
}

// allocations counts heap objects ever allocated (Go runtime metric
// /gc/heap/allocs:objects; client_golang's Go collector).
func (m metrics) allocations() (float64, bool) {
	for _, name := range []string{"go_memstats_mallocs_total", "go_gc_heap_allocs_objects_total"} {
		if v, ok := m.total(name); ok {
			return v, true
		}
	}
	return 0, false
}

// histogram gives the cumulative buckets of the first histogram whose name ends
// in suffix, summed over its labels.
func (m metrics) histogram(suffix string) []bucket {
	counts := map[float64]float64{}
	for name, f := range m {
		if f.GetType() != dto.MetricType_HISTOGRAM || !strings.HasSuffix(name, suffix) {
			continue
		}
		for _, s := range f.GetMetric() {
			for _, b := range s.GetHistogram().GetBucket() {
				counts[b.GetUpperBound()] += float64(b.GetCumulativeCount())
			}
		}
	}
	var out []bucket
	for le, n := range counts {
		out = append(out, bucket{le, n})
	}
	return out
}
