package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"postino/shared/operator"
	"postino/shared/push"
)

// telling is a server that tells of a test message's delivery in these states, the
// last for ever.
func telling(t *testing.T, states ...operator.Delivery) (dir string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = []operator.Delivery{states[0]}
		if r.Method == http.MethodPost {
			answer = operator.TestMessage{MessageID: "m", Subscription: states[0].Subscription}
		} else if len(states) > 1 {
			states = states[1:]
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	dir = t.TempDir()
	if err := operator.WriteServerFile(dir, operator.ServerFile{URL: s.URL, Token: token}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestSendTestTellsTheOutcomeAndNotWhatIsOnItsWay(t *testing.T) {
	const sub = "arn:aws:sns:us-east-1:000000000000:t:11111111-0000-4000-8000-000000000001"
	between := operator.Delivery{MessageID: "m", Subscription: sub, State: operator.Waiting, Attempts: 1, Reason: "410 Gone is permanent: no retry"}
	dead, again := between, between
	dead.State = push.Dead
	again.NextAt, again.NextPhase = noon.Add(time.Second), "backoff"
	for name, c := range map[string]struct {
		states []operator.Delivery
		wait   string
		says   string
	}{
		"dead in a moment": {[]operator.Delivery{between, between, dead}, "20s", "state         dead"},
		"another attempt":  {[]operator.Delivery{again}, "20s", "next          attempt 2 (backoff) is due"},
		"still on its way": {[]operator.Delivery{between}, "300ms", "next          it is on its way to a dead-letter queue"},
	} {
		got := postino(t, "", nil, "send-test", sub, "--wait", c.wait, "--data", telling(t, c.states...))
		if got.code != exitFailure || !strings.Contains(got.out, c.says) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
