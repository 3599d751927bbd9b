package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"postino/shared/operator"
	"postino/shared/push"
)

const message = "11111111-2222-4333-8444-555555555555"

func deliveries() []operator.Delivery {
	base := operator.Delivery{Subscription: subA, TopicARN: orders, MessageID: message, Key: subA + "/" + message, History: []push.Attempt{}}
	waiting, under, dead, once, parting, old := base, base, base, base, base, base
	waiting.State, waiting.Attempts, waiting.UpdatedAt = operator.Waiting, 2, noon.Add(-2*time.Second)
	waiting.NextAt, waiting.NextPhase, waiting.Reason = noon.Add(38*time.Second), "backoff", "timeout is retryable: attempt 3 of 4 (backoff) in 40s"
	waiting.History = []push.Attempt{
		attempt(1, "initial", -time.Minute, 12*time.Millisecond, 503, "", "", "503 Service Unavailable is retryable: attempt 2 of 4 (pre-backoff) in 20s"),
		attempt(2, "pre-backoff", -39*time.Second, 15*time.Second, 0, "timeout", "no answer within 15s", waiting.Reason),
	}
	under.State, under.Attempts, under.LeaseEnd, under.UpdatedAt = operator.Attempting, 3, noon.Add(28500*time.Millisecond), noon.Add(-time.Minute)
	dead.State, dead.Attempts, dead.Target, dead.UpdatedAt = push.Dead, 1, "arn:aws:sqs:eu-west-1:111122223333:orders-dlq", noon.Add(-time.Hour)
	dead.Queue = "orders-dlq"
	dead.Reason, dead.Generation = "410 Gone is permanent: no retry", "beef"
	dead.History = []push.Attempt{attempt(1, "initial", -time.Hour, 90*time.Second, 410, "", "410 Gone", dead.Reason)}
	once.State, once.Attempts, once.LogOnly, once.UpdatedAt = push.Delivered, 1, true, noon.Add(-25*time.Hour)
	parting.Kind = push.UnsubscribeConfirmation
	parting.State, parting.Attempts, parting.UpdatedAt = operator.Waiting, 1, noon.Add(-26*time.Hour)
	old.State, old.Attempts, old.UpdatedAt = push.Dropped, 40, noon.Add(-27*time.Hour)
	old.Reason = "the endpoint was unsubscribed"
	old.History = []push.Attempt{attempt(40, "backoff", -27*time.Hour, time.Second, 200, "", "", "")}
	return []operator.Delivery{waiting, under, dead, once, parting, old}
}

func TestTheListOfDeliveriesReadsAsATable(t *testing.T) {
	dir := server(t, map[string]any{
		"GET deliveries?limit=50":                                     operator.DeliveryList{Deliveries: deliveries(), More: true},
		"GET deliveries?limit=7&state=dead&subscription=aaaa&topic=o": operator.DeliveryList{},
	})
	got := postino(t, "", nil, "deliveries", "list", "--data", dir)
	if got.code != exitOK || got.err != "" {
		t.Errorf("got %+v", got)
	}
	golden(t, "deliveries-list.golden", got.out)
	none := postino(t, "", nil, "deliveries", "list", "--data", dir, "--state", "dead", "--subscription", "aaaa", "--topic", "o", "--limit", "7")
	if none != (ran{exitOK, "No deliveries.\n", ""}) {
		t.Errorf("got %+v", none)
	}
}

func TestShowingDeliveriesPrintsTheirTimelines(t *testing.T) {
	dir := server(t, map[string]any{"GET deliveries/" + message: deliveries()})
	got := postino(t, "", nil, "deliveries", "show", message, "--data", dir)
	if got.code != exitOK || got.err != "" {
		t.Errorf("got %+v", got)
	}
	golden(t, "deliveries-show.golden", got.out)
}

func TestJSONAnswersAreTheServersOwn(t *testing.T) {
	want := operator.DeliveryList{Deliveries: deliveries()}
	dir := server(t, map[string]any{"GET deliveries?limit=50": want, "GET deliveries/" + message: want.Deliveries})
	var list operator.DeliveryList
	got := postino(t, "", nil, "deliveries", "list", "--json", "--data", dir)
	if err := json.Unmarshal([]byte(got.out), &list); err != nil {
		t.Fatalf("%v in %+v", err, got)
	}
	if d := cmp.Diff(want, list); d != "" {
		t.Error(d)
	}
	var shown []operator.Delivery
	got = postino(t, "", nil, "deliveries", "show", message, "--json", "--data", dir)
	if err := json.Unmarshal([]byte(got.out), &shown); err != nil {
		t.Fatalf("%v in %+v", err, got)
	}
	if d := cmp.Diff(want.Deliveries, shown); d != "" {
		t.Error(d)
	}
}

