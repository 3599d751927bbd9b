package telemetry

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"postino/shared/pipeline"
)

var queueNames = pipeline.QueueNames{Attempt: "postino-attempts", Retry: "arn:aws:sqs:eu-west-1:123456789012:postino-retries", Fanout: "postino-pages",
	DeadLetter: "postino-dead", Failed: "postino-failed"}

func newEMF(out io.Writer) *EMF {
	return NewEMF(EMFOptions{Out: out, Stack: "postino-prod", Queues: queueNames})
}

// rich are all kinds of event, with all that a metric is made of.
func rich() (all []pipeline.Event) {
	for _, k := range kinds {
		all = append(all, event(k))
	}
	retryLane := func(e *pipeline.Event) { e.Lane = "arn:aws:sqs:eu-west-1:123456789012:postino-retries" }
	return append(all,
		event(pipeline.EventWait, func(e *pipeline.Event) { e.Throttled = true }),
		event(pipeline.EventDead, retryLane, func(e *pipeline.Event) { e.Refused = "the queue does not exist" }),
		event(pipeline.EventRetry, retryLane),
		event(pipeline.EventDelivered, retryLane, func(e *pipeline.Event) { e.Generation = "g" }),
		event(pipeline.EventAccepted, func(e *pipeline.Event) { e.Lane = "" }))
}

func TestAFlushWritesALineForEachLaneAndLeavesOutWhatDidNotHappen(t *testing.T) {
	var b bytes.Buffer
	m := newEMF(&b)
	for _, e := range rich() {
		m.Observe(e)
	}
	m.Batch("arn:aws:sqs:eu-west-1:123456789012:postino-attempts", 10, 0)
	m.Batch("arn:aws:sqs:eu-west-1:123456789012:postino-retries", 4, 3)
	got, err := m.Flush(noon)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "emf.jsonl", b.String())
	for line := range strings.Lines(b.String()) {
		checkEMF(t, line)
	}
	if got.Accepted != 2 || got.Queued != 6 || got.Dead != 2 || got.DeadLetterRefused != 1 || got.Throttled != 1 || got.Waited != 1 || got.Returned != 3 {
		t.Errorf("in all %+v", got)
	}
	b.Reset()
	if got, err := m.Flush(noon); err != nil || b.Len() > 0 || got.Accepted != 0 {
		t.Errorf("the second flush writes %q and gives %+v, %v", b.String(), got, err)
	}
}

// emfLine is a document as CloudWatch reads it.
type emfLine struct {
	AWS struct {
		Timestamp         int64
		CloudWatchMetrics []struct {
			Namespace  string
			Dimensions [][]string
			Metrics    []struct {
				Name, Unit        string
				StorageResolution int
			}
		}
	} `json:"_aws"`
	// root are the members beside it.
	root map[string]any
}

// checkEMF holds a line to the rules of the format (CloudWatch user guide,
// "Embedded metric format JSON schema" and "Specification") and to ours: no
// dimension has many values.
func checkEMF(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, line string,
) emfLine {
	t.Helper()
	if strings.Count(line, "\n") != 1 || len(line) > 1<<20 {
		t.Fatalf("not one line of at most 1 MiB: %.200q", line)
	}
	var d emfLine
	if err := json.Unmarshal([]byte(line), &d.root); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	decoder := json.NewDecoder(strings.NewReader(string(mustMarshal(d.root["_aws"]))))
	decoder.DisallowUnknownFields() // "objects … MUST NOT contain any additional members"
	if err := decoder.Decode(&d.AWS); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	if d.AWS.Timestamp < 1e12 || len(d.AWS.CloudWatchMetrics) == 0 {
		t.Fatalf("Timestamp %d, %d directives", d.AWS.Timestamp, len(d.AWS.CloudWatchMetrics))
	}
	seen := map[string]bool{}
	for _, directive := range d.AWS.CloudWatchMetrics {
		if directive.Namespace != "Postino" || len(directive.Dimensions) == 0 || len(directive.Metrics) == 0 || len(directive.Metrics) > 100 {
			t.Fatalf("a directive is %+v", directive)
		}
		for _, set := range directive.Dimensions {
			if len(set) == 0 || len(set) > 30 {
				t.Fatalf("a set of %d dimensions", len(set))
			}
			for _, name := range set {
				value, ok := d.root[name].(string)
				if !ok || value == "" || len(value) > 1024 || name != "Stack" && name != "Lane" {
					t.Fatalf("the dimension %s is %v", name, d.root[name])
				}
				if name == "Lane" && !slices.Contains([]string{"attempt", "retry", "fanout", "dead-letter", "failed"}, value) {
					t.Fatalf("the lane is %s", value)
				}
			}
		}
		for _, metric := range directive.Metrics {
			if metric.Name == "" || seen[metric.Name] || !slices.Contains([]string{"Count", "Milliseconds"}, metric.Unit) {
				t.Fatalf("a metric is %+v", metric)
			}
			seen[metric.Name] = true
			values, isList := d.root[metric.Name].([]any)
			if !isList {
				values = []any{d.root[metric.Name]}
			}
			if len(values) == 0 || len(values) > 100 {
				t.Fatalf("%s has %d values", metric.Name, len(values))
			}
			for _, v := range values {
				if n, ok := v.(float64); !ok || n < 0 {
					t.Fatalf("%s has the value %v", metric.Name, v)
				}
			}
		}
	}
	for name, v := range d.root {
		if _, text := v.(string); !text && name != "_aws" && !seen[name] {
			t.Fatalf("%s is no metric and no dimension", name)
		}
	}
	return d
}

func mustMarshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// sums adds up the lines: of a list of values their number.
func sums(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, lines string,
) map[string]int {
	t.Helper()
	out := map[string]int{}
	for line := range strings.Lines(lines) {
		for name, v := range checkEMF(t, line).root {
			switch v := v.(type) {
			case float64:
				out[name] += int(v)
			case []any:
				out[name] += len(v)
			}
		}
	}
	return out
}

func TestTheLinesAddUpToWhatWasObserved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b bytes.Buffer
		m := newEMF(&b)
		want := map[string]int{}
		count := func(name string, n int) {
			if n > 0 {
				want[name] += n
			}
		}
		all := rich()
		for range rapid.IntRange(0, 4).Draw(t, "flushes") {
			for range rapid.IntRange(0, 400).Draw(t, "events") {
				e := all[rapid.IntRange(0, len(all)-1).Draw(t, "event")]
				m.Observe(e)
				name := map[pipeline.EventKind]string{pipeline.EventAccepted: "Accepted", pipeline.EventDelivered: "Delivered", pipeline.EventRetry: "Retried",
					pipeline.EventDead: "Dead", pipeline.EventDropped: "Dropped", pipeline.EventWait: "Waited", pipeline.EventFault: "Faults",
					pipeline.EventPoison: "Poison", pipeline.EventRedriven: "Redriven"}[e.Kind]
				if e.Throttled {
					name = "Throttled"
					count("ThrottleBacklog", 1)
				}
				count(name, 1)
				count("DeliveriesQueued", e.Deliveries)
				if e.Refused != "" {
					count("DeadLetterRefused", 1)
				}
				if e.Attempt.Number > 0 {
					count("AttemptDuration", 1)
				}
				if e.Attempt.Number > 0 && !e.Due.IsZero() {
					count("Lateness", 1)
				}
				if e.Kind == pipeline.EventDelivered && e.Generation == "" {
					count("TimeToDeliver", 1)
				}
			}
			if _, err := m.Flush(noon); err != nil {
				t.Fatal(err)
			}
		}
		got := sums(t, b.String())
		for name := range got {
			if got[name] != want[name] {
				t.Fatalf("%s: %d in the lines, %d observed", name, got[name], want[name])
			}
		}
		if len(got) != len(want) {
			t.Fatalf("in the lines %v, observed %v", got, want)
		}
	})
}

// locked is a log that several invocations write to.
type locked struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(b)
}

func TestNothingIsLostOrCountedTwiceWhereInvocationsRunSideBySide(t *testing.T) {
	var log locked
	m := newEMF(&log)
	e := event(pipeline.EventRetry)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				for range 10 {
					m.Observe(e)
				}
				m.Batch(e.Lane, 10, 0)
				if _, err := m.Flush(noon); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := sums(t, log.String()); got["Retried"] != 4000 || got["AttemptDuration"] != 4000 || got["BatchSize"] != 400 {
		t.Errorf("in the lines %v", got)
	}
}

func TestALineSaysNothingOfWhoseMessageItWas(t *testing.T) {
	var b bytes.Buffer
	m := newEMF(&b)
	for _, e := range rich() {
		e.Reason, e.Attempt.Detail = "hunter2", "hunter2"
		m.Observe(e)
	}
	if _, err := m.Flush(noon); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"hooks.example", topicARN, message, "hunter2", "arn:aws:sqs"} {
		if strings.Contains(b.String(), s) {
			t.Errorf("%s is in %s", s, b.String())
		}
	}
}

func TestClocksThatDifferMakeNoNegativeValues(t *testing.T) {
	var b bytes.Buffer
	m := newEMF(&b)
	m.Observe(event(pipeline.EventDelivered, func(e *pipeline.Event) { e.Accepted = noon.Add(time.Hour) }))
	if _, err := m.Flush(noon); err != nil {
		t.Fatal(err)
	}
	checkEMF(t, b.String())
	if !strings.Contains(b.String(), `"TimeToDeliver":[0]`) {
		t.Error(b.String())
	}
}

func BenchmarkEMF(b *testing.B) {
	m := newEMF(io.Discard)
	e := event(pipeline.EventRetry)
	b.Run("Observe", func(b *testing.B) {
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			m.Observe(e)
			if n%10 == 9 { // a batch
				m.mu.Lock()
				clear(m.lanes)
				m.mu.Unlock()
			}
		}
	})
	b.Run("BatchOfTen", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for range 10 {
				m.Observe(e)
			}
			m.Batch(e.Lane, 10, 0)
			if _, err := m.Flush(noon); err != nil {
				b.Fatal(err)
			}
		}
	})
}
