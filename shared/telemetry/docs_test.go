package telemetry

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"

	"postino/shared/pipeline"
	"postino/shared/push"
)

func readPage(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../docs/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestThePageNamesEveryMetricWithItsUnitAndDimensions(t *testing.T) {
	want := map[string]string{}
	for _, m := range Metrics() {
		want[m.Name] = m.Unit + " | Stack"
		if m.ByLane {
			want[m.Name] += ", Lane"
		}
	}
	rows := regexp.MustCompile(`(?m)^\| ([A-Z]\w+) \| (\w+ \| Stack[^|]*) \| [^|]+ \|$`).FindAllStringSubmatch(readPage(t), -1)
	for _, r := range rows {
		if want[r[1]] != r[2] {
			t.Errorf("the page says of %s %q, the code %q", r[1], r[2], want[r[1]])
		}
		delete(want, r[1])
	}
	for name := range want {
		t.Errorf("the page does not name %s", name)
	}
}

func TestThePageNamesEveryFieldOfALogLine(t *testing.T) {
	var b bytes.Buffer
	o := Log(slog.New(LambdaHandler(&b, slog.LevelDebug)))
	for _, k := range kinds {
		o.Observe(event(k, func(e *pipeline.Event) {
			e.Generation, e.Push, e.TraceID, e.Refused = "g", push.UnsubscribeConfirmation, "t", "r"
			e.Attempt.Fault = "timeout"
		}))
	}
	page := readPage(t)
	named := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([a-z, A-Z]+) \|`).FindAllStringSubmatch(page, -1) {
		for name := range strings.SplitSeq(row[1], ", ") {
			named[name] = true
		}
	}
	for line := range strings.Lines(b.String()) {
		var l map[string]any
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		for name := range l {
			if !named[name] && !strings.Contains(page, "`"+name+"`") {
				t.Errorf("the page does not name %s", name)
			}
		}
	}
}
