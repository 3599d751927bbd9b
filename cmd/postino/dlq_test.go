package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"postino/shared/operator"
	"postino/shared/pipeline"
	"postino/shared/push"
)

func deadLetters() []operator.DeadLetter {
	note := &pipeline.DeadLetterNote{V: 1, Subscription: subA, Topic: orders, MessageID: message, Attempts: 4, Status: 503,
		Reason: "attempt 4 of 4 failed: retries exhausted", Published: noon.Add(-2 * time.Hour), Refused: "the queue is gone", Redrives: 1}
	hung := *note
	hung.Status, hung.Fault, hung.Detail, hung.Refused, hung.Redrives = 0, "timeout", "no answer within 15s", "", 0
	return []operator.DeadLetter{
		{ID: "l-1", Queue: "dlq", Sent: noon.Add(-time.Hour), Bytes: 11, Body: "hello\x1b[2J\n", Receives: 1, Note: note,
			Attributes: []operator.Attribute{{Name: "colour", Type: "String", Value: "red"}, {Name: "Postino", Type: "String", Value: "{}"}}},
		{ID: "l-2", Queue: "dlq", Sent: noon.Add(-time.Minute), Bytes: 5, Body: "hello", Note: &hung},
		{ID: "l-3", Queue: "dlq", Sent: noon.Add(-time.Second), Bytes: 2, Body: "{}",
			Job: &operator.Job{Kind: push.Notification, Subscription: subA, MessageID: message, Attempt: 3}},
		{ID: "l-4", Queue: "dlq", Sent: noon, Body: "", Attributes: []operator.Attribute{{Name: "Reason", Type: "String", Value: "not a job"}}},
	}
}

func TestQueuesAndTheirLettersReadAsTables(t *testing.T) {
	dir := server(t, map[string]any{
		"GET queues": []operator.QueueInfo{
			{Name: "DeadLetterQueue", Visible: 12, InFlight: 1, OldestSent: noon.Add(-49*time.Hour - 20*time.Minute)}, {Name: "orders-dlq", Delayed: 2},
			{Name: "theirs", Visible: 1, MovesAfter: 3}, {Name: "arn:aws:sqs:us-west-2:111122223333:far", Problem: "it is not in the region eu-west-1"},
		},
		"GET queues/dlq/messages?limit=50":          operator.DeadLetterPage{DeadLetters: deadLetters(), Next: "l-4"},
		"GET queues/dlq/messages?after=l-4&limit=2": operator.DeadLetterPage{},
	})
	got := postino(t, "", nil, "dlq", "list", "--data", dir)
	golden(t, "dlq-queues.golden", got.out+got.err)
	got = postino(t, "", nil, "dlq", "list", "dlq", "--data", dir)
	golden(t, "dlq-list.golden", got.out+got.err)
	if got = postino(t, "", nil, "dlq", "list", "dlq", "--after", "l-4", "--limit", "2", "--data", dir); got != (ran{exitOK, "No messages.\n", ""}) {
		t.Errorf("got %+v", got)
	}
	dir = server(t, map[string]any{"GET queues/dlq/messages?limit=50": operator.DeadLetterPage{DeadLetters: deadLetters()[:1], Left: 900},
		"GET queues/busy/messages?limit=50": operator.DeadLetterPage{Left: 4}})
	if got = postino(t, "", nil, "dlq", "list", "dlq", "--data", dir); !strings.HasSuffix(got.out, "\nAbout 900 more were not looked at: raise --limit (1000 at most).\n") {
		t.Errorf("got %+v", got)
	}
	if got = postino(t, "", nil, "dlq", "list", "busy", "--data", dir); got != (ran{exitOK, "No messages can be seen now: somebody is receiving about 4. Look again in a minute.\n", ""}) {
		t.Errorf("got %+v", got)
	}
	if got = postino(t, "", nil, "dlq", "list", "--data", server(t, map[string]any{"GET queues": []int{}})); got != (ran{exitOK, "No dead-letter queues.\n", ""}) {
		t.Errorf("got %+v", got)
	}
}

func TestShowingALetterExplainsWhereItComesFrom(t *testing.T) {
	answers := map[string]any{}
	for _, d := range deadLetters() {
		answers["GET queues/dlq/messages/"+d.ID] = d
	}
	dir := server(t, answers)
	var all strings.Builder
	for _, d := range deadLetters() {
		got := postino(t, "", nil, "dlq", "show", "dlq", d.ID, "--data", dir)
		all.WriteString(got.out + got.err + "----\n")
	}
	golden(t, "dlq-show.golden", all.String())
	var shown operator.DeadLetter
	got := postino(t, "", nil, "dlq", "show", "dlq", "l-1", "--json", "--data", dir)
	if err := json.Unmarshal([]byte(got.out), &shown); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(deadLetters()[0], shown); d != "" {
		t.Error(d)
	}
}

