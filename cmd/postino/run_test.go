package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"postino/shared/operator"
	"postino/shared/push"
)

var update = flag.Bool("update", false, "write the golden files")

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

const (
	orders = "arn:aws:sns:eu-west-1:111122223333:orders"
	subA   = orders + ":aaaa1111-0000-4000-8000-000000000001"
	token  = "s3cret-token"
)

// ran is what came of one command line.
type ran struct {
	code     int
	out, err string
}

// postino runs a command line with the given standard input and environment.
func postino(t *testing.T, in string, env map[string]string, args ...string) ran {
	t.Helper()
	var out, errs bytes.Buffer
	app := &App{In: strings.NewReader(in), Out: &out, Err: &errs, Now: func() time.Time { return noon },
		Getenv: func(name string) string { return env[name] }}
	code := run(t.Context(), app, args)
	return ran{code, sameDir(out.String(), args), sameDir(errs.String(), args)}
}

// sameDir writes the directory of a test's own server as DIR where a hint repeats
// it.
func sameDir(text string, args []string) string {
	if i := slices.Index(args, "--data"); i >= 0 && i+1 < len(args) && args[i+1] != "" && !strings.Contains(text, "`postino serve ") {
		return strings.ReplaceAll(text, " --data "+args[i+1]+"`", " --data DIR`")
	}
	return text
}

func TestACommandThatReadsStandardInputEndsWithTheFirstSignal(t *testing.T) {
	for _, line := range []string{"explain -", "publish orders -"} {
		in, typed := io.Pipe() // at which nobody types
		ctx, cancel := context.WithCancel(t.Context())
		var errs bytes.Buffer
		app := &App{In: in, Out: io.Discard, Err: &errs, Now: time.Now, Getenv: func(string) string { return "" }}
		time.AfterFunc(10*time.Millisecond, cancel)
		if code := run(ctx, app, strings.Fields(line)); code != exitFailure || errs.String() != "postino: interrupted\n" {
			t.Errorf("%s: code %d, %s", line, code, errs.String())
		}
		_ = typed.Close()
	}
}

// golden compares with testdata/name.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s: %s", name, d)
	}
}

// server plays a server: it answers each "METHOD path?query" with its value as
// JSON, anything else as not found. It gives the data directory.
func server(t *testing.T, answers map[string]any) (dir string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, ok := answers[r.Method+" "+strings.TrimPrefix(r.URL.RequestURI(), operator.Prefix)]
		if f, is := v.(http.HandlerFunc); is {
			f(w, r)
			return
		}
		if r.Header.Get("Authorization") != "Bearer "+token {
			t.Errorf("%s came without the token", r.URL)
		}
		if !ok {
			w.WriteHeader(404)
			v = map[string]string{"code": "NotFound", "message": "nothing at " + r.Method + " " + r.URL.RequestURI()}
		}
		if err := json.NewEncoder(w).Encode(v); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	dir = t.TempDir()
	if err := operator.WriteServerFile(dir, operator.ServerFile{URL: s.URL, Token: token, Region: "eu-west-1", Account: "111122223333"}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestMistakesAreToldInOneLineWithTheUsageExitCode(t *testing.T) {
	for _, c := range []struct {
		line, says string
	}{
		{"bogus", "unexpected argument bogus; `postino --help` tells how"},
		{"deliveries", `expected one of "list", "show"; ` + "`postino deliveries --help` tells how"},
		{"deliveries list --state asleep", `"asleep" is no state: use live, attempting, waiting, dead, delivered or dropped; ` + "`postino deliveries list --help` tells how"},
		{"deliveries list --limit many", "expected a valid 64 bit int"},
		{"dlq redrive q", "give either message ids or --all; `postino dlq redrive --help` tells how"},
		{"dlq redrive q id --all", "give either message ids or --all"},
		{"dlq delete q", "give either message ids or --all; `postino dlq delete --help` tells how"},
		{"explain", "give either a policy or --predefined; `postino explain --help` tells how"},
		{"explain p.json --predefined aws-managed", "give either a policy or --predefined"},
		{"explain --predefined gcp", `"gcp" is no predefined policy: use aws-managed, customer-managed, mns-backoff or mns-exponential`},
		{"publish orders", `expected "<message>"`},
		{"send-test x --wait 3", "write it with its unit, as 3s or 1m30s"},
		{"env --url localhost:4575", `--url is "localhost:4575" and must be an http or https URL`},
		{"version --nope", "unknown flag --nope"},
	} {
		got := postino(t, "", nil, strings.Fields(c.line)...)
		if got.code != exitUsage || got.out != "" || !strings.HasPrefix(got.err, "postino: ") ||
			!strings.Contains(got.err, c.says) || strings.Count(got.err, "\n") != 1 {
			t.Errorf("postino %s: %+v, want one line that says %q", c.line, got, c.says)
		}
	}
}

func TestAnEmptyNameIsToldFromAMissingOne(t *testing.T) {
	dir := server(t, nil)
	for _, args := range [][]string{
		{"dlq", "redrive", "q", ""}, {"dlq", "delete", "q", ""}, {"dlq", "show", "", "id"}, {"deliveries", "show", ""}, {"resume", ""}, {"send-test", ""}, {"publish", "", "hello"},
	} {
		got := postino(t, "", nil, append(args, "--data", dir)...)
		if got.code == exitOK || !strings.Contains(got.err, "empty: is a shell variable unset?") {
			t.Errorf("postino %q: %+v", args, got)
		}
	}
}

func TestHelpGoesToStandardOutput(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"-h"}, {"help"}} {
		got := postino(t, "", nil, args...)
		if got.code != exitOK || got.err != "" || !strings.Contains(got.out, "Usage: postino <command>") || !strings.Contains(got.out, "dlq redrive") {
			t.Errorf("postino %v: %+v", args, got)
		}
	}
	if got, want := postino(t, "", nil, "--version"), postino(t, "", nil, "version"); got != want || got.code != exitOK {
		t.Errorf("--version gave %+v, version %+v", got, want)
	}
	if got := postino(t, "", nil, "help", "dlq", "redrive"); got != postino(t, "", nil, "dlq", "redrive", "--help") {
		t.Errorf("got %+v", got)
	}
	if got := postino(t, "", nil, "dlq", "redrive", "--help"); got.code != exitOK || !strings.Contains(got.out, "--force") {
		t.Errorf("got %+v", got)
	}
}

