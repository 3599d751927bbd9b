package operator

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"postino/shared/push"
)

func TestSubscriptionsAreTakenTheWayTablesShowThem(t *testing.T) {
	w := newWorld()
	w.deliveries.records = []push.Delivery{record(subA, "m1", "", push.Finished, 2), record(subB, "m1", "", push.Finished, 1)}
	if got, err := w.Pause(t.Context(), "orders:aaaa1111"); err != nil || got.ARN != subA {
		t.Errorf("Pause gave %+v and error %v", got, err)
	}
	if got, err := w.ListDeliveries(t.Context(), ListRequest{Subscription: "orders:aaaa2"}); err != nil || len(got.Deliveries) != 1 || got.Deliveries[0].Subscription != subB {
		t.Errorf("ListDeliveries gave %+v and error %v", got, err)
	}
	if got, err := w.ShowDelivery(t.Context(), "orders:aaaa1111/m1", time.Time{}); err != nil || len(got) != 1 || got[0].Subscription != subA {
		t.Errorf("ShowDelivery gave %+v and error %v", got, err)
	}
	_, err := w.Pause(t.Context(), "rders:aaaa1111")
	refusal(t, err, push.CodeNotFound, "There is no subscription")
	_, err = w.ShowDelivery(t.Context(), "other:aaaa1111/m1", time.Time{})
	refusal(t, err, push.CodeNotFound, "Nothing is recorded")
	for _, which := range []string{":aaaa", "a:b:c"} {
		_, err = w.Pause(t.Context(), which)
		refusal(t, err, push.CodeInvalidParameter, "is no subscription")
	}
}

func TestDeliveriesAreInTheStatesPeopleSee(t *testing.T) {
	w := newWorld()
	w.deliveries.records = []push.Delivery{record(subA, "m1", "", push.Claimed, 3), record(subA, "m2", "", push.Finished, 2)}
	for _, c := range []struct {
		word string
		want push.State
	}{{"attempting", Attempting}, {"waiting", Waiting}} {
		got, err := w.ListDeliveries(t.Context(), ListRequest{State: c.word})
		if err != nil || len(got.Deliveries) != 1 || got.Deliveries[0].State != c.want || string(c.want) != c.word {
			t.Errorf("%s: got %+v and error %v", c.word, got, err)
		}
	}
}

func TestPausedSubscriptionsAndTheirDeliveriesAreShown(t *testing.T) {
	w := newWorld()
	w.deliveries.records = []push.Delivery{
		record(subA, "m1", "", push.Finished, 3), record(subA, "m2", "", push.Claimed, 2), record(subA, "m3", "", push.Dead, 1), record(subB, "m1", "", push.Finished, 0),
	}
	c := serve(t, w)
	if got, err := c.ListPaused(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("got %+v and error %v", got, err)
	}
	w.directory.subs[0].Paused, w.directory.subs[2].Paused = true, true // the last one is deleted
	got, err := c.ListPaused(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]Subscription{{ARN: subA, Endpoint: "https://a.example/hook", Paused: true}}, got); d != "" {
		t.Error(d)
	}
	list, err := c.ListDeliveries(t.Context(), ListRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false, false, false} {
		if d := list.Deliveries[i]; d.Paused != want {
			t.Errorf("%s of %s: paused is %v", d.MessageID, d.Subscription, d.Paused)
		}
	}
	if shown, err := c.ShowDelivery(t.Context(), "aaaa1/m1", time.Time{}); err != nil || !shown[0].Paused {
		t.Errorf("got %+v and error %v", shown, err)
	}
}

func TestEightCharactersOfAMessageIDAreEnough(t *testing.T) {
	w := newWorld()
	w.deliveries.records = []push.Delivery{
		record(subA, "11112222-a", "", push.Finished, 3), record(subA, "33334444-a", "", push.Finished, 2), record(subB, "33334444-b", "", push.Finished, 1),
	}
	if got, err := w.ShowDelivery(t.Context(), "11112222", time.Time{}); err != nil || len(got) != 1 || got[0].MessageID != "11112222-a" {
		t.Errorf("got %+v and error %v", got, err)
	}
	_, err := w.ShowDelivery(t.Context(), "1111222", time.Time{})
	refusal(t, err, push.CodeNotFound, "Nothing is recorded")
	_, err = w.ShowDelivery(t.Context(), "33334444", time.Time{})
	refusal(t, err, push.CodeInvalidParameter, "More than one message")
}

func TestAListOfATopicThatNeverWasIsRefused(t *testing.T) {
	w := newWorld()
	_, err := w.ListDeliveries(t.Context(), ListRequest{Topic: "nosuch"})
	refusal(t, err, push.CodeNotFound, `There is no topic "nosuch"`)
	if got, err := w.ListDeliveries(t.Context(), ListRequest{Topic: "orders"}); err != nil || len(got.Deliveries) != 0 {
		t.Errorf("got %+v and error %v", got, err)
	}
	// What was delivered while a topic lived can still be looked at.
	w.deliveries.records = []push.Delivery{record("arn:aws:sns:eu-west-1:111122223333:gone:x", "m1", "", push.Delivered, 1)}
	if got, err := w.ListDeliveries(t.Context(), ListRequest{Topic: "gone"}); err != nil || len(got.Deliveries) != 1 {
		t.Errorf("got %+v and error %v", got, err)
	}
}

func TestAServerThatBreaksOffMayHaveDoneWhatWasAsked(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer s.Close()
	c := &Client{Server: ServerFile{URL: s.URL, Token: token}, HTTP: &http.Client{Timeout: time.Minute}}
	_, err := c.ListQueues(t.Context())
	if err == nil || !strings.Contains(err.Error(), "may have been carried out") {
		t.Errorf("got %v", err)
	}
	if _, err = c.Publish(t.Context(), "", PublishInput{Message: "m"}); err == nil || !strings.Contains(err.Error(), "is empty") {
		t.Errorf("got %v", err)
	}
}
