package sqlitestore

import (
	"errors"
	"testing"
	"time"

	"postino/shared/embedded/sqlitedb"
	"postino/shared/push"
)

func (f *fixture) purge(t *testing.T, now time.Time, limit, want int) {
	t.Helper()
	got, err := f.Purge(t.Context(), now, limit)
	if err != nil || got != want {
		t.Errorf("purge at %v removed %d, %v, want %d", now, got, err, want)
	}
}

func TestPurgeForgetsExpiredDeliveriesInSteps(t *testing.T) {
	f := fresh(t)
	for n := range 25 {
		f.create(t, record("orders", n, push.Dead))
	}
	kept := record("orders", 99, push.Dead)
	kept.Expires = time.Time{} // never
	f.create(t, kept)
	f.purge(t, epoch.Add(time.Hour), 10, 0) // expires then, has not expired
	for _, want := range []int{10, 10, 5, 0} {
		f.purge(t, epoch.Add(time.Hour+time.Millisecond), 10, want)
	}
	if _, found, err := f.delivery(t.Context(), kept.Key); err != nil || !found {
		t.Errorf("a delivery without expiry was purged: %v", err)
	}
}

func TestAnExpiredDeliveryCountsAsMissing(t *testing.T) {
	f := fresh(t)
	d := record("orders", 1, push.Dead)
	f.create(t, d)
	claim := push.Delivery{Key: d.Key, Attempt: 1, Owner: "o", LeaseEnd: epoch.Add(3 * time.Hour), Expires: epoch.Add(4 * time.Hour), UpdatedAt: epoch.Add(2 * time.Hour)}
	if got, ok, err := f.Claim(t.Context(), claim, epoch.Add(time.Hour)); err != nil || ok {
		t.Errorf("claimed before its expiry: %+v, %v", got, err)
	}
	if got, ok, err := f.Claim(t.Context(), claim, epoch.Add(2*time.Hour)); err != nil || !ok || len(got.Attempts) > 0 {
		t.Errorf("not claimed after its expiry: %+v, %v", got, err)
	}
	other := record("orders", 2, push.Dead)
	f.create(t, other)
	other.UpdatedAt = epoch.Add(2 * time.Hour)
	f.create(t, other)
}

func TestOnlyAnEndEndsADelivery(t *testing.T) {
	f := fresh(t)
	d := record("orders", 1, push.Finished)
	f.create(t, d)
	for _, s := range []push.State{push.Claimed, push.Finished, "", "gone"} {
		if err := f.End(t.Context(), d.Key, 1, s, "", "", epoch); err == nil {
			t.Errorf("%q was taken for an end", s)
		}
	}
}

