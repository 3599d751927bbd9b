package conformance

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"postino/shared/pipeline"
	"postino/shared/push"
)

// ExerciseDeliveries checks the promises of pipeline.Deliveries: the conditional
// writes that the fencing protocol stands on.
func ExerciseDeliveries(t *testing.T, h Harness[pipeline.Deliveries]) {
	s := deliveriesSuite{h}
	h.test(t, "a record is created once and comes back whole", s.create)
	h.test(t, "records of different keys are apart", s.keys)
	h.test(t, "a claim follows a finished attempt and keeps its history", s.claimFinished)
	h.test(t, "a claim of a missing record is granted", s.claimMissing)
	h.test(t, "a claim is refused unless the attempt before is finished or the lease over", s.claimRefused)
	h.test(t, "a claim settles once, for its owner", s.settle)
	h.test(t, "an end is set on the attempt it belongs to", s.end)
	h.test(t, "of many concurrent claims exactly one wins", s.concurrentClaims)
	h.test(t, "of many concurrent creations exactly one wins", s.concurrentCreates)
	h.test(t, "random histories go as the model says", s.model)
	if h.Reopen != nil {
		h.test(t, "a restart keeps records", s.restart)
	}
}

type deliveriesSuite struct {
	Harness[pipeline.Deliveries]
}

func deliveryKey(n int) push.DeliveryKey {
	return push.DeliveryKey{Subscription: newSubscription("a", n).ARN, MessageID: "11111111-2222-4333-8444-555555555555"}
}

// finished is a record of attempt n that failed.
func finished(key push.DeliveryKey, n int) push.Delivery {
	d := push.Delivery{
		Key: key, Kind: push.SubscriptionConfirm, Attempt: n, State: push.Finished, NextAt: epoch.Add(time.Minute), NextPhase: "backoff", Reason: "503 is retryable",
		CreatedAt: epoch, UpdatedAt: epoch.Add(time.Second), Expires: epoch.Add(1000 * time.Hour),
	}
	for i := range n {
		d.Remember(push.Attempt{
			Number: i + 1, Phase: "immediate", Started: epoch, Ended: epoch.Add(123 * time.Millisecond), Class: push.Retryable,
			Status: 503, Fault: "", Detail: "503 Service Unavailable \u00fc", Reason: "503 is retryable: attempt 2 of 4",
		})
	}
	return d
}

// claimOf is a claim of attempt n under a lease until the given time.
func claimOf(key push.DeliveryKey, n int, owner string, lease time.Time) push.Delivery {
	return push.Delivery{Key: key, Kind: push.SubscriptionConfirm, Attempt: n, State: push.Claimed, Owner: owner, LeaseEnd: lease,
		CreatedAt: epoch.Add(time.Hour), UpdatedAt: epoch.Add(time.Hour), Expires: epoch.Add(1001 * time.Hour)}
}

// settled is a claim whose attempt has failed.
func settled(claim push.Delivery) push.Delivery {
	d := claim
	d.State, d.NextAt, d.NextPhase, d.Reason = push.Finished, epoch.Add(2*time.Hour), "backoff", "refused"
	d.UpdatedAt = d.UpdatedAt.Add(time.Second)
	d.Remember(push.Attempt{Number: d.Attempt, Phase: "backoff", Started: epoch, Ended: epoch, Class: push.Retryable, Fault: "refused"})
	return d
}

func create(t *testing.T, s pipeline.Deliveries, d push.Delivery) push.Delivery {
	t.Helper()
	got, ok, err := s.Create(t.Context(), d)
	must(t, err)
	if !ok {
		t.Fatalf("not created: %+v", got)
	}
	return got
}

func claim(t *testing.T, s pipeline.Deliveries, d push.Delivery, now time.Time) push.Delivery {
	t.Helper()
	got, ok, err := s.Claim(t.Context(), d, now)
	must(t, err)
	if !ok {
		t.Fatalf("claim refused by %+v", got)
	}
	return got
}

// record reads a record by a write that it must refuse.
func record(t *testing.T, s pipeline.Deliveries, key push.DeliveryKey) push.Delivery {
	t.Helper()
	got, ok, err := s.Create(t.Context(), finished(key, 1))
	must(t, err)
	if ok {
		t.Fatalf("there was no record of %+v", key)
	}
	return got
}

