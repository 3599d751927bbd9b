package infra_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sections of a page under headings of the third level, by heading, in a part that
// a heading of the second level begins.
func sections(t *testing.T, page, part string) (names []string, bodies map[string]string) {
	t.Helper()
	_, after, found := strings.Cut(page, "\n## "+part+"\n")
	if !found {
		t.Fatalf("the page has no part %q", part)
	}
	after, _, _ = strings.Cut(after, "\n## ")
	bodies = map[string]string{}
	for _, section := range strings.Split("\n"+after, "\n### ")[1:] {
		name, body, _ := strings.Cut(section, "\n")
		names, bodies[name] = append(names, name), body
	}
	return names, bodies
}

func TestEveryAlarmHasARunbook(t *testing.T) {
	names, bodies := sections(t, text(t, "../docs/operations.md"), "Runbooks")
	alarms := readFrom(t, "alarms.yaml").of(t, "AWS::CloudWatch::Alarm", 20)
	slices.Sort(names)
	if d := cmp.Diff(alarms, names); d != "" {
		t.Errorf("alarms, and the page's runbooks: %s", d)
	}
	for name, body := range bodies {
		for _, part := range []string{"**Means**", "**Look**", "**Do**", "**Over**"} {
			if strings.Count(body, part) != 1 {
				t.Errorf("%s does not say %s once", name, part)
			}
		}
	}
}

var series = regexp.MustCompile(`\bpostino_\w+`)

// What the page alarms on at /metrics must be there.
func TestThePageNamesOnlyMetricsThatTheServerHas(t *testing.T) {
	known := text(t, "../shared/metrics/testdata/metrics.txt")
	names := series.FindAllString(text(t, "../docs/operations.md"), -1)
	if len(names) == 0 {
		t.Fatal("the page names none")
	}
	for _, name := range names {
		if !strings.Contains(known, "\n"+name) {
			t.Errorf("the server has no metric %s", name)
		}
	}
}