func TestPurgeForgetsTombstonesAndUnconfirmedSubscriptionsAfterThreeDays(t *testing.T) {
	f := fresh(t)
	topic := push.TopicOf(subscriptionARN("orders", 0))
	if _, _, err := f.CreateTopic(t.Context(), push.Topic{ARN: topic}); err != nil {
		t.Fatal(err)
	}
	subs := make([]push.Subscription, 4)
	for n := range subs {
		subs[n] = push.Subscription{ARN: subscriptionARN("orders", n), TopicARN: topic, Protocol: push.HTTPS, Endpoint: string(rune('a' + n)),
			Confirmed: n != 0, Token: string(rune('A' + n)), CreatedAt: epoch}
		if _, _, err := f.CreateSubscription(t.Context(), subs[n]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.DeleteSubscription(t.Context(), subs[1].ARN, epoch.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	check := func(pending, confirmed, deleted int) {
		t.Helper()
		got, err := f.Topic(t.Context(), topic)
		if err != nil || got.Pending != pending || got.Confirmed != confirmed || got.Deleted != deleted {
			t.Errorf("topic counts %d pending, %d confirmed, %d deleted; want %d, %d, %d", got.Pending, got.Confirmed, got.Deleted, pending, confirmed, deleted)
		}
	}
	before, err := f.Topic(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	f.purge(t, epoch.Add(keptFor), 10, 0)
	check(1, 2, 1)
	f.purge(t, epoch.Add(keptFor+time.Millisecond), 10, 1) // the unconfirmed one
	check(0, 2, 1)
	f.purge(t, epoch.Add(keptFor+2*time.Hour), 10, 1) // the tombstone
	check(0, 2, 0)
	f.purge(t, epoch.Add(1000*time.Hour), 10, 0)
	f.reopen(t)
	check(0, 2, 0)
	if got, err := f.Topic(t.Context(), topic); err != nil || got.Version <= before.Version {
		t.Errorf("version is %d, was %d: %v", got.Version, before.Version, err)
	}
	for _, n := range []int{0, 1} {
		if _, err := f.Subscription(t.Context(), subs[n].ARN, true); !push.IsNotFound(err) {
			t.Errorf("subscription %d: %v", n, err)
		}
		if _, err := f.ByToken(t.Context(), subs[n].Token); !push.IsNotFound(err) {
			t.Errorf("token %d: %v", n, err)
		}
	}
	// The tombstones of a deleted topic go too, and count towards no later one.
	if err := f.DeleteTopic(t.Context(), topic, epoch); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.CreateTopic(t.Context(), push.Topic{ARN: topic}); err != nil {
		t.Fatal(err)
	}
	f.purge(t, epoch.Add(1000*time.Hour), 1, 1)
	f.purge(t, epoch.Add(1000*time.Hour), 1, 1)
	check(0, 0, 0)
}

func TestSlotsAreTakenUpAgainAfterARestart(t *testing.T) {
	f := fresh(t)
	for range 3 {
		if _, err := f.Reserve(t.Context(), "s", 1, 10, epoch); err != nil {
			t.Fatal(err)
		}
	}
	f.reopen(t)
	if first, err := f.Reserve(t.Context(), "s", 1, 1, epoch); err != nil || !first.Equal(epoch.Add(30*time.Second)) {
		t.Errorf("the next slot is %v, %v", first, err)
	}
	f.reopen(t)
	f.purge(t, epoch.Add(time.Hour), 10, 0)
	if n := len(f.slots.next); n != 0 {
		t.Errorf("%d slots of the past are kept", n)
	}
	f.reopen(t)
	if n := len(f.slots.next); n != 0 {
		t.Errorf("%d slots of the past come back", n)
	}
	if _, err := f.Reserve(t.Context(), "s", 1e-12, 1, epoch); err == nil {
		t.Error("a slot beyond the end of time was reserved")
	}
}

func TestRecordsOfANewerVersionAreNotMisread(t *testing.T) {
	for _, statement := range []string{
		`INSERT INTO topic VALUES ('t', 1, '{"v":2}')`,
		`INSERT INTO topic VALUES ('t', 1, 'not JSON')`,
		`INSERT INTO subscription VALUES ('s', '{"item":{}}')`,
	} {
		f := fresh(t)
		err := f.db.Do(t.Context(), func(tx *sqlitedb.Tx) error {
			_, err := tx.Exec(statement)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = Open(t.Context(), f.db)
		if e, ok := errors.AsType[*push.Error](err); !ok || e.Text == "" {
			t.Errorf("%s: %v", statement, err)
		}
	}
	f := fresh(t)
	d := record("orders", 1, push.Dead)
	f.create(t, d)
	err := f.db.Do(t.Context(), func(tx *sqlitedb.Tx) error {
		_, err := tx.Exec(`UPDATE delivery SET doc = '{"v":9}'`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.delivery(t.Context(), d.Key); err == nil {
		t.Error("a delivery of version 9 was read")
	}
	if _, _, err := f.Settle(t.Context(), d); err == nil {
		t.Error("a delivery of version 9 was replaced")
	}
}

func TestAFailedWriteChangesNothingInMemory(t *testing.T) {
	f := fresh(t)
	topic := push.Topic{ARN: push.TopicOf(subscriptionARN("orders", 0)), DisplayName: "before"}
	if _, _, err := f.CreateTopic(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	if err := f.db.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := f.UpdateTopic(t.Context(), topic.ARN, func(t *push.Topic) error { t.DisplayName = "after"; return nil })
	if !errors.Is(err, sqlitedb.ErrClosed) {
		t.Errorf("the change answers %v", err)
	}
	if got, err := f.Topic(t.Context(), topic.ARN); err != nil || got.DisplayName != "before" || got.Version != 1 {
		t.Errorf("topic is %+v, %v", got, err)
	}
	if err := f.DeleteTopic(t.Context(), topic.ARN, epoch); !errors.Is(err, sqlitedb.ErrClosed) {
		t.Errorf("the deletion answers %v", err)
	}
	if _, err := f.Topic(t.Context(), topic.ARN); err != nil {
		t.Errorf("the topic went: %v", err)
	}
}

func TestAClaimKeepsTheLastReasonAndTheLaterExpiry(t *testing.T) {
	f := fresh(t)
	d := record("orders", 1, push.Finished)
	f.create(t, d)
	claim := push.Delivery{Key: d.Key, Attempt: 2, Owner: "o", LeaseEnd: epoch.Add(time.Minute), UpdatedAt: epoch, Expires: epoch.Add(time.Minute)}
	got, ok, err := f.Claim(t.Context(), claim, epoch)
	if err != nil || !ok || got.Reason != d.Reason || !got.Expires.Equal(d.Expires) {
		t.Errorf("claimed %v, %v: %+v", ok, err, got)
	}
}

func TestAChangeThatChangesNothingIsNotOne(t *testing.T) {
	f := fresh(t)
	topic := push.TopicOf(subscriptionARN("orders", 0))
	if _, _, err := f.CreateTopic(t.Context(), push.Topic{ARN: topic}); err != nil {
		t.Fatal(err)
	}
	sub := push.Subscription{ARN: subscriptionARN("orders", 0), TopicARN: topic, Protocol: push.HTTPS, Endpoint: "e", Confirmed: true}
	if _, _, err := f.CreateSubscription(t.Context(), sub); err != nil {
		t.Fatal(err)
	}
	before, err := f.Topic(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.UpdateSubscription(t.Context(), sub.ARN, func(s *push.Subscription) error { s.ARN, s.TopicARN = "x", "y"; return nil })
	if err != nil || got != sub {
		t.Errorf("answered %+v, %v", got, err)
	}
	if after, err := f.Topic(t.Context(), topic); err != nil || after.Version != before.Version {
		t.Errorf("version went from %d to %d: %v", before.Version, after.Version, err)
	}
}
