package metrics

import (
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"postino/shared/pipeline"
	"postino/shared/pipeline/pipelinetest"
	"postino/shared/push"
)

func scrape(m *Metrics) string {
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

// ours leaves out the runtime's metrics and the comments.
func ours(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "postino_") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func TestEveryEventIsCounted(t *testing.T) {
	m := New(Gauges{
		Queues: func() []QueueDepth {
			return []QueueDepth{{Queue: "postino-retries", Visible: 1, InFlight: 2, Delayed: 3}, {Queue: "postino-attempts", Visible: 10}}
		},
		ThrottleBacklog: func() time.Duration { return 1500 * time.Millisecond },
		LogDropped:      func() uint64 { return 7 },
	})
	for _, k := range pipelinetest.Kinds {
		m.Observe(pipelinetest.Event(k))
	}
	failed := func(change func(*push.Attempt)) {
		m.Observe(pipelinetest.Event(pipeline.EventRetry, func(e *pipeline.Event) { change(&e.Attempt) }))
	}
	failed(func(a *push.Attempt) { a.Status, a.Fault = 0, "timeout" })
	failed(func(a *push.Attempt) { a.Status = 429 })
	failed(func(a *push.Attempt) { a.Class, a.Status = push.Permanent, 404 })
	failed(func(a *push.Attempt) { a.Class, a.Status = push.Permanent, 999 })
	m.Observe(pipelinetest.Event(pipeline.EventDelivered, func(e *pipeline.Event) { e.Attempt.Number, e.Due = 3, pipelinetest.Noon.Add(-12*time.Millisecond) }))
	// A first attempt that waited for its throttle slot is no retry.
	m.Observe(pipelinetest.Event(pipeline.EventDelivered, func(e *pipeline.Event) { e.Due = pipelinetest.Noon.Add(-time.Second) }))
	m.Observe(pipelinetest.Event(pipeline.EventDead, func(e *pipeline.Event) { e.Refused = "the queue does not exist" }))
	// A first attempt after a redrive is no first delivery.
	m.Observe(pipelinetest.Event(pipeline.EventDelivered, func(e *pipeline.Event) { e.Generation = "g" }))
	want, err := os.ReadFile("testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), ours(scrape(m))); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(scrape(m), "go_goroutines") || !strings.Contains(scrape(m), "process_cpu_seconds_total") {
		t.Error("the runtime's and the process's metrics are missing")
	}
}

func TestTheMetricsPassPrometheussOwnLinter(t *testing.T) {
	m := New(Gauges{
		Queues: func() []QueueDepth { return []QueueDepth{{Queue: "q"}} }, ThrottleBacklog: func() time.Duration { return 0 }, LogDropped: func() uint64 { return 0 },
	})
	problems, err := promlint.New(strings.NewReader(scrape(m))).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

func TestTwoServersInOneProcessDoNotShareMetrics(t *testing.T) {
	a, b := New(Gauges{}), New(Gauges{})
	a.Observe(pipelinetest.Event(pipeline.EventDead))
	if !strings.Contains(scrape(a), "postino_dead_lettered_total 1") || !strings.Contains(scrape(b), "postino_dead_lettered_total 0") {
		t.Error("they share a registry")
	}
}

func TestTheNumberOfSeriesIsBounded(t *testing.T) {
	m := New(Gauges{Queues: func() (all []QueueDepth) {
		for n := range 1000 {
			all = append(all, QueueDepth{Queue: fmt.Sprintf("dead-%d", n), Visible: n})
		}
		return all
	}})
	for n := range 1000 {
		m.Observe(pipelinetest.Event(pipeline.EventRetry, func(e *pipeline.Event) {
			e.Endpoint, e.TopicARN, e.Subscription = fmt.Sprintf("http://h%d/", n), fmt.Sprint(n), fmt.Sprint(n)
			e.Attempt.Number, e.Attempt.Status, e.Attempt.Phase = n+1, n, fmt.Sprint(n)
		}))
	}
	text := ours(scrape(m))
	if n := strings.Count(text, "\n"); n > 440 {
		t.Errorf("%d series", n)
	}
	if !strings.Contains(text, `queue="dead-999"`) || strings.Contains(text, `queue="dead-1"`) {
		t.Error("the deepest queues are not the ones shown")
	}
}

func BenchmarkMetrics(b *testing.B) {
	m := New(Gauges{})
	e := pipelinetest.Event(pipeline.EventRetry)
	b.ReportAllocs()
	for b.Loop() {
		m.Observe(e)
	}
}
