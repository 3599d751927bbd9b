package metrics

import (
	"cmp"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Gauges are asked at every scrape; they must answer quickly and be safe for
// concurrent use. Nil ones are left out.
type Gauges struct {
	// Queues gives the depth of every queue.
	Queues func() []QueueDepth
	// ThrottleBacklog is how far into the future throttle slots are reserved,
	// for the subscription where that is furthest.
	ThrottleBacklog func() time.Duration
	// LogDropped is DeliveryLog.Dropped.
	LogDropped func() uint64
}

// QueueDepth is one queue at one moment.
type QueueDepth struct {
	Queue string
	// Visible can be received now, InFlight is received and not acknowledged,
	// Delayed is not due yet.
	Visible, InFlight, Delayed int
}

// maxQueues bounds the queue label's values: the deepest queues are shown, since
// users can make dead-letter queues without end.
const maxQueues = 100

var (
	queueDesc = prometheus.NewDesc("postino_queue_messages",
		"Messages in a queue by state (visible, in_flight, delayed); the 100 deepest queues.", []string{"queue", "state"}, nil)
	backlogDesc = prometheus.NewDesc("postino_throttle_backlog_seconds",
		"How far ahead throttle slots are reserved, for the subscription furthest ahead.", nil, nil)
	droppedDesc = prometheus.NewDesc("postino_delivery_log_dropped_total",
		"Delivery log records lost to a full or slow disk.", nil, nil)
)

type gaugeCollector struct{ g Gauges }

func (c gaugeCollector) Describe(out chan<- *prometheus.Desc) {
	out <- queueDesc
	out <- backlogDesc
	out <- droppedDesc
}

func (c gaugeCollector) Collect(out chan<- prometheus.Metric) {
	if c.g.Queues != nil {
		for _, q := range deepest(c.g.Queues()) {
			for state, n := range map[string]int{"visible": q.Visible, "in_flight": q.InFlight, "delayed": q.Delayed} {
				out <- prometheus.MustNewConstMetric(queueDesc, prometheus.GaugeValue, float64(n), q.Queue, state)
			}
		}
	}
	if c.g.ThrottleBacklog != nil {
		out <- prometheus.MustNewConstMetric(backlogDesc, prometheus.GaugeValue, max(0, c.g.ThrottleBacklog().Seconds()))
	}
	if c.g.LogDropped != nil {
		out <- prometheus.MustNewConstMetric(droppedDesc, prometheus.CounterValue, float64(c.g.LogDropped()))
	}
}

func deepest(queues []QueueDepth) []QueueDepth {
	depth := func(q QueueDepth) int { return q.Visible + q.InFlight + q.Delayed }
	queues = slices.SortedFunc(slices.Values(queues), func(a, b QueueDepth) int {
		return cmp.Or(cmp.Compare(depth(b), depth(a)), cmp.Compare(a.Queue, b.Queue))
	})
	return queues[:min(len(queues), maxQueues)]
}