func (deliveriesSuite) create(t *testing.T, s pipeline.Deliveries) {
	for n := range 3 {
		want := finished(deliveryKey(n), n+1)
		equal(t, "created record", create(t, s, want), want)
		equal(t, "record", record(t, s, want.Key), want)
	}
	full := finished(deliveryKey(9), 100)
	full.Reason = strings.Repeat("long ", 500)
	create(t, s, full)
	equal(t, "record with full history", record(t, s, full.Key), full)
	last := finished(deliveryKey(10), 1)
	last.NextAt, last.NextPhase = time.Time{}, ""
	create(t, s, last)
	equal(t, "record of a last attempt", record(t, s, last.Key), last)
}

func (deliveriesSuite) keys(t *testing.T, s pipeline.Deliveries) {
	base := deliveryKey(1)
	keys := []push.DeliveryKey{base, base, base, base}
	keys[1].Subscription = deliveryKey(2).Subscription
	keys[2].MessageID = "another"
	keys[3].Generation = "g1"
	for i, k := range keys {
		d := finished(k, 1)
		d.Reason = fmt.Sprint(i)
		create(t, s, d)
	}
	for i, k := range keys {
		equal(t, "reason", record(t, s, k).Reason, fmt.Sprint(i))
	}
}

func (deliveriesSuite) claimFinished(t *testing.T, s pipeline.Deliveries) {
	was := create(t, s, finished(deliveryKey(1), 2))
	c := claimOf(was.Key, 3, "owner", epoch.Add(2*time.Hour))
	got := claim(t, s, c, epoch.Add(time.Hour))
	equal(t, "claimed", [2]any{got.Attempt, got.State}, [2]any{3, push.Claimed})
	equal(t, "owner", got.Owner, "owner")
	equal(t, "lease", got.LeaseEnd, c.LeaseEnd)
	equal(t, "history", got.Attempts, was.Attempts)
	equal(t, "creation", got.CreatedAt, was.CreatedAt)
	equal(t, "record", record(t, s, was.Key), got)
}

func (deliveriesSuite) claimMissing(t *testing.T, s pipeline.Deliveries) {
	c := claimOf(deliveryKey(1), 5, "owner", epoch.Add(2*time.Hour))
	equal(t, "claimed", claim(t, s, c, epoch.Add(time.Hour)), c)
	equal(t, "record", record(t, s, c.Key), c)
}

func (deliveriesSuite) claimRefused(t *testing.T, s pipeline.Deliveries) {
	now := epoch.Add(time.Hour)
	refused := func(what string, d push.Delivery, now time.Time) {
		t.Helper()
		was := record(t, s, d.Key)
		got, ok, err := s.Claim(t.Context(), d, now)
		must(t, err)
		if ok {
			t.Errorf("%s was granted", what)
		}
		equal(t, "the record that refused "+what, got, was)
		equal(t, "the record after "+what, record(t, s, d.Key), was)
	}
	key := create(t, s, finished(deliveryKey(1), 2)).Key
	refused("a claim of a finished attempt", claimOf(key, 2, "b", now.Add(time.Hour)), now)
	refused("a claim of an earlier attempt", claimOf(key, 1, "b", now.Add(time.Hour)), now)
	refused("a claim that skips an attempt", claimOf(key, 4, "b", now.Add(time.Hour)), now)

	held := claim(t, s, claimOf(key, 3, "a", now.Add(time.Minute)), now)
	refused("a claim under a lease", claimOf(key, 3, "b", now.Add(time.Hour)), now.Add(time.Minute-time.Millisecond))
	refused("a claim behind one under way", claimOf(key, 4, "b", now.Add(time.Hour)), now.Add(time.Hour))
	over := claim(t, s, claimOf(key, 3, "b", now.Add(time.Hour)), now.Add(time.Minute+time.Millisecond))
	equal(t, "owner after the lease was over", over.Owner, "b")
	equal(t, "history", over.Attempts, held.Attempts)

	for _, end := range []push.State{push.Delivered, push.Dead, push.Dropped} {
		d := finished(deliveryKey(2), 2)
		d.Key.Generation, d.State = string(end), end
		create(t, s, d)
		refused("a claim of a delivery that is "+string(end), claimOf(d.Key, 3, "b", now.Add(time.Hour)), now)
		refused("a claim of an attempt that is "+string(end), claimOf(d.Key, 2, "b", now.Add(time.Hour)), now.Add(999*time.Hour))
	}
}