func TestEveryCommandThatNeedsAServerSaysHowToStartOne(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "nothing")
	want := "postino: No Postino server is running on " + dir + ": start one with `postino serve --data " + dir + "`\n"
	for _, line := range []string{
		"deliveries list", "deliveries show m1", "dlq list", "dlq list q", "dlq show q id", "dlq redrive q --all", "dlq delete q --all",
		"publish orders hello", "send-test aaaa", "pause aaaa", "pause", "resume aaaa",
	} {
		got := postino(t, "", nil, append(strings.Fields(line), "--data", dir)...)
		if got != (ran{exitFailure, "", want}) {
			t.Errorf("postino %s: %+v", line, got)
		}
	}
	if got := postino(t, "", map[string]string{"POSTINO_DATA": dir}, "dlq", "list"); got.err != want {
		t.Errorf("with POSTINO_DATA: %+v", got)
	}
}

func TestAPanicIsOneLineAndAHint(t *testing.T) {
	var out, errs bytes.Buffer
	app := &App{Out: &out, Err: &errs} // no clock: printing an age breaks
	dir := server(t, map[string]any{"GET queues": []operator.QueueInfo{{Name: "dlq", OldestSent: noon}}})
	code := run(t.Context(), app, []string{"dlq", "list", "--data", dir})
	if code != exitFailure || strings.Count(errs.String(), "\n") != 1 || strings.Contains(errs.String(), "goroutine") ||
		!strings.Contains(errs.String(), "something broke inside") || !strings.Contains(errs.String(), "please report it") {
		t.Errorf("got code %d and %q", code, errs.String())
	}
}

func TestAServersRefusalIsPassedOnWithoutItsCode(t *testing.T) {
	got := postino(t, "", nil, "pause", "aaaa", "--data", server(t, nil))
	if got != (ran{exitFailure, "", "postino: nothing at POST /_postino/v1/subscriptions/aaaa/pause\n"}) {
		t.Errorf("got %+v", got)
	}
}

func TestErrorsNeverSteerTheTerminal(t *testing.T) {
	refuse := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(400)
		_ = json.NewEncoder(w).Encode(map[string]string{"code": "InvalidParameter", "message": "bad\x1b[2J\nsecond line"})
	})
	got := postino(t, "", nil, "dlq", "list", "--data", server(t, map[string]any{"GET queues": refuse}))
	if got.err != "postino: bad\\u001b[2J second line\n" {
		t.Errorf("got %q", got.err)
	}
}

// attempt makes one of a history.
func attempt(n int, phase string, started, took time.Duration, status int, fault, detail, reason string) push.Attempt {
	class := push.Retryable
	if status == 200 {
		class = push.Success
	}
	return push.Attempt{Number: n, Phase: phase, Started: noon.Add(started), Ended: noon.Add(started + took), Class: class,
		Status: status, Fault: fault, Detail: detail, Reason: reason}
}
