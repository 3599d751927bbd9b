// Package metrics counts what happens for Prometheus, which scrapes the embedded
// server. On AWS package telemetry writes metrics instead; the two are apart so that
// the functions carry no Prometheus.
package metrics

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"postino/shared/pipeline"
	"postino/shared/push"
)

// Metrics counts what happens, in a registry of its own. Labels have few values:
// no endpoint, no topic, no subscription; those are in the logs.
type Metrics struct {
	registry *prometheus.Registry

	published, deliveries                          prometheus.Counter
	deliveredFirst, deliveredRetry                 prometheus.Counter
	failed                                         *prometheus.CounterVec
	dead, dropped, waits, faults, poison, redriven prometheus.Counter
	refused                                        prometheus.Counter
	first, late                                    prometheus.Histogram
	// duration is by class; looking a label up costs more than observing.
	duration map[push.Class]prometheus.Observer
}

// Bucket bounds in seconds: from a loopback push to the attempt's limit, and
// from a punctual retry to an hour's backlog.
var (
	latencyBuckets  = []float64{.001, .002, .003, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 15, 30, 60}
	latenessBuckets = []float64{.001, .005, .01, .02, .05, .1, .5, 1, 5, 15, 60, 300, 900, 3600}
)

// New makes the metrics and their registry, the Go runtime's and the
// process's own among them.
func New(g Gauges) *Metrics {
	m := &Metrics{
		registry:   prometheus.NewRegistry(),
		published:  counter("published_total", "Messages accepted."),
		deliveries: counter("published_deliveries_total", "Deliveries that accepted messages were for."),
		failed:     counterVec("failed_attempts_total", "Attempts that failed, by class (retryable, permanent) and cause: a connection-level fault or a kind of HTTP status.", "class", "cause"),
		dead:       counter("dead_lettered_total", "Deliveries that went to a dead-letter queue."),
		refused:    counter("dead_letters_refused_total", "Dead letters that the subscription's own queue refused for good; DeadLetterQueue has them."),
		dropped:    counter("dropped_total", "Deliveries ended by a user's act, and confirmations given up."),
		waits:      counter("waits_total", "Jobs put back without an attempt."),
		faults:     counter("faults_total", "Failures on Postino's own side; the job comes back."),
		poison:     counter("poison_total", "Queue messages that were no jobs."),
		redriven:   counter("redriven_total", "Dead letters sent again."),
		first:      histogram("first_delivery_seconds", "From acceptance to the end of a first attempt that succeeded.", latencyBuckets),
		late:       histogram("retry_lateness_seconds", "How long after its due time a retry began.", latenessBuckets),
		duration:   map[push.Class]prometheus.Observer{},
	}
	delivered := counterVec("delivered_total", "Deliveries that an endpoint took, by whether the first attempt did it.", "attempt")
	m.deliveredFirst, m.deliveredRetry = delivered.WithLabelValues("first"), delivered.WithLabelValues("retry")
	duration := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "postino_attempt_duration_seconds", Help: "How long attempts took, by class.", Buckets: latencyBuckets,
	}, []string{"class"})
	for _, c := range []push.Class{push.Success, push.Retryable, push.Permanent} {
		m.duration[c] = duration.WithLabelValues(string(c))
	}
	m.registry.MustRegister(m.published, m.deliveries, delivered, m.failed, m.dead, m.refused, m.dropped, m.waits, m.faults, m.poison,
		m.redriven, m.first, m.late, duration, gaugeCollector{g},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: "postino_" + name, Help: help})
}

func counterVec(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "postino_" + name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: "postino_" + name, Help: help, Buckets: buckets})
}

// Handler serves the metrics in the Prometheus text format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Observe counts e.
func (m *Metrics) Observe(e pipeline.Event) {
	switch e.Kind {
	case pipeline.EventAccepted:
		m.published.Inc()
		m.deliveries.Add(float64(e.Deliveries))
	case pipeline.EventDelivered:
		if e.Attempt.Number == 1 {
			m.deliveredFirst.Inc()
		} else {
			m.deliveredRetry.Inc()
		}
		if e.Attempt.Number == 1 && e.Generation == "" && !e.Accepted.IsZero() {
			m.first.Observe(e.Attempt.Ended.Sub(e.Accepted).Seconds())
		}
	case pipeline.EventDead:
		m.dead.Inc()
		if e.Refused != "" {
			m.refused.Inc()
		}
	case pipeline.EventDropped:
		m.dropped.Inc()
	case pipeline.EventWait:
		m.waits.Inc()
	case pipeline.EventFault:
		m.faults.Inc()
	case pipeline.EventPoison:
		m.poison.Inc()
	case pipeline.EventRedriven:
		m.redriven.Inc()
	}
	m.attempt(e)
}

func (m *Metrics) attempt(e pipeline.Event) {
	if !e.Attempted() {
		return
	}
	if d := m.duration[e.Attempt.Class]; d != nil {
		d.Observe(e.Attempt.Ended.Sub(e.Attempt.Started).Seconds())
	}
	if e.Kind != pipeline.EventDelivered {
		m.failed.WithLabelValues(string(e.Attempt.Class), cause(e)).Inc()
	}
	if d, ok := e.Lateness(); ok && e.Attempt.Number > 1 {
		m.late.Observe(d.Seconds())
	}
}

// cause is the fault, or the status's kind: "http_5xx", and "http_429" since
// that one is retried.
func cause(e pipeline.Event) string {
	switch s := e.Attempt.Status; {
	case e.Attempt.Fault != "":
		return e.Attempt.Fault
	case s == http.StatusTooManyRequests:
		return "http_429"
	case 100 <= s && s <= 599:
		return "http_" + strconv.Itoa(s/100) + "xx"
	default:
		return "other"
	}
}
