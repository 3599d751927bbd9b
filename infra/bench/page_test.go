package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// measured reads the figures of the run that a page was written from.
func measured(t *testing.T, figures string, into any) {
	t.Helper()
	b, err := os.ReadFile(figures)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}

func wantPage(t *testing.T, file, page, command string) {
	t.Helper()
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != page {
		t.Errorf("%s is not what its figures come to: %s", file, command)
	}
}

// What the calls should be is what docs/cost.md counts now, whatever it was when
// they were made.
func TestTheDeployedStacksPageIsWhatItsFiguresMakeIt(t *testing.T) {
	var r awsReport
	measured(t, "aws.json", &r)
	c, err := readCosts("../cost/counts.json")
	if err != nil {
		t.Fatal(err)
	}
	for i, sc := range scenarios(false) {
		if i >= len(r.Rows) || r.Rows[i].Name != sc.name {
			t.Fatalf("the page is of other scenarios: make bench-aws")
		}
		r.Rows[i].Checks = c.check(sc, r.Rows[i])
	}
	wantPage(t, "../../docs/performance-aws.md", r.page(), "make bench-aws")
	if len(r.Rows) != len(scenarios(false)) || r.Quick || len(r.Broken) > 0 || r.disagrees() {
		t.Errorf("the page is of a run that is not whole: %d scenarios, broken %q", len(r.Rows), r.Broken)
	}
}

// The targets are those of now, whatever they were when the figures were taken.
func TestTheServersPageIsWhatItsFiguresMakeIt(t *testing.T) {
	var r report
	measured(t, "embedded.json", &r)
	r.Targets = nil
	r.judge()
	wantPage(t, "../../docs/performance-figures.md", r.page(), "make bench")
	if r.Quick || len(r.Broken) > 0 || len(r.Plan.Phases) != len(phases) {
		t.Errorf("the page is of a run that is not whole: phases %q, broken %q", r.Plan.Phases, r.Broken)
	}
	said, err := os.ReadFile("../../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	wereMet := 0
	for _, target := range r.Targets {
		switch row := fmt.Sprintf("| %s | %s |", target.Name, strings.TrimSuffix(target.Got.String()+" "+target.Unit, " ×")); {
		case target.Verdict == met:
			wereMet++
		case !strings.Contains(string(said), row):
			t.Errorf("docs/performance.md does not say why %s", row)
		}
	}
	if want := fmt.Sprintf("Of its %d\ntargets %d were met.", len(r.Targets), wereMet); !strings.Contains(string(said), want) {
		t.Errorf("docs/performance.md does not say %q", want)
	}
}
