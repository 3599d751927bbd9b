//go:build integration

package dynamostore_test

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"postino/shared/aws/dynamostore"
	"postino/shared/operator"
	"postino/shared/pipeline"
	"postino/shared/push"
)

func subscriptionARN(topic string, n int) string {
	return fmt.Sprintf("arn:aws:sns:us-east-1:000000000000:%s:00000000-0000-4000-8000-%012d", topic, n)
}

// seed stores deliveries of two topics, some subscriptions and messages and all
// states, and gives them newest first.
func seed(t *testing.T, s *dynamostore.Store) (all []push.Delivery) {
	t.Helper()
	states := []push.State{push.Finished, push.Delivered, push.Dead, push.Dropped, push.Finished}
	for n := range 60 {
		d := push.Delivery{
			Key:     push.DeliveryKey{Subscription: subscriptionARN([]string{"a", "a-b"}[n%2], n%5), MessageID: fmt.Sprint("message-", n%7), Generation: []string{"", "g1"}[n/35]},
			Attempt: 1, State: push.Finished, CreatedAt: noon.Add(time.Duration(n*37%60) * time.Second), Expires: noon.Add(time.Hour),
		}
		d.UpdatedAt = d.CreatedAt
		if _, ok, err := s.Create(t.Context(), d); err != nil || !ok {
			t.Fatal(ok, err)
		}
		switch d.State = states[n%len(states)]; {
		case d.State.Ended():
			d.Reason, d.Target = "over", "q"
			if err := s.End(t.Context(), d.Key, 1, d.State, d.Target, d.Reason, d.UpdatedAt); err != nil {
				t.Fatal(err)
			}
		case n%3 == 0:
			d.Attempt, d.State, d.Owner, d.LeaseEnd = 2, push.Claimed, "me", noon.Add(time.Minute)
			if _, ok, err := s.Claim(t.Context(), d, noon); err != nil || !ok {
				t.Fatal(ok, err)
			}
		}
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b push.Delivery) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	return all
}

func TestDeliveriesAreListedNewestFirstByEveryFilterAndInPagesOfEverySize(t *testing.T) {
	s := open(t)
	all := seed(t, s)
	filters := map[string]operator.Filter{
		"everything":             {},
		"a state":                {States: []push.State{push.Dead}},
		"waiting":                {States: []push.State{push.Finished}},
		"two states":             {States: []push.State{push.Claimed, push.Delivered}},
		"a subscription":         {Subscription: subscriptionARN("a", 2)},
		"a subscription's dead":  {Subscription: subscriptionARN("a", 2), States: []push.State{push.Dead}},
		"a topic":                {TopicARN: "arn:aws:sns:us-east-1:000000000000:a"},
		"a message":              {MessageID: "message-3"},
		"a message's dead":       {MessageID: "message-3", States: []push.State{push.Dead}},
		"a message's deliveries": {MessageID: "message-3", Subscription: subscriptionARN("a-b", 3)},
		"nothing":                {Subscription: subscriptionARN("other", 1)},
	}
	for name, f := range filters {
		var want []push.Delivery
		for _, d := range all {
			if (f.Subscription == "" || f.Subscription == d.Key.Subscription) && (f.TopicARN == "" || f.TopicARN == push.TopicOf(d.Key.Subscription)) &&
				(f.MessageID == "" || f.MessageID == d.Key.MessageID) && (len(f.States) == 0 || slices.Contains(f.States, d.State)) {
				want = append(want, d)
			}
		}
		for _, size := range []int{1, 4, 0} {
			f.Limit, f.After = size, ""
			var got []push.Delivery
			for calls := 0; ; calls++ {
				page, next, err := s.ListDeliveries(t.Context(), f)
				if err != nil {
					t.Fatal(err)
				}
				if size > 0 && len(page) > size || calls > len(all)+1 {
					t.Fatalf("%s: page %d of %d has %d", name, calls, size, len(page))
				}
				got = append(got, page...)
				if next == "" {
					break
				}
				f.After = next
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s in pages of %d:\n%s", name, size, diff)
			}
		}
	}
	d, found, err := s.GetDelivery(t.Context(), all[7].Key)
	if err != nil || !found || !cmp.Equal(d, all[7]) {
		t.Errorf("got %+v, %v, %v", d, found, err)
	}
	if _, found, err := s.GetDelivery(t.Context(), push.DeliveryKey{Subscription: subscriptionARN("a", 1), MessageID: "none"}); found || err != nil {
		t.Errorf("found what is not there: %v", err)
	}
}

