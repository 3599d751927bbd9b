package sqlitestore

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"postino/shared/operator"
	"postino/shared/push"
)

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func subscriptionARN(topic string, n int) string {
	return fmt.Sprintf("arn:aws:sns:us-east-1:000000000000:%s:00000000-0000-4000-8000-%012d", topic, n)
}

// record makes number n, changed n seconds after the epoch.
func record(topic string, n int, state push.State) push.Delivery {
	return push.Delivery{
		Key:     push.DeliveryKey{Subscription: subscriptionARN(topic, n%3), MessageID: fmt.Sprint("message-", n/3)},
		Attempt: 1, State: state, Reason: fmt.Sprint(n), CreatedAt: epoch,
		UpdatedAt: epoch.Add(time.Duration(n) * time.Second), Expires: epoch.Add(time.Hour),
	}
}

func (f *fixture) create(t *testing.T, d push.Delivery) {
	t.Helper()
	if _, ok, err := f.Create(t.Context(), d); err != nil || !ok {
		t.Fatalf("not created: %v, %v", ok, err)
	}
}

// list gives the reasons of what a filter matches, following the pages.
func (f *fixture) list(t *testing.T, filter operator.Filter) (reasons []string) {
	t.Helper()
	for {
		page, next, err := f.ListDeliveries(t.Context(), filter)
		if err != nil {
			t.Fatal(err)
		}
		if filter.Limit > 0 && len(page) > filter.Limit {
			t.Fatalf("page of %d, asked for %d", len(page), filter.Limit)
		}
		for _, d := range page {
			reasons = append(reasons, d.Reason)
		}
		if filter.After = next; next == "" {
			return reasons
		}
	}
}

func TestListingsMatchTheirFilterLatestChangeFirst(t *testing.T) {
	f := fresh(t)
	all := []push.State{push.Claimed, push.Finished, push.Delivered, push.Dead, push.Dropped}
	var want []push.Delivery
	for n := range 60 {
		topic := []string{"orders", "orders-eu"}[n%2]
		d := record(topic, n, all[n%5])
		if n%4 == 0 {
			d.UpdatedAt = epoch.Add(time.Hour) // many in one millisecond
		}
		f.create(t, d)
		want = append(want, d)
	}
	slices.Reverse(want)
	slices.SortStableFunc(want, func(a, b push.Delivery) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	for name, c := range map[string]struct {
		filter  operator.Filter
		matches func(push.Delivery) bool
	}{
		"everything":    {operator.Filter{}, func(push.Delivery) bool { return true }},
		"one state":     {operator.Filter{States: []push.State{push.Dead}}, func(d push.Delivery) bool { return d.State == push.Dead }},
		"a state twice": {operator.Filter{States: []push.State{push.Dead, push.Claimed, push.Dead}}, func(d push.Delivery) bool { return d.State == push.Dead || d.State == push.Claimed }},
		"live states":   {operator.Filter{States: []push.State{push.Claimed, push.Finished}}, func(d push.Delivery) bool { return !d.State.Ended() }},
		"a topic": {operator.Filter{TopicARN: push.TopicOf(subscriptionARN("orders", 0))}, func(d push.Delivery) bool {
			return push.TopicOf(d.Key.Subscription) == push.TopicOf(subscriptionARN("orders", 0))
		}},
		"a subscription": {operator.Filter{Subscription: subscriptionARN("orders-eu", 1)}, func(d push.Delivery) bool { return d.Key.Subscription == subscriptionARN("orders-eu", 1) }},
		"a message":      {operator.Filter{MessageID: "message-7"}, func(d push.Delivery) bool { return d.Key.MessageID == "message-7" }},
		"all at once": {operator.Filter{MessageID: "message-7", Subscription: subscriptionARN("orders-eu", 0), States: []push.State{push.Finished}},
			func(d push.Delivery) bool { return d.Reason == "21" }},
		"nothing": {operator.Filter{MessageID: "none"}, func(push.Delivery) bool { return false }},
	} {
		var reasons []string
		for _, d := range want {
			if c.matches(d) {
				reasons = append(reasons, d.Reason)
			}
		}
		for _, limit := range []int{0, 1, 7, 59, 60, 61} {
			c.filter.Limit = limit
			if diff := cmp.Diff(reasons, f.list(t, c.filter)); diff != "" {
				t.Errorf("%s by %d (-want +got):\n%s", name, limit, diff)
			}
		}
	}
}

func TestAListingDoesNotContinueWithNonsense(t *testing.T) {
	f := fresh(t)
	for _, after := range []string{"x", "1", "1.", ".1", "1.x", "99999999999999999999.1"} {
		if _, _, err := f.ListDeliveries(t.Context(), operator.Filter{After: after}); push.CodeOf(err) != push.CodeInvalidParameter {
			t.Errorf("%q: %v", after, err)
		}
	}
}

func TestOneDeliveryIsFoundByItsKey(t *testing.T) {
	f := fresh(t)
	d := record("orders", 1, push.Finished)
	d.Remember(push.Attempt{Number: 1, Phase: "initial", Started: epoch, Ended: epoch, Class: push.Retryable, Status: 503})
	f.create(t, d)
	got, found, err := f.delivery(t.Context(), d.Key)
	if diff := cmp.Diff(d, got); err != nil || !found || diff != "" {
		t.Errorf("found %v, %v (-want +got):\n%s", found, err, diff)
	}
	d.Key.Generation = "g"
	if _, found, err := f.delivery(t.Context(), d.Key); err != nil || found {
		t.Errorf("found a delivery that is not there: %v, %v", found, err)
	}
}

func TestTimesAreRoundedSoThatNothingComesEarly(t *testing.T) {
	f := fresh(t)
	d := record("orders", 1, push.Finished)
	d.NextAt, d.LeaseEnd = epoch.Add(time.Nanosecond), epoch.Add(time.Millisecond+time.Nanosecond)
	d.UpdatedAt = epoch.Add(1500 * time.Microsecond)
	written, _, err := f.Create(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	read, _, err := f.delivery(t.Context(), d.Key)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(written, read); diff != "" {
		t.Errorf("what was answered is not what is read (-answered +read):\n%s", diff)
	}
	if read.NextAt != epoch.Add(time.Millisecond) || read.LeaseEnd != epoch.Add(2*time.Millisecond) || read.UpdatedAt != epoch.Add(time.Millisecond) {
		t.Errorf("next at %v, lease until %v, changed %v", read.NextAt, read.LeaseEnd, read.UpdatedAt)
	}
}
