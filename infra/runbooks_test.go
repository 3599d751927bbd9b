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

// inWords are bounds as the runbooks say them; each alarm has one of age or number
// that is none of "at least one".
var inWords = map[int]string{864000: "ten days", 600: "ten minutes", 1800: "half an hour", 10000: "10,000"}

func TestARunbookSaysItsAlarmsBoundAndHowLongItIsPassed(t *testing.T) {
	_, bodies := sections(t, text(t, "../docs/operations.md"), "Runbooks")
	inner := readFrom(t, "alarms.yaml")
	for _, name := range inner.of(t, "AWS::CloudWatch::Alarm", 20) {
		p := inner.Resources[name].Properties
		body := strings.Join(strings.Fields(bodies[name]), " ")
		says := func(words ...string) {
			if !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(body, w) }) {
				t.Errorf("%s's runbook says none of %q", name, words)
			}
		}
		if bound := p["Threshold"].(int); bound != 1 {
			words, ok := inWords[bound]
			if !ok {
				t.Errorf("%s has the bound %d, of which there are no words", name, bound)
			}
			says(words)
		}
		switch points, some := p["DatapointsToAlarm"].(int); [2]int{p["Period"].(int), p["EvaluationPeriods"].(int)} {
		case [2]int{300, 3}:
			if some && points == 2 {
				says("two of three periods")
			} else {
				says("15 minutes", "three periods of five minutes")
			}
		case [2]int{60, 5}:
			says("five minutes long")
		case [2]int{300, 1}, [2]int{3600, 1}: // at once
		default:
			t.Errorf("%s looks at periods of which there are no words", name)
		}
	}
}

var (
	command     = regexp.MustCompile("`[^`]+`")
	placeholder = regexp.MustCompile(`(^|[ :])([A-Z][A-Z-]*[A-Z])\b`)
)

func TestARunbookSaysWhatItsCapitalsStandFor(t *testing.T) {
	page := text(t, "../docs/operations.md")
	before, _, _ := strings.Cut(page, "\n## Runbooks\n")
	_, bodies := sections(t, page, "Runbooks")
	found := 0
	for name, body := range bodies {
		body = strings.Join(strings.Fields(body), " ")
		for _, c := range command.FindAllString(body, -1) {
			if !strings.Contains(c, " ") {
				continue // a word, no command
			}
			for _, m := range placeholder.FindAllStringSubmatch(c, -1) {
				found++
				if word := m[2]; !strings.Contains(body, word+" being") && !regexp.MustCompile(`\b`+word+`\b`).MatchString(before) {
					t.Errorf("%s: %s has %s, which nothing explains", name, c, word)
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d were found", found)
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