func (deliveriesSuite) settle(t *testing.T, s pipeline.Deliveries) {
	now := epoch.Add(time.Hour)
	refused := func(what string, d push.Delivery) {
		t.Helper()
		was := record(t, s, d.Key)
		got, ok, err := s.Settle(t.Context(), d)
		must(t, err)
		if ok {
			t.Errorf("%s was settled", what)
		}
		equal(t, "the record that refused "+what, got, was)
	}
	key := create(t, s, finished(deliveryKey(1), 1)).Key
	refused("an attempt that was not claimed", settled(claimOf(key, 1, "", now)))
	c := claim(t, s, claimOf(key, 2, "a", now.Add(time.Minute)), now)
	refused("another's claim", settled(claimOf(key, 2, "b", now)))
	refused("another attempt", settled(claimOf(key, 3, "a", now)))

	want := settled(c)
	got, ok, err := s.Settle(t.Context(), want)
	must(t, err)
	if !ok {
		t.Fatalf("settling was refused by %+v", got)
	}
	equal(t, "settled", got, want)
	equal(t, "record", record(t, s, key), want)
	refused("a settled claim", want)

	c = claim(t, s, claimOf(key, 3, "c", now), now)
	late := settled(c) // its lease is over, but nobody took it
	late.State = push.Delivered
	_, ok, err = s.Settle(t.Context(), late)
	must(t, err)
	if !ok {
		t.Error("a lapsed claim that nobody took could not be settled")
	}
	missing, ok, err := s.Settle(t.Context(), settled(claimOf(deliveryKey(7), 2, "a", now)))
	if err != nil || ok || missing.Attempt != 0 {
		t.Errorf("settling a missing record: %+v, %v, %v", missing, ok, err)
	}
}

func (deliveriesSuite) end(t *testing.T, s pipeline.Deliveries) {
	now := epoch.Add(time.Hour)
	was := create(t, s, finished(deliveryKey(1), 2))
	for _, attempt := range []int{1, 3} {
		must(t, s.End(t.Context(), was.Key, attempt, push.Dead, "q", "no", now))
		equal(t, "record", record(t, s, was.Key), was)
	}
	must(t, s.End(t.Context(), was.Key, 2, push.Dead, "arn:aws:sqs:us-east-1:000000000000:q", "exhausted", now))
	got := record(t, s, was.Key)
	equal(t, "state, target and reason", [3]string{string(got.State), got.Target, got.Reason}, [3]string{"dead", "arn:aws:sqs:us-east-1:000000000000:q", "exhausted"})
	equal(t, "change", got.UpdatedAt, now)
	equal(t, "history", got.Attempts, was.Attempts)
	must(t, s.End(t.Context(), was.Key, 2, push.Dropped, "", "unsubscribed", now.Add(time.Minute)))
	equal(t, "a record that has ended", record(t, s, was.Key), got)
	other := create(t, s, finished(deliveryKey(2), 1))
	must(t, s.End(t.Context(), other.Key, 1, push.Dropped, "", "unsubscribed", now))
	equal(t, "state", record(t, s, other.Key).State, push.Dropped)
	missing := deliveryKey(3)
	must(t, s.End(t.Context(), missing, 1, push.Dead, "q", "r", now))
	create(t, s, finished(missing, 1)) // End made no record
}

