package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"postino/shared/deliverypolicy"
)

func TestExplainingPolicies(t *testing.T) {
	for name, c := range map[string]struct {
		doc  string
		args []string
	}{
		"subscription": {doc: `{"healthyRetryPolicy":{"minDelayTarget":1,"maxDelayTarget":60,"numRetries":15,"numNoDelayRetries":3,"numMinDelayRetries":2,"numMaxDelayRetries":2,"backoffFunction":"exponential"},"throttlePolicy":{"maxReceivesPerSecond":10}}`},
		"topic":        {doc: `{"http":{"defaultHealthyRetryPolicy":{"minDelayTarget":5,"maxDelayTarget":260,"numRetries":4,"backoffFunction":"geometric"},"disableSubscriptionOverrides":true,"defaultRequestPolicy":{"headerContentType":"application/json"}}}`},
		"default":      {doc: `{}`},
		"no-retry":     {doc: `{"healthyRetryPolicy":{"minDelayTarget":1,"maxDelayTarget":1,"numRetries":0}}`},
		"raw":          {doc: `{"requestPolicy":{"headerContentType":"text/csv"}}`, args: []string{"--raw"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"explain", "-"}, c.args...)
			got := postino(t, c.doc, nil, args...)
			golden(t, "explain-"+name+".golden", got.out+got.err)
			file := filepath.Join(t.TempDir(), "policy.json")
			if err := os.WriteFile(file, []byte(c.doc), 0o600); err != nil {
				t.Fatal(err)
			}
			args[1] = file
			if again := postino(t, "", nil, args...); again != got || got.code != exitOK {
				t.Errorf("from a file: %+v", again)
			}
			golden(t, "explain-"+name+".json.golden", postino(t, "", nil, append(args, "--json")...).out)
		})
	}
}

func TestExplainingPredefinedPolicies(t *testing.T) {
	for name := range predefined {
		t.Run(name, func(t *testing.T) {
			got := postino(t, "", nil, "explain", "--predefined", name)
			golden(t, "explain-"+name+".golden", got.out+got.err)
		})
	}
	all := postino(t, "", nil, "explain", "--predefined", "mns-exponential", "--all").out
	if n := strings.Count(all, "post-backoff"); n != 166 {
		t.Errorf("--all printed %d post-backoff attempts, want 166", n)
	}
	var machine explanation
	if err := json.Unmarshal([]byte(postino(t, "", nil, "explain", "--predefined", "aws-managed", "--json").out), &machine); err != nil {
		t.Fatal(err)
	}
	if len(machine.Attempts) != 100016 || machine.Retries != 100015 || machine.Attempts[100015].SinceSeconds != machine.TotalSeconds {
		t.Errorf("got %d attempts, %d retries over %v s", len(machine.Attempts), machine.Retries, machine.TotalSeconds)
	}
}

func TestAPolicyThatBreaksARuleGivesTheAPIsText(t *testing.T) {
	for _, c := range []struct{ doc, says string }{
		{`{"healthyRetryPolicy":{"minDelayTarget":0,"maxDelayTarget":5,"numRetries":1}}`, "postino: Invalid parameter: DeliveryPolicy: healthyRetryPolicy.minDelayTarget must be greater than or equal to 1\n"},
		{`{"http":{"defaultHealthyRetryPolicy":{"minDelayTarget":1,"maxDelayTarget":5,"numRetries":101}}}`, "postino: Invalid parameter: DeliveryPolicy: http.defaultHealthyRetryPolicy.numRetries must be less than or equal to 100\n"},
		{`{"http":{},"throttlePolicy":{"maxReceivesPerSecond":1}}`, "postino: Invalid parameter: DeliveryPolicy: Unexpected JSON member: throttlePolicy\n"},
		{`{`, "postino: Invalid parameter: DeliveryPolicy: failed to parse JSON."},
		{``, "postino: Invalid parameter: DeliveryPolicy: failed to parse JSON."},
		{`{"requestPolicy":{"headerContentType":"text/csv"}}`, "postino: Invalid parameter: DeliveryPolicy: requestPolicy.headerContentType"},
	} {
		got := postino(t, c.doc, nil, "explain", "-")
		if got.code != exitFailure || got.out != "" || !strings.HasPrefix(got.err, c.says) || strings.Count(got.err, "\n") != 1 {
			t.Errorf("%s gave %+v, want %q", c.doc, got, c.says)
		}
	}
}

func TestWhatIsNoPolicyFileIsToldSo(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none.json")
	if got := postino(t, "", nil, "explain", missing); got.code != exitFailure || !strings.Contains(got.err, "the policy cannot be read: open "+missing) {
		t.Errorf("got %+v", got)
	}
	if got := postino(t, strings.Repeat(" ", maxPolicy+1), nil, "explain", "-"); got.code != exitFailure || !strings.Contains(got.err, "that is no delivery policy") {
		t.Errorf("got %+v", got)
	}
}

func TestJoinedStretchesCoverEveryAttemptOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 30)
		s := deliverypolicy.Schedule{Immediate: n.Draw(t, "i"), PreBackoff: n.Draw(t, "pre"), Backoff: n.Draw(t, "b"), PostBackoff: n.Draw(t, "post"),
			Min: time.Second, Max: time.Duration(rapid.IntRange(1, 20).Draw(t, "max")) * time.Second, Curve: deliverypolicy.Exponential}
		single, next := stretches(s, false), 0
		for _, r := range stretches(s, true) {
			for i := r.first; i <= r.last; i++ {
				if one := single[next]; one.first != i || one.phase != r.phase || one.delay != r.delay {
					t.Fatalf("attempt %d is %+v alone and %+v joined", i, one, r)
				}
				next++
			}
			if single[next-1].ends != r.ends {
				t.Fatalf("%+v ends elsewhere than %+v", r, single[next-1])
			}
		}
		if next != s.Retries()+1 || single[next-1].ends != s.Total() {
			t.Fatalf("%d attempts over %s, want %d over %s", next, single[next-1].ends, s.Retries()+1, s.Total())
		}
	})
}