// TestAnExpiredRecordCountsAsMissing: DynamoDB deletes within some days, and what
// has expired stays readable until then.
func TestAnExpiredRecordCountsAsMissing(t *testing.T) {
	s := open(t)
	old := deliveryOf(2)
	old.State = push.Dead
	old.Remember(push.Attempt{Number: 1, Phase: "initial", Started: noon, Ended: noon, Class: push.Retryable})
	for n, write := range []func(push.Delivery) (push.Delivery, bool, error){
		func(d push.Delivery) (push.Delivery, bool, error) { return s.Create(t.Context(), d) },
		func(d push.Delivery) (push.Delivery, bool, error) { return s.Claim(t.Context(), d, d.UpdatedAt) },
	} {
		old.Key.Generation = fmt.Sprint(n)
		if _, ok, err := s.Create(t.Context(), old); err != nil || !ok {
			t.Fatal(ok, err)
		}
		fresh := old
		fresh.Attempt, fresh.State, fresh.Owner, fresh.Attempts = 5, push.Claimed, "new", nil
		fresh.CreatedAt, fresh.Expires = old.Expires, old.Expires.Add(time.Hour)
		fresh.UpdatedAt = old.Expires
		if current, ok, err := write(fresh); err != nil || ok || !cmp.Equal(current, old) {
			t.Errorf("write %d at the moment of expiry: %+v, %v, %v", n, current, ok, err)
		}
		fresh.UpdatedAt = old.Expires.Add(time.Nanosecond)
		if current, ok, err := write(fresh); err != nil || !ok || !cmp.Equal(current, fresh) {
			t.Errorf("write %d after expiry: %v, %v\n%s", n, ok, err, cmp.Diff(fresh, current))
		}
		if page, _, err := s.ListDeliveries(t.Context(), operator.Filter{Subscription: old.Key.Subscription, States: []push.State{push.Dead}}); err != nil || len(page) != 0 {
			t.Errorf("the old record is still listed: %+v, %v", page, err)
		}
	}
}

func TestAClaimNeverShortensARecordsLife(t *testing.T) {
	s := open(t)
	d := deliveryOf(1)
	if _, ok, err := s.Create(t.Context(), d); err != nil || !ok {
		t.Fatal(ok, err)
	}
	claim := d
	claim.Attempt, claim.Expires = 2, d.Expires.Add(-time.Minute)
	got, ok, err := s.Claim(t.Context(), claim, noon)
	if err != nil || !ok || !got.Expires.Equal(d.Expires) {
		t.Errorf("the claimed record expires at %v, it was %v (%v, %v)", got.Expires, d.Expires, ok, err)
	}
}

func TestAPayloadIsKeptWholeAndProlonged(t *testing.T) {
	s := open(t)
	noise := make([]byte, 256<<10)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	body := base64.StdEncoding.EncodeToString(noise) // what the largest message makes of a job
	for range 2 {
		if err := s.PutPayload(t.Context(), "p", body, noon); err != nil {
			t.Fatal(err)
		}
	}
	if got, ok, err := s.Payload(t.Context(), "p"); err != nil || !ok || got != body {
		t.Errorf("%d bytes came back as %d (%v, %v)", len(body), len(got), ok, err)
	}
	if _, ok, err := s.Payload(t.Context(), "none"); ok || err != nil {
		t.Errorf("found what is not there: %v", err)
	}
	slices.Reverse(noise)
	err := s.PutPayload(t.Context(), "q", body+base64.StdEncoding.EncodeToString(noise), noon)
	if _, refused := pipeline.Refused(err); !refused {
		t.Errorf("a payload too large for an item: %v", err)
	}
}

// TestAListingThatReadsMuchAndFindsLittleMissesNothing: one partition is full of
// what is not wanted, so that what is wanted there lies behind all that one
// listing reads; an older one is found in another at once. A page must end where
// the least read partition does.
func TestAListingThatReadsMuchAndFindsLittleMissesNothing(t *testing.T) {
	s := open(t)
	age := 0
	create := func(topic, shard string) string {
		t.Helper()
		d := push.Delivery{Key: push.DeliveryKey{Subscription: subscriptionARN(topic, 1)}, Attempt: 1, State: push.Finished}
		for n := 0; d.Key.MessageID == "" || dynamostore.ShardOf(d.Key.MessageID, d.Key.Subscription, "") != shard; n++ {
			d.Key.MessageID = fmt.Sprintf("message-%d-%d", age, n)
		}
		age++
		d.CreatedAt = noon.Add(time.Duration(-age) * time.Second)
		d.UpdatedAt = d.CreatedAt
		if _, ok, err := s.Create(t.Context(), d); err != nil || !ok {
			t.Fatal(ok, err)
		}
		return d.Key.MessageID
	}
	for range 50 {
		create("noisy", "0")
	}
	want := []string{create("quiet", "0"), create("quiet", "1")}
	f := operator.Filter{TopicARN: push.TopicOf(subscriptionARN("quiet", 1)), Limit: 1}
	var got []string
	for {
		page, next, err := s.ListDeliveries(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range page {
			got = append(got, d.Key.MessageID)
		}
		if f.After = next; next == "" {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestABlockThatEndsNowIsFollowedAtOnce(t *testing.T) {
	s := open(t)
	for n := range 3 {
		now := noon.Add(time.Duration(n) * time.Second)
		if first, err := s.Reserve(t.Context(), subscriptionARN("a", 1), 1, 1, now); err != nil || !first.Equal(now) {
			t.Errorf("slot %d at %v, %v; want %v", n, first, err, now)
		}
	}
}