func (deliveriesSuite) concurrentClaims(t *testing.T, s pipeline.Deliveries) {
	now := epoch.Add(time.Hour)
	for round := range 5 {
		key := create(t, s, finished(deliveryKey(round), 1)).Key
		var wg sync.WaitGroup
		var winners atomic.Int64
		owners := make([]string, 16)
		for n := range owners {
			wg.Go(func() {
				owner := fmt.Sprint("owner ", n)
				current, ok, err := s.Claim(t.Context(), claimOf(key, 2, owner, now.Add(time.Hour)), now)
				if err != nil {
					t.Error(err)
				}
				if ok {
					winners.Add(1)
				}
				owners[n] = current.Owner
			})
		}
		wg.Wait()
		equal(t, "winners", winners.Load(), int64(1))
		winner := record(t, s, key).Owner
		for _, seen := range owners {
			if seen != winner {
				t.Errorf("one was told that %q holds the claim of %q", seen, winner)
			}
		}
	}
}

func (deliveriesSuite) concurrentCreates(t *testing.T, s pipeline.Deliveries) {
	var wg sync.WaitGroup
	var winners atomic.Int64
	for range 16 {
		wg.Go(func() {
			_, ok, err := s.Create(t.Context(), finished(deliveryKey(1), 1))
			if err != nil {
				t.Error(err)
			}
			if ok {
				winners.Add(1)
			}
		})
	}
	wg.Wait()
	equal(t, "winners", winners.Load(), int64(1))
}

func (s deliveriesSuite) restart(t *testing.T, d pipeline.Deliveries) {
	a, b := create(t, d, finished(deliveryKey(1), 3)), create(t, d, finished(deliveryKey(2), 1))
	b = claim(t, d, claimOf(b.Key, 2, "before", epoch.Add(2*time.Hour)), epoch.Add(time.Hour))
	d = s.Reopen(t, d)
	equal(t, "finished record", record(t, d, a.Key), a)
	equal(t, "claimed record", record(t, d, b.Key), b)
	_, ok, err := d.Settle(t.Context(), settled(b))
	must(t, err)
	if !ok {
		t.Error("a claim from before the restart could not be settled")
	}
}

// model runs random writes against the adapter and against the protocol's
// conditions written down once more, on a map.
func (deliveriesSuite) model(t *testing.T, s pipeline.Deliveries) {
	random := rand.New(rand.NewPCG(1, 2))
	want := map[push.DeliveryKey]push.Delivery{}
	granted := 0
	for step := range 400 {
		// Ends stop a record for good, so others take their place.
		key, owner := deliveryKey(step/40*3+random.IntN(3)), fmt.Sprint("owner ", random.IntN(2))
		now := epoch.Add(time.Duration(step) * time.Second)
		have, exists := want[key]
		n := max(1, have.Attempt-1+random.IntN(3))
		var (
			got   push.Delivery
			ok    bool
			err   error
			legal bool
			kind  = random.IntN(4)
		)
		switch kind {
		case 0:
			got, ok, err = s.Create(t.Context(), finished(key, n))
			legal = !exists
		case 1:
			c := claimOf(key, n, owner, now.Add(time.Duration(random.IntN(20))*time.Second))
			got, ok, err = s.Claim(t.Context(), c, now)
			legal = !exists || have.Attempt == n-1 && have.State == push.Finished ||
				have.Attempt == n && have.State == push.Claimed && have.LeaseEnd.Before(now)
		case 2:
			got, ok, err = s.Settle(t.Context(), settled(claimOf(key, n, owner, now)))
			legal = exists && have.Attempt == n && have.State == push.Claimed && have.Owner == owner
		case 3:
			if random.IntN(8) > 0 {
				continue // ends are rare, or nothing else would happen
			}
			err = s.End(t.Context(), key, n, push.Dead, "q", "r", now)
			if exists && have.Attempt == n && !have.State.Ended() {
				have.State = push.Dead
				want[key] = have
			}
		}
		must(t, err)
		if kind == 3 {
			continue
		}
		if ok != legal {
			t.Fatalf("step %d, write %d of attempt %d by %s: granted %v, want %v; the record is %+v", step, kind, n, owner, ok, legal, have)
		}
		if ok {
			want[key] = got
			granted++
			continue
		}
		if exists && (got.Attempt != have.Attempt || got.State != have.State || got.Owner != have.Owner || !same(got.Attempts, have.Attempts)) {
			t.Fatalf("step %d: refused by %+v, want %+v", step, got, have)
		}
	}
	if granted < 60 {
		t.Errorf("only %d writes were granted: the model says little", granted)
	}
}