// redriving answers redrive requests one after another and records them.
func redriving(t *testing.T, asked *[]operator.RedriveRequest, answers ...any) (dir string) {
	return server(t, map[string]any{"POST queues/dlq/redrive": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in operator.RedriveRequest
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		*asked = append(*asked, in)
		if len(*asked) > len(answers) {
			t.Fatalf("asked %d times", len(*asked))
		}
		v := answers[len(*asked)-1]
		if _, failed := v.(map[string]string); failed {
			w.WriteHeader(500)
		}
		_ = json.NewEncoder(w).Encode(v)
	})})
}

func TestRedrivingAllGoesOnUntilTheEnd(t *testing.T) {
	var asked []operator.RedriveRequest
	dir := redriving(t, &asked,
		operator.RedriveResult{Redriven: 200, After: "l-200", Before: noon}, operator.RedriveResult{After: "l-400", Before: noon},
		operator.RedriveResult{Redriven: 1, Before: noon})
	got := postino(t, "", nil, "dlq", "redrive", "dlq", "--all", "--force", "--data", dir)
	if got != (ran{exitOK, "Sent 201 messages again.\n", ""}) {
		t.Errorf("got %+v", got)
	}
	want := []operator.RedriveRequest{
		{All: true, Max: lettersStep, Force: true}, {All: true, Max: lettersStep, Force: true, After: "l-200", Before: noon},
		{All: true, Max: lettersStep, Force: true, After: "l-400", Before: noon},
	}
	if d := cmp.Diff(want, asked); d != "" {
		t.Error(d)
	}
}

func TestRedrivingNamedLettersFailsWhenOneStays(t *testing.T) {
	var asked []operator.RedriveRequest
	dir := redriving(t, &asked, operator.RedriveResult{Redriven: 1, Missing: []string{"b"},
		Kept: []operator.Kept{{ID: "c", Reason: "its subscription no longer exists"}}})
	got := postino(t, "", nil, "dlq", "redrive", "dlq", "a", "b", "c", "--data", dir)
	want := ran{exitFailure, "c stays: its subscription no longer exists.\nb is not there, or is being received by someone else.\nSent 1 message again.\n", ""}
	if got != want {
		t.Errorf("got %+v", got)
	}
	if d := cmp.Diff([]operator.RedriveRequest{{IDs: []string{"a", "b", "c"}, Max: lettersStep}}, asked); d != "" {
		t.Error(d)
	}
}

func TestManyNamedLettersAreSentInSteps(t *testing.T) {
	var asked []operator.RedriveRequest
	dir := redriving(t, &asked, operator.RedriveResult{Redriven: lettersStep}, operator.RedriveResult{Redriven: 1})
	got := postino(t, "", nil, append([]string{"dlq", "redrive", "dlq", "--data", dir}, strings.Fields(strings.Repeat("id ", lettersStep+1))...)...)
	if got != (ran{exitOK, "Sent 201 messages again.\n", ""}) || len(asked) != 2 || len(asked[0].IDs) != lettersStep || len(asked[1].IDs) != 1 {
		t.Errorf("got %+v after %d requests", got, len(asked))
	}
}

func TestARedriveThatStopsWithinAStepSaysWhatWasDoneAndWhy(t *testing.T) {
	stopped := operator.RedriveResult{Redriven: 3, Left: 5, Stopped: "The permission sqs:DeleteMessage is missing"}
	var asked []operator.RedriveRequest
	got := postino(t, "", nil, "dlq", "redrive", "dlq", "--all", "--data", redriving(t, &asked, stopped))
	want := "Sent 3 messages again.\nAbout 5 more were not come to: others are receiving them, or they are too many. Run it again in a minute.\n"
	if got != (ran{exitFailure, want, "postino: The permission sqs:DeleteMessage is missing\n"}) {
		t.Errorf("got %+v", got)
	}
	asked = nil
	got = postino(t, "", nil, "dlq", "redrive", "dlq", "--all", "--json", "--data", redriving(t, &asked, stopped))
	var told operator.RedriveResult
	if err := json.Unmarshal([]byte(got.out), &told); err != nil || told.Redriven != 3 || told.Stopped != stopped.Stopped || got.code != exitFailure {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestARedriveThatBreaksOffSaysWhatWasDone(t *testing.T) {
	var asked []operator.RedriveRequest
	dir := redriving(t, &asked, operator.RedriveResult{Redriven: 200, After: "l-200", Before: noon}, map[string]string{"code": "InternalError", "message": "disk full"})
	got := postino(t, "", nil, "dlq", "redrive", "dlq", "--all", "--data", dir)
	if got != (ran{exitFailure, "Sent 200 messages again.\n", "postino: disk full\n"}) {
		t.Errorf("got %+v", got)
	}
}
