package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"postino/shared/operator"
	"postino/shared/push"
)

func TestPublishingPrintsTheMessageID(t *testing.T) {
	var in operator.PublishInput
	dir := server(t, map[string]any{"POST topics/orders/messages": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		_ = json.NewEncoder(w).Encode(operator.Published{MessageID: "m-1"})
	})})
	got := postino(t, "line one\nline two\n", nil, "publish", "orders", "-", "--subject", "hi", "--data", dir,
		"--attr", "colour=red,green=1", "--attr", "n:Number=5")
	if got != (ran{exitOK, "m-1\n", ""}) {
		t.Fatalf("got %+v", got)
	}
	if len(in.Invocation) != 36 {
		t.Errorf("the invocation is %q", in.Invocation)
	}
	want := operator.PublishInput{Message: "line one\nline two\n", Subject: "hi", Invocation: in.Invocation, Attributes: []operator.Attribute{
		{Name: "colour", Type: "String", Value: "red,green=1"}, {Name: "n", Type: "Number", Value: "5"}}}
	if d := cmp.Diff(want, in); d != "" {
		t.Error(d)
	}
}

func TestWhatCannotBePublishedIsRefusedBeforeItIsSent(t *testing.T) {
	dir := server(t, nil)
	if got := postino(t, "", nil, "publish", "t", "m", "--attr", "novalue", "--data", dir); got.code != exitFailure || !strings.Contains(got.err, `"novalue" is no attribute`) {
		t.Errorf("got %+v", got)
	}
	if got := postino(t, strings.Repeat("x", push.MaxPublication+1), nil, "publish", "t", "-", "--data", dir); got.code != exitFailure || !strings.Contains(got.err, "larger than 262144 bytes") {
		t.Errorf("got %+v", got)
	}
}

func TestPauseAndResumeSayWhatTheyDid(t *testing.T) {
	paused := operator.Subscription{ARN: subA, Endpoint: "https://a.example/hook", Paused: true, Changed: true}
	again := paused
	again.Changed = false
	for _, c := range []struct {
		verb   string
		answer operator.Subscription
		says   string
	}{
		{"pause", paused, "Paused: deliveries to https://a.example/hook wait and burn no attempt until `postino resume " + subA + " --data DIR`.\n"},
		{"pause", again, subA + " was paused already.\n"},
		{"resume", paused, "Resumed: what waited for https://a.example/hook goes on within a minute.\n"},
		{"resume", again, subA + " was not paused.\n"},
	} {
		dir := server(t, map[string]any{"POST subscriptions/aaaa/" + c.verb: c.answer})
		if got := postino(t, "", nil, c.verb, "aaaa", "--data", dir); got != (ran{exitOK, c.says, ""}) {
			t.Errorf("%s: %+v", c.verb, got)
		}
	}
}

// answeringThirdTime plays send-test, and knows the delivery only when asked for
// the third time.
func answeringThirdTime(t *testing.T, sent operator.TestMessage, d operator.Delivery) (dir string, asked *atomic.Int32) {
	asked = new(atomic.Int32)
	return server(t, map[string]any{
		"POST subscriptions/aaaa/send-test": sent,
		"GET deliveries/" + url.PathEscape(subA+"/"+message) + "?since=2026-05-04T11%3A55%3A00Z": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if asked.Add(1) < 3 {
				w.WriteHeader(404)
				_ = json.NewEncoder(w).Encode(map[string]string{"code": "NotFound", "message": "not yet"})
				return
			}
			_ = json.NewEncoder(w).Encode([]operator.Delivery{d})
		}),
	}), asked
}

func TestATestIsWaitedForAndItsFailureFails(t *testing.T) {
	sent := operator.TestMessage{MessageID: message, Subscription: subA, Endpoint: "https://a.example/hook"}
	for i, want := range map[int]int{0: exitFailure, 3: exitOK} { // waiting for a retry, delivered at once
		dir, asked := answeringThirdTime(t, sent, deliveries()[i])
		got := postino(t, "", nil, "send-test", "aaaa", "--data", dir)
		if got.code != want || got.err != "" || asked.Load() != 3 ||
			!strings.HasPrefix(got.out, "Sent test message "+message+" to https://a.example/hook.\n\nmessage ") {
			t.Errorf("%d: %+v after %d questions", i, got, asked.Load())
		}
	}
	dir, asked := answeringThirdTime(t, sent, operator.Delivery{State: push.Delivered})
	if got := postino(t, "", nil, "send-test", "aaaa", "--wait", "0", "--data", dir); got.code != exitOK || asked.Load() != 0 {
		t.Errorf("without waiting: %+v after %d questions", got, asked.Load())
	}
	if got := postino(t, "", nil, "send-test", "aaaa", "--wait", "1ms", "--data", dir); got.code != exitFailure ||
		!strings.Contains(got.err, "no attempt has ended within 1ms: `postino deliveries show "+message+" --data DIR` tells later") {
		t.Errorf("out of patience: %+v", got)
	}
	slow := server(t, map[string]any{
		"POST subscriptions/aaaa/send-test": sent,
		"GET deliveries/" + url.PathEscape(subA+"/"+message) + "?since=2026-05-04T11%3A55%3A00Z": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-time.After(100 * time.Millisecond):
				_ = json.NewEncoder(w).Encode(deliveries()[3:4])
			}
		}),
	})
	if got := postino(t, "", nil, "send-test", "aaaa", "--wait", "1ms", "--data", slow); got.code != exitOK || got.err != "" {
		t.Errorf("a question under way when the wait is over: %+v", got)
	}
	sent.Paused = true
	dir, asked = answeringThirdTime(t, sent, operator.Delivery{})
	if got := postino(t, "", nil, "send-test", "aaaa", "--data", dir); got.code != exitOK || asked.Load() != 0 || !strings.Contains(got.out, "The subscription is paused") {
		t.Errorf("paused: %+v", got)
	}
}
