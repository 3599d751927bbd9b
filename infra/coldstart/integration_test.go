//go:build integration

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"postino/infra/coldstart/figures"
)

// make coldstart, with a few starts, beside a stack that is deployed. The machine may
// be busy, which makes no start shorter: what counts here is each function's best one,
// where docs/cold-start.md has the medians of many on a quiet machine.
func TestColdStartsAreMeasuredBesideADeployedStackAndKeepThePromises(t *testing.T) {
	if os.Getenv("AWS_ENDPOINT_URL") == "" {
		t.Fatal("AWS_ENDPOINT_URL is not set: run make integration, or infra/local/sam.sh up")
	}
	const runs = 3
	into := t.TempDir()
	t.Chdir("../..")
	best := figures.Figures{Functions: make([]figures.Function, 1+len(subjects))}
	for deadline := time.Now().Add(2 * time.Minute); ; {
		if err := run(t.Context(), options{stack: "postino", runs: runs, into: into}); err != nil && !strings.HasPrefix(err.Error(), "these miss a target") {
			t.Fatal(err)
		}
		f, err := figures.Read(filepath.Join(into, "processes.json"))
		if err != nil || len(f.Functions) != len(best.Functions) {
			t.Fatalf("%d functions were measured: %v", len(f.Functions), err)
		}
		page, err := os.ReadFile(filepath.Join(into, "cold-start.md"))
		if err != nil || !strings.Contains(string(page), f.Table()) {
			t.Errorf("the page has not these figures: %v", err)
		}
		for i, one := range f.Functions {
			if one.Bytes == 0 || len(one.Init) != runs || len(one.First) != runs || slices.Min(one.Init) <= 0 || slices.Min(one.First) <= 0 {
				t.Fatalf("%+v are not the figures of %d starts", one, runs)
			}
			shortest := slices.Min(append(best.Functions[i].Init, one.Init...))
			best.Functions[i] = figures.Function{Name: one.Name, Bytes: one.Bytes, Init: []float64{shortest}}
		}
		if len(best.Missed()) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%q miss a target with their best starts: %+v", best.Missed(), best)
		}
	}
}
