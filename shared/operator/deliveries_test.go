package operator

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"postino/shared/push"
)

func record(sub, message, generation string, state push.State, minute int) push.Delivery {
	at := noon.Add(time.Duration(minute) * time.Minute)
	return push.Delivery{
		Key:   push.DeliveryKey{Subscription: sub, MessageID: message, Generation: generation},
		State: state, Attempt: 2, UpdatedAt: at, CreatedAt: noon,
	}
}

func keys(ds []Delivery) (out []string) {
	for _, d := range ds {
		out = append(out, fmt.Sprintf("%s %s %s", d.Subscription[len(orders)+1:][:4], d.MessageID, d.State))
	}
	return out
}

func TestListingAllStatesMergesTheLogLatestFirst(t *testing.T) {
	w := newWorld()
	w.deliveries.records = []push.Delivery{
		record(subA, "m4", "", push.Finished, 9), record(subB, "m3", "", push.Dead, 7), record(subA, "m1", "", push.Delivered, 1),
	}
	w.DeliveryLog = fakeLog{record(subB, "m3", "", push.Dead, 7), record(subA, "m2", "", push.Delivered, 5), record(subA, "m1", "", push.Delivered, 1)}
	got, err := w.ListDeliveries(t.Context(), ListRequest{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"aaaa m4 waiting", "aaaa m3 dead", "aaaa m2 delivered", "aaaa m1 delivered"}
	if d := cmp.Diff(want, keys(got.Deliveries)); d != "" {
		t.Error(d)
	}
	if got.More {
		t.Error("says that there are more")
	}
	if log := got.Deliveries[2]; !log.LogOnly || got.Deliveries[3].LogOnly {
		t.Error("only m2 is known from the log alone")
	}
}

func TestListingByState(t *testing.T) {
	w := newWorld()
	w.deliveries.records = []push.Delivery{
		record(subA, "claimed", "", push.Claimed, 5), record(subA, "finished", "", push.Finished, 4),
		record(subA, "dead", "", push.Dead, 3), record(subA, "delivered", "", push.Delivered, 2), record(subA, "dropped", "", push.Dropped, 1),
	}
	w.DeliveryLog = fakeLog{record(subB, "first time", "", push.Delivered, 6)}
	for state, want := range map[string][]string{
		"live": {"claimed", "finished"}, "waiting": {"finished"}, "dead": {"dead"}, "dropped": {"dropped"},
		"delivered": {"first time", "delivered"},
	} {
		got, err := w.ListDeliveries(t.Context(), ListRequest{State: state})
		if err != nil {
			t.Fatal(err)
		}
		var messages []string
		for _, d := range got.Deliveries {
			messages = append(messages, d.MessageID)
		}
		if d := cmp.Diff(want, messages); d != "" {
			t.Errorf("%s: %s", state, d)
		}
	}
}

func TestListingSaysThatTheLimitCutIt(t *testing.T) {
	w := newWorld()
	for i := range 5 {
		w.deliveries.records = append(w.deliveries.records, record(subA, fmt.Sprint("m", i), "", push.Finished, 9-i))
	}
	for limit, more := range map[int]bool{3: true, 4: true, 5: false, 6: false} {
		got, err := w.ListDeliveries(t.Context(), ListRequest{Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Deliveries) != min(limit, 5) || got.More != more || got.Deliveries[0].MessageID != "m0" {
			t.Errorf("limit %d gave %d deliveries and more=%v", limit, len(got.Deliveries), got.More)
		}
	}
}

func TestADeadDeliveryNamesItsQueueAsCommandsDo(t *testing.T) {
	w := newWorld()
	w.Aliases = map[string]string{"DeadLetterQueue": queueARN("s-DeadLetterQueue-1")}
	for target, want := range map[string]string{queueARN("s-DeadLetterQueue-1"): "DeadLetterQueue", "s-DeadLetterQueue-1": "DeadLetterQueue", queueARN("own"): "own", "": ""} {
		d := record(subA, "m1", "", push.Dead, 1)
		d.Target = target
		w.deliveries.records = []push.Delivery{d}
		if got, err := w.ShowDelivery(t.Context(), "m1", time.Time{}); err != nil || got[0].Queue != want || got[0].Target != target {
			t.Errorf("%q: %+v, %v", target, got, err)
		}
	}
}

func TestAMessageIsFoundByTheBeginningOfItsIDAmongTheLatest(t *testing.T) {
	const old, recent = "aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002"
	w := newWorld()
	w.deliveries.records = []push.Delivery{record(subB, recent, "", push.Finished, 0)}
	for range MaxList {
		w.deliveries.records = append(w.deliveries.records, record(subA, "cccccccc-0000-4000-8000-000000000003", "", push.Finished, -1))
	}
	w.deliveries.records = append(w.deliveries.records, record(subB, old, "", push.Finished, -2))
	for _, what := range []string{recent[:8], old, "aaaa2222/" + recent[:13], "aaaa2222/" + old[:8]} {
		if got, err := w.ShowDelivery(t.Context(), what, time.Time{}); err != nil || len(got) != 1 {
			t.Errorf("%s: %d deliveries, %v", what, len(got), err)
		}
	}
	_, err := w.ShowDelivery(t.Context(), old[:8], time.Time{})
	refusal(t, err, push.CodeNotFound, `None of the latest 1000 deliveries is of a message whose id begins with "aaaaaaaa": give the whole id`)
	_, err = w.ShowDelivery(t.Context(), recent[:7], time.Time{})
	refusal(t, err, push.CodeNotFound, "Nothing is recorded")
}

func TestListingTakesAnIDsBeginningAndATopicsName(t *testing.T) {
	w := newWorld()
	w.deliveries.records = []push.Delivery{
		record(subA, "m1", "", push.Finished, 2), record(subB, "m1", "", push.Finished, 1),
		record("arn:aws:sns:eu-west-1:111122223333:other:aaaa2222-0000-4000-8000-000000000002", "m2", "", push.Finished, 0),
	}
	for name, c := range map[string]struct {
		r    ListRequest
		want int
	}{
		"id":           {ListRequest{Subscription: "aaaa1"}, 1},
		"arn":          {ListRequest{Subscription: subB}, 1},
		"topic's name": {ListRequest{Topic: "orders"}, 2},
		"topic's arn":  {ListRequest{Topic: orders}, 2},
		"neither":      {ListRequest{}, 3},
	} {
		got, err := w.ListDeliveries(t.Context(), c.r)
		if err != nil || len(got.Deliveries) != c.want {
			t.Errorf("%s: got %d deliveries and error %v, want %d", name, len(got.Deliveries), err, c.want)
		}
	}
}

func TestListingRefusesWhatItCannotUnderstand(t *testing.T) {
	w := newWorld()
	for _, c := range []struct {
		r    ListRequest
		code push.Code
		says string
	}{
		{ListRequest{State: "asleep"}, push.CodeInvalidParameter, `"asleep" is no state`},
		{ListRequest{Limit: 1001}, push.CodeInvalidParameter, "must be 1 to 1000"},
		{ListRequest{Limit: -1}, push.CodeInvalidParameter, "must be 1 to 1000"},
		{ListRequest{Subscription: "aaaa"}, push.CodeInvalidParameter, "More than one subscription"},
		{ListRequest{Subscription: "ffff"}, push.CodeNotFound, "no subscription"},
		{ListRequest{Subscription: "cccc"}, push.CodeNotFound, "no subscription"},
		{ListRequest{Subscription: "a/b"}, push.CodeInvalidParameter, "give its ARN"},
		{ListRequest{Subscription: orders}, push.CodeInvalidParameter, "give its ARN"},
	} {
		_, err := w.ListDeliveries(t.Context(), c.r)
		refusal(t, err, c.code, c.says)
	}
	w.deliveries.err = errors.New("disk gone")
	if _, err := w.ListDeliveries(t.Context(), ListRequest{}); !errors.Is(err, w.deliveries.err) {
		t.Errorf("got %v, want the store's own error", err)
	}
}

func TestShowingAMessageGivesAllItsDeliveries(t *testing.T) {
	w := newWorld()
	w.deliveries.records = []push.Delivery{
		record(subB, "m1", "", push.Finished, 9), record(subA, "m1", "", push.Dead, 8), record(subA, "m1", "beef", push.Finished, 7),
		record(subA, "m2", "", push.Finished, 6),
	}
	w.DeliveryLog = fakeLog{record(subC, "m1", "", push.Delivered, 1)}
	for what, want := range map[string][]string{
		"m1":                    {subA + "/m1", subA + "/m1/beef", subB + "/m1", subC + "/m1"},
		subA + "/m1":            {subA + "/m1", subA + "/m1/beef"},
		"aaaa1/m1/beef":         {subA + "/m1/beef"},
		"aaaa/m1":               {subA + "/m1", subA + "/m1/beef", subB + "/m1"},
		"cccc3333/m1":           {subC + "/m1"},
		subA + "/m1" + "/beef":  {subA + "/m1/beef"},
		"aaaa1111-0000-4000/m2": {subA + "/m2"},
	} {
		got, err := w.ShowDelivery(t.Context(), what, time.Time{})
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		var keys []string
		for _, d := range got {
			keys = append(keys, d.Key)
		}
		if d := cmp.Diff(want, keys); d != "" {
			t.Errorf("%s: %s", what, d)
		}
	}
	for _, what := range []string{"m9", "aaaa2/m2", "aaaa1/m1/feed"} {
		_, err := w.ShowDelivery(t.Context(), what, time.Time{})
		refusal(t, err, push.CodeNotFound, "Nothing is recorded")
	}
	for _, what := range []string{"", "/", "a/b/c/d", "a//b", "a/"} {
		_, err := w.ShowDelivery(t.Context(), what, time.Time{})
		refusal(t, err, push.CodeInvalidParameter, "is no delivery")
	}
}

// What a list leaves out must not be believed not to have happened.
func TestAListSaysWhichSuccessesItCannotHave(t *testing.T) {
	for name, c := range map[string]struct {
		log  Log
		some bool
		want LogKeeps
		says string
	}{
		"a whole log": {fakeLog{}, false, "", ""},
		"a share":     {fakeLog{}, true, LogShare, "SuccessSampleRate of the stack"},
		"no log":      {nil, false, LogNothing, "which no log here tells"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.DeliveryLog, w.LogsSome = c.log, c.some
			for state := range statesByWord {
				want := c.want
				if state != "" && state != "delivered" {
					want = ""
				}
				got, err := w.ListDeliveries(t.Context(), ListRequest{State: state})
				if err != nil || got.LogKeeps != want {
					t.Errorf("%q: got %q, %v, want %q", state, got.LogKeeps, err, want)
				}
			}
			_, err := w.ShowDelivery(t.Context(), "m9", time.Time{})
			refusal(t, err, push.CodeNotFound, c.says)
		})
	}
}
