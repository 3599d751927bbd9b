package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAQuickRunMeasuresEveryTargetAndLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "base")
	if err := os.Mkdir(base, 0o700); err != nil {
		t.Fatal(err)
	}
	var out, log strings.Builder
	jsonFile, page := filepath.Join(dir, "r.json"), filepath.Join(dir, "r.md")
	began := time.Now()
	code := dispatch(context.Background(), []string{
		"--quick", "--server", self(t), "--dir", base, "--figures", jsonFile, "--markdown", page,
	}, nil, &out, &log)
	if code != 0 {
		t.Fatalf("exit code %d\n%s\n%s", code, out.String(), log.String())
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("a quick run took %s", took)
	}
	raw, err := os.ReadFile(jsonFile)
	if err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Targets) < 20 {
		t.Errorf("only %d targets were judged", len(r.Targets))
	}
	for _, target := range r.Targets {
		if target.Verdict == notMeasured && strings.HasPrefix(target.Name, "after kill -9: retries") {
			continue // the fake may have none under way at that moment
		}
		if target.Verdict == notMeasured {
			t.Errorf("not measured: %s", target.Name)
		}
		if !strings.Contains(out.String(), "| "+target.Name+" |") {
			t.Errorf("the page does not show %q", target.Name)
		}
	}
	if len(r.Throughput) != 8 || len(r.Latency) != 3 {
		t.Errorf("%d throughput rows and %d latency rows, want 8 and 3", len(r.Throughput), len(r.Latency))
	}
	for _, row := range r.Throughput {
		if a := median(row.AllocsPerDelivery); !(a > 0) {
			t.Errorf("fan-out %d: %v allocations a delivery", row.FanOut, a)
		}
	}
	if written, err := os.ReadFile(page); err != nil || string(written) != out.String() {
		t.Errorf("the Markdown file differs from what was printed (%v)", err)
	}
	if left, err := os.ReadDir(base); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// small is one phase with little in it, for servers that are wrong.
func small(phase string) plan {
	p := quickPlan()
	p.Phases, p.Stall = []string{phase}, time.Second
	return p
}

func broken(t *testing.T, fault, phase string) []string {
	t.Helper()
	t.Setenv(faultVariable, fault)
	var log strings.Builder
	r, err := measure(context.Background(), small(phase), self(t), t.TempDir(), &log)
	if err != nil {
		t.Fatal(err)
	}
	return r.Broken
}

func wantBroken(t *testing.T, got []string, text string) {
	t.Helper()
	if !strings.Contains(strings.Join(got, "\n"), text) {
		t.Errorf("reported broken: %q, want something with %q", got, text)
	}
}

func TestAServerThatForgetsMessagesInACrashIsReported(t *testing.T) {
	wantBroken(t, broken(t, "forgetful", "crash"), "LOST")
}

func TestAServerThatRetriesTooEarlyIsReported(t *testing.T) {
	wantBroken(t, broken(t, "early", "retry"), "before its delay was over")
}

func TestAServerThatRefusesPublishesIsReported(t *testing.T) {
	wantBroken(t, broken(t, "failing", "retry"), "were not accepted")
}

func TestDuplicatesAreCountedAndAreNoFault(t *testing.T) {
	t.Setenv(faultVariable, "duplicating")
	var log strings.Builder
	r, err := measure(context.Background(), small("crash"), self(t), t.TempDir(), &log)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Broken) > 0 {
		t.Errorf("reported broken: %q", r.Broken)
	}
	if len(r.Crashes) != 1 || r.Crashes[0].First.Duplicates == 0 {
		t.Errorf("no duplicates were counted: %+v", r.Crashes)
	}
}

func TestAMissingServerBinaryIsOneClearSentence(t *testing.T) {
	var out, log strings.Builder
	if code := dispatch(context.Background(), []string{"--server", filepath.Join(t.TempDir(), "none")}, nil, &out, &log); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if !strings.Contains(log.String(), "there is no server to measure") || strings.Count(log.String(), "\n") != 1 {
		t.Errorf("said %q", log.String())
	}
}

func TestUnknownPhasesRolesAndFlagsAreRefused(t *testing.T) {
	for _, args := range [][]string{{"--only", "thruput"}, {"listener"}, {"--fast"}} {
		var out, log strings.Builder
		if code := dispatch(context.Background(), args, nil, &out, &log); code != 2 || log.Len() == 0 {
			t.Errorf("%q: exit code %d, said %q", args, code, log.String())
		}
	}
}

func TestAServerThatCannotStartIsBrokenAndItsWordsAreShown(t *testing.T) {
	script := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho the disk is on strike\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	r, err := measure(context.Background(), small("retry"), script, t.TempDir(), &log)
	if err != nil {
		t.Fatal(err)
	}
	wantBroken(t, r.Broken, "the disk is on strike")
}
