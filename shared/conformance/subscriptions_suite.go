package conformance

import (
	"fmt"
	"testing"
	"time"

	"postino/shared/push"
	"postino/shared/snsapi"
)

func withARN(s push.Subscription, n int) push.Subscription {
	s.ARN = fmt.Sprintf("%s:00000000-0000-4000-9000-%012d", s.TopicARN, n)
	s.Token += "-again"
	return s
}

func (directorySuite) createSubscription(t *testing.T, d snsapi.Directory) {
	createTopic(t, d, "a")
	createTopic(t, d, "b")
	want := newSubscription("a", 1)
	equal(t, "created subscription", subscribe(t, d, want), want)
	equal(t, "read subscription", subscriptionNow(t, d, want.ARN), want)
	second := withARN(want, 2)
	second.Raw = false
	got, created, err := d.CreateSubscription(t.Context(), second)
	must(t, err)
	if created {
		t.Error("a second subscription of one endpoint was created")
	}
	equal(t, "existing subscription", got, want)
	_, err = d.Subscription(t.Context(), second.ARN, true)
	wantNotFound(t, "the second ARN", err)
	for n, differ := range []func(*push.Subscription){
		func(s *push.Subscription) { s.Endpoint += "x" },
		func(s *push.Subscription) { s.Protocol = push.HTTP },
		func(s *push.Subscription) { s.TopicARN = topicARN("b") },
	} {
		other := want
		differ(&other)
		subscribe(t, d, withARN(other, 10+n))
	}
}

func (directorySuite) versionAndCounts(t *testing.T, d snsapi.Directory) {
	version := createTopic(t, d, "a").Version
	check := func(after string, confirmed, pending, deleted int) {
		t.Helper()
		topic := topicNow(t, d, "a")
		if topic.Version <= version {
			t.Errorf("after %s the version is %d, it was %d", after, topic.Version, version)
		}
		version = topic.Version
		equal(t, "confirmed, pending and deleted after "+after, [3]int{topic.Confirmed, topic.Pending, topic.Deleted}, [3]int{confirmed, pending, deleted})
	}
	update := func(s push.Subscription, change func(*push.Subscription)) {
		t.Helper()
		_, err := d.UpdateSubscription(t.Context(), s.ARN, func(s *push.Subscription) error { change(s); return nil })
		must(t, err)
	}
	pending := newSubscription("a", 1)
	pending.Confirmed = false
	subscribe(t, d, pending)
	check("a pending subscription", 0, 1, 0)
	one := subscribe(t, d, newSubscription("a", 2))
	check("a confirmed one", 1, 1, 0)
	update(pending, func(s *push.Subscription) { s.Confirmed = true })
	check("a confirmation", 2, 0, 0)
	update(one, func(s *push.Subscription) { s.Raw = false })
	check("an attribute", 2, 0, 0)
	_, err := d.DeleteSubscription(t.Context(), one.ARN, epoch)
	must(t, err)
	check("an unsubscribe", 1, 0, 1)
	update(one, func(s *push.Subscription) { s.DeletedAt = time.Time{} })
	check("a revival", 2, 0, 0)
	_, err = d.UpdateTopic(t.Context(), topicARN("a"), func(topic *push.Topic) error {
		topic.DisplayName, topic.Version, topic.Confirmed = "new", 0, 77
		return nil
	})
	must(t, err)
	check("a change of the topic", 2, 0, 0)
}

func (directorySuite) tombstone(t *testing.T, d snsapi.Directory) {
	createTopic(t, d, "a")
	live := subscribe(t, d, newSubscription("a", 1))
	was, err := d.DeleteSubscription(t.Context(), live.ARN, epoch)
	must(t, err)
	equal(t, "deleted subscription", was, live)
	stone := live
	stone.DeletedAt = epoch
	equal(t, "tombstone", subscriptionNow(t, d, live.ARN), stone)
	was, err = d.DeleteSubscription(t.Context(), live.ARN, epoch.Add(time.Hour))
	must(t, err)
	equal(t, "tombstone deleted again", was, stone)
	equal(t, "tombstone", subscriptionNow(t, d, live.ARN), stone)
	subs, _, err := d.Subscriptions(t.Context(), live.TopicARN, "", long)
	must(t, err)
	equal(t, "listed subscriptions", subs, []push.Subscription{})
	revived, err := d.UpdateSubscription(t.Context(), live.ARN, func(s *push.Subscription) error {
		s.DeletedAt = time.Time{}
		return nil
	})
	must(t, err)
	equal(t, "revived subscription", revived, live)
	subs, _, err = d.Subscriptions(t.Context(), live.TopicARN, "", long)
	must(t, err)
	equal(t, "listed subscriptions", subs, []push.Subscription{live})
}

func (directorySuite) noRevival(t *testing.T, d snsapi.Directory) {
	createTopic(t, d, "a")
	first := subscribe(t, d, newSubscription("a", 1))
	_, err := d.DeleteSubscription(t.Context(), first.ARN, epoch)
	must(t, err)
	second := subscribe(t, d, withARN(first, 2))
	revive := func(s *push.Subscription) error { s.DeletedAt = time.Time{}; return nil }
	if _, err := d.UpdateSubscription(t.Context(), first.ARN, revive); err == nil {
		t.Error("two live subscriptions of one endpoint")
	}
	must(t, d.DeleteTopic(t.Context(), first.TopicARN, epoch))
	_, err = d.UpdateSubscription(t.Context(), second.ARN, revive)
	wantNotFound(t, "revival without a topic", err)
	if s := subscriptionNow(t, d, second.ARN); !s.Deleted() {
		t.Error("a tombstone lives without its topic")
	}
}

func (directorySuite) tokens(t *testing.T, d snsapi.Directory) {
	createTopic(t, d, "a")
	s := subscribe(t, d, newSubscription("a", 1))
	got, err := d.ByToken(t.Context(), s.Token)
	must(t, err)
	equal(t, "subscription by token", got, s)
	_, err = d.DeleteSubscription(t.Context(), s.ARN, epoch)
	must(t, err)
	got, err = d.ByToken(t.Context(), s.Token)
	must(t, err)
	if got.ARN != s.ARN || !got.Deleted() {
		t.Errorf("token of a tombstone finds %+v", got)
	}
	old := s.Token
	_, err = d.UpdateSubscription(t.Context(), s.ARN, func(s *push.Subscription) error { s.Token = "another"; return nil })
	must(t, err)
	_, err = d.ByToken(t.Context(), old)
	wantNotFound(t, "a replaced token", err)
	got, err = d.ByToken(t.Context(), "another")
	must(t, err)
	equal(t, "ARN", got.ARN, s.ARN)
	_, err = d.ByToken(t.Context(), "")
	wantNotFound(t, "no token", err)
}
