package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"postino/shared/pipeline"
	"postino/shared/pipeline/pipelinetest"
	"postino/shared/telemetry"
)

// The counts of what is optional are those of the templates and of what the
// functions write, not somebody's.
func TestWhatIsOptionalIsCountedRight(t *testing.T) {
	p, _ := measured(t)
	want := map[string]int{
		"Alarms": strings.Count(file(t, "alarms.yaml"), "Type: AWS::CloudWatch::Alarm\n"), "Dashboard": strings.Count(file(t, "dashboard.yaml"), "Type: AWS::CloudWatch::Dashboard\n"),
		"Postino's": len(written(t)),
	}
	for _, m := range p.Optional {
		what := strings.FieldsFunc(m.What, func(r rune) bool { return r == ' ' || r == ',' })[0]
		if want[what] == 0 || int(m.Count) != want[what] {
			t.Errorf("%s: there are %d, prices.json has %.0f", m.What, want[what], m.Count)
		}
		delete(want, what)
	}
	for what := range want {
		t.Errorf("prices.json leaves out %s", what)
	}
	if telemetry := file(t, "../docs/telemetry.md"); !strings.Contains(telemetry, "The 15 metrics by stack and the eight by lane") || len(written(t)) != 15+8 {
		t.Errorf("docs/telemetry.md counts other metrics than %q", slices.Sorted(maps.Keys(written(t))))
	}
}

func file(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// written are the metrics of an installation in which everything happens, by name
// and values of the dimensions: CloudWatch bills each by itself.
func written(t *testing.T) map[string]bool {
	t.Helper()
	queues := pipeline.QueueNames{Attempt: "a", Retry: "r", Fanout: "f", DeadLetter: "d", Failed: "x"}
	var b bytes.Buffer
	emf := telemetry.NewEMF(telemetry.EMFOptions{Out: &b, Stack: "postino", Queues: queues})
	for _, kind := range pipelinetest.Kinds {
		for _, lane := range []string{queues.Attempt, queues.Retry} {
			emf.Observe(pipelinetest.Event(kind, func(e *pipeline.Event) {
				e.Lane, e.Throttled, e.Refused = lane, lane == queues.Attempt, "r"
				if lane == queues.Attempt { // a job with a due time waits, and what waits goes to the other lane
					e.Due = time.Time{}
				}
			}))
		}
	}
	for _, queue := range []string{queues.Attempt, queues.Retry, queues.Fanout, queues.DeadLetter, queues.Failed} {
		emf.Batch(queue, 10, 1)
	}
	if _, err := emf.Flush(pipelinetest.Noon); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for line := range strings.Lines(b.String()) {
		var l struct {
			Lane string
			AWS  struct {
				CloudWatchMetrics []struct {
					Dimensions [][]string
					Metrics    []struct{ Name string }
				}
			} `json:"_aws"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		for _, d := range l.AWS.CloudWatchMetrics {
			for _, m := range d.Metrics {
				name := m.Name
				if slices.Contains(d.Dimensions[0], "Lane") {
					name += " " + l.Lane
				}
				names[name] = true
			}
		}
	}
	if all := telemetry.Metrics(); len(names) < len(all) {
		t.Fatalf("of %d metrics %d are written", len(all), len(names))
	}
	return names
}