func TestAListSaysWhatItLeavesOutWithAndWithoutRows(t *testing.T) {
	for _, rows := range [][]operator.Delivery{nil, deliveries()} {
		for keeps, says := range map[operator.LogKeeps]string{
			operator.LogShare:   "\nOf what succeeded at once only the share that is logged is listed: none unless the stack's parameter SuccessSampleRate ",
			operator.LogNothing: "\nNothing that succeeded at once is listed: ",
		} {
			dir := server(t, map[string]any{"GET deliveries?limit=50": operator.DeliveryList{Deliveries: rows, LogKeeps: keeps}})
			if got := postino(t, "", nil, "deliveries", "list", "--data", dir); got.code != exitOK || !strings.Contains(got.out, says) {
				t.Errorf("%d rows, %s: %+v", len(rows), keeps, got)
			}
		}
	}
}

func TestAListTellsTheDeliveriesOfOneMessageApart(t *testing.T) {
	first, second, third, test := deliveries()[2], deliveries()[2], deliveries()[3], deliveries()[3]
	first.Generation, first.UpdatedAt = "", noon.Add(-3*time.Hour)
	third.Generation, third.UpdatedAt = "cafe", noon
	test.Generation, test.MessageID = operator.TestGeneration, "22222222-2222-4333-8444-555555555555"
	dir := server(t, map[string]any{"GET deliveries?limit=50": operator.DeliveryList{Deliveries: []operator.Delivery{third, second, first, test}}})
	got := postino(t, "", nil, "deliveries", "list", "--data", dir)
	golden(t, "deliveries-again.golden", got.out+got.err)
}

func TestOnlyATerminalGetsColours(t *testing.T) {
	for _, colour := range []bool{true, false} {
		var out strings.Builder
		app := &App{Out: &out, Now: func() time.Time { return noon }, Colour: colour}
		app.deliveries(operator.DeliveryList{Deliveries: deliveries()})
		if strings.Contains(out.String(), "\x1b[") != colour {
			t.Errorf("colour %v gave %q", colour, out.String())
		}
	}
}

func TestWhatIsHeldBackLateOrSentAgainIsShownSo(t *testing.T) {
	all := deliveries()
	paused, late, dead, again := all[0], all[0], all[2], all[3]
	paused.Paused = true
	late.NextAt = noon.Add(-3 * time.Second)
	dead.Generation, again.Generation, again.UpdatedAt = "", "beef", noon
	dir := server(t, map[string]any{
		"GET deliveries?limit=50": operator.DeliveryList{Deliveries: []operator.Delivery{paused, late}},
		"GET deliveries/paused":   []operator.Delivery{paused}, "GET deliveries/late": []operator.Delivery{late},
		"GET deliveries/again": []operator.Delivery{dead, again}, "GET deliveries/dead": []operator.Delivery{again, dead, all[2]},
		"GET subscriptions": []operator.Subscription{{ARN: subA, Endpoint: "https://a.example/hook", Paused: true}},
	})
	for line, says := range map[string]string{
		"deliveries list":        "paused before attempt 3",
		"deliveries list ":       "attempt 3 overdue by 3s",
		"deliveries show paused": "attempt 3 (backoff), once `postino resume " + subA + " --data DIR` lets it go on",
		"deliveries show late":   "is due 2026-05-04T11:59:57.000Z (overdue by 3s)",
		"deliveries show again":  "dead letter   went to orders-dlq and was sent again from there: see below",
		"deliveries show dead":   "dead letter   went to orders-dlq: `postino dlq list orders-dlq --data DIR`",
		"pause":                  subA + "  https://a.example/hook\n",
	} {
		got := postino(t, "", nil, append(strings.Fields(line), "--data", dir)...)
		if got.code != exitOK || !strings.Contains(got.out, says) {
			t.Errorf("postino %s: %+v, want %q", line, got, says)
		}
	}
	none := server(t, map[string]any{"GET subscriptions": []operator.Subscription{}})
	if got := postino(t, "", nil, "pause", "--data", none); got != (ran{exitOK, "No subscription is paused.\n", ""}) {
		t.Errorf("got %+v", got)
	}
}

func TestHintsCarryTheDataDirectoryWhereItIsNotFoundByItself(t *testing.T) {
	for dir, want := range map[string]string{
		"./data": "", "data": "", "./mydata": " --data ./mydata", "/var/lib/postino": " --data /var/lib/postino", "my data": " --data 'my data'",
	} {
		if got := (DataDir{Data: dir}).flag(); got != want {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
	if got := (&App{Name: "/opt/my tools/postino"}).command(); got != "'/opt/my tools/postino'" {
		t.Errorf("got %s", got)
	}
}
