package conformance

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"postino/shared/push"
	"postino/shared/snsapi"
)

// ExerciseDirectory checks the promises of snsapi.Directory, and with it of
// pipeline.Directory.
func ExerciseDirectory(t *testing.T, h Harness[snsapi.Directory]) {
	s := directorySuite{h}
	h.test(t, "what is missing is NotFound", s.missing)
	h.test(t, "a topic is created once", s.createTopic)
	h.test(t, "a topic's change is stored and its error is not", s.updateTopic)
	h.test(t, "what the caller does with its copies changes nothing", s.copies)
	h.test(t, "a deleted topic leaves tombstones", s.deleteTopic)
	h.test(t, "a topic made again has a higher version than it ever had", s.recreateTopic)
	h.test(t, "a subscription is created once for its endpoint", s.createSubscription)
	h.test(t, "every change bumps the topic's version and keeps its counts", s.versionAndCounts)
	h.test(t, "an unsubscribe leaves a tombstone that can be revived", s.tombstone)
	h.test(t, "a tombstone is not revived beside a live one or without its topic", s.noRevival)
	h.test(t, "a token finds its subscription until it is replaced", s.tokens)
	h.test(t, "lists are complete, ordered and cut into pages", s.pages)
	h.test(t, "concurrent subscribers of one endpoint get one subscription", s.concurrentCreate)
	h.test(t, "concurrent changes are all kept", s.concurrentUpdates)
	if h.Reopen != nil {
		h.test(t, "a restart keeps everything", s.restart)
	}
}

type directorySuite struct{ Harness[snsapi.Directory] }

// long is a page that holds everything.
const long = 1000

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func topicARN(name string) string { return "arn:aws:sns:us-east-1:000000000000:" + name }

func newTopic(name string) push.Topic {
	return push.Topic{
		ARN: topicARN(name), DisplayName: "Topic " + name, SignatureVersion: "2",
		DeliveryPolicy: `{"http":{"disableSubscriptionOverrides":false}}`,
		Tags:           map[string]string{"team": "mail", "empty": ""}, CreatedAt: epoch,
	}
}

// newSubscription is one of topic, numbered n and confirmed.
func newSubscription(topic string, n int) push.Subscription {
	return push.Subscription{
		ARN:      fmt.Sprintf("%s:00000000-0000-4000-8000-%012d", topicARN(topic), n),
		TopicARN: topicARN(topic), Protocol: push.HTTPS, Endpoint: fmt.Sprintf("https://user:secret@example.com/%d?q=\u00fc", n),
		Owner: "000000000000", Confirmed: true, Token: fmt.Sprintf("token-%s-%d", topic, n), TokenExpires: epoch.Add(48 * time.Hour),
		Raw: true, DeliveryPolicy: `{"healthyRetryPolicy":null}`, RedrivePolicy: `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead"}`,
		CreatedAt: epoch,
	}
}

func wantNotFound(t *testing.T, what string, err error) {
	t.Helper()
	if !push.IsNotFound(err) {
		t.Errorf("%s: %v, want NotFound", what, err)
	}
}

func createTopic(t *testing.T, d snsapi.Directory, name string) push.Topic {
	t.Helper()
	topic, created, err := d.CreateTopic(t.Context(), newTopic(name))
	must(t, err)
	if !created {
		t.Fatalf("topic %s was there already", name)
	}
	return topic
}

func subscribe(t *testing.T, d snsapi.Directory, s push.Subscription) push.Subscription {
	t.Helper()
	got, created, err := d.CreateSubscription(t.Context(), s)
	must(t, err)
	if !created {
		t.Fatalf("subscription %s was there already", s.ARN)
	}
	return got
}

func topicNow(t *testing.T, d snsapi.Directory, name string) push.Topic {
	t.Helper()
	topic, err := d.Topic(t.Context(), topicARN(name))
	must(t, err)
	return topic
}

func subscriptionNow(t *testing.T, d snsapi.Directory, arn string) push.Subscription {
	t.Helper()
	s, err := d.Subscription(t.Context(), arn, true)
	must(t, err)
	return s
}

func (directorySuite) missing(t *testing.T, d snsapi.Directory) {
	ctx, topic, sub := t.Context(), topicARN("none"), newSubscription("none", 1)
	_, err := d.Topic(ctx, topic)
	wantNotFound(t, "Topic", err)
	_, err = d.UpdateTopic(ctx, topic, func(*push.Topic) error { t.Error("change of a missing topic was called"); return nil })
	wantNotFound(t, "UpdateTopic", err)
	if err := d.DeleteTopic(ctx, topic, epoch); err != nil {
		t.Errorf("DeleteTopic of a missing topic: %v", err)
	}
	_, err = d.Subscription(ctx, sub.ARN, true)
	wantNotFound(t, "Subscription", err)
	_, err = d.UpdateSubscription(ctx, sub.ARN, func(*push.Subscription) error { t.Error("change of a missing subscription was called"); return nil })
	wantNotFound(t, "UpdateSubscription", err)
	_, err = d.DeleteSubscription(ctx, sub.ARN, epoch)
	wantNotFound(t, "DeleteSubscription", err)
	_, _, err = d.CreateSubscription(ctx, sub)
	wantNotFound(t, "CreateSubscription", err)
	_, err = d.ByToken(ctx, "none")
	wantNotFound(t, "ByToken", err)
	topics, next, err := d.Topics(ctx, "", long)
	if err != nil || len(topics) > 0 || next != "" {
		t.Errorf("Topics of an empty directory: %v, %q, %v", topics, next, err)
	}
}

func (directorySuite) createTopic(t *testing.T, d snsapi.Directory) {
	want := newTopic("a")
	got := createTopic(t, d, "a")
	want.Version = got.Version
	equal(t, "created topic", got, want)
	equal(t, "read topic", topicNow(t, d, "a"), want)
	other := newTopic("a")
	other.DisplayName = "something else"
	again, created, err := d.CreateTopic(t.Context(), other)
	must(t, err)
	if created {
		t.Error("an existing topic was created again")
	}
	equal(t, "existing topic", again, want)
	equal(t, "read topic", topicNow(t, d, "a"), want)
}

func (directorySuite) updateTopic(t *testing.T, d snsapi.Directory) {
	before := createTopic(t, d, "a")
	got, err := d.UpdateTopic(t.Context(), before.ARN, func(topic *push.Topic) error {
		topic.DisplayName, topic.DeliveryPolicy, topic.Tags = "new", "", map[string]string{"only": "one"}
		return nil
	})
	must(t, err)
	want := before
	want.DisplayName, want.DeliveryPolicy, want.Tags, want.Version = "new", "", map[string]string{"only": "one"}, got.Version
	equal(t, "updated topic", got, want)
	equal(t, "read topic", topicNow(t, d, "a"), want)
	if got.Version <= before.Version {
		t.Errorf("version went from %d to %d", before.Version, got.Version)
	}
	refusal := errors.New("no")
	_, err = d.UpdateTopic(t.Context(), before.ARN, func(topic *push.Topic) error {
		topic.DisplayName = "refused"
		topic.Tags["refused"] = "yes"
		return refusal
	})
	if !errors.Is(err, refusal) {
		t.Errorf("change's error came back as %v", err)
	}
	equal(t, "topic after a refused change", topicNow(t, d, "a"), want)
}

func (directorySuite) copies(t *testing.T, d snsapi.Directory) {
	topic := createTopic(t, d, "a")
	want := topicNow(t, d, "a")
	topic.Tags["team"] = "changed"
	topicNow(t, d, "a").Tags["team"] = "changed"
	list, _, err := d.Topics(t.Context(), "", long)
	must(t, err)
	list[0].Tags["team"] = "changed"
	var kept *push.Topic
	_, err = d.UpdateTopic(t.Context(), topic.ARN, func(topic *push.Topic) error { kept = topic; topic.DisplayName = "new"; return nil })
	must(t, err)
	kept.DisplayName, kept.Tags["team"] = "changed", "changed"
	got := topicNow(t, d, "a")
	want.DisplayName, want.Version = "new", got.Version
	equal(t, "topic", got, want)
}

func (directorySuite) deleteTopic(t *testing.T, d snsapi.Directory) {
	createTopic(t, d, "a")
	createTopic(t, d, "ab")
	a, ab := subscribe(t, d, newSubscription("a", 1)), subscribe(t, d, newSubscription("ab", 1))
	now := epoch.Add(time.Hour)
	must(t, d.DeleteTopic(t.Context(), topicARN("a"), now))
	_, err := d.Topic(t.Context(), topicARN("a"))
	wantNotFound(t, "deleted topic", err)
	a.DeletedAt = now
	equal(t, "tombstone", subscriptionNow(t, d, a.ARN), a)
	equal(t, "another topic's subscription", subscriptionNow(t, d, ab.ARN), ab)
	if _, _, err := d.Subscriptions(t.Context(), topicARN("a"), "", long); err != nil {
		wantNotFound(t, "subscriptions of a deleted topic", err)
	}
	all, _, err := d.AllSubscriptions(t.Context(), "", long)
	must(t, err)
	equal(t, "all subscriptions", all, []push.Subscription{ab})
}

func (directorySuite) recreateTopic(t *testing.T, d snsapi.Directory) {
	first := createTopic(t, d, "a")
	for n := range 3 {
		subscribe(t, d, newSubscription("a", n))
	}
	highest := topicNow(t, d, "a").Version
	must(t, d.DeleteTopic(t.Context(), first.ARN, epoch))
	again := createTopic(t, d, "a")
	if again.Version <= highest {
		t.Errorf("version of the new topic is %d, of the old one it was %d", again.Version, highest)
	}
	equal(t, "live counts", [2]int{again.Confirmed, again.Pending}, [2]int{})
	subs, _, err := d.Subscriptions(t.Context(), first.ARN, "", long)
	must(t, err)
	equal(t, "subscriptions of the new topic", subs, []push.Subscription{})
	subscribe(t, d, withARN(newSubscription("a", 0), 9)) // the endpoint is free again
}

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

func (directorySuite) pages(t *testing.T, d snsapi.Directory) {
	const topics, subs = 7, 23
	var wantTopics, wantSubs, wantAll []string
	for _, n := range []int{4, 2, 6, 0, 5, 1, 3} {
		wantTopics = append(wantTopics, createTopic(t, d, fmt.Sprint("t", n)).ARN)
	}
	for n := range subs {
		s := newSubscription("t3", n*7%subs)
		wantSubs = append(wantSubs, subscribe(t, d, s).ARN)
		wantAll = append(wantAll, s.ARN, subscribe(t, d, newSubscription("t5", n)).ARN)
	}
	gone := newSubscription("t3", 11)
	_, err := d.DeleteSubscription(t.Context(), gone.ARN, epoch)
	must(t, err)
	wantSubs = slices.DeleteFunc(wantSubs, func(s string) bool { return s == gone.ARN })
	wantAll = slices.DeleteFunc(wantAll, func(s string) bool { return s == gone.ARN })
	slices.Sort(wantTopics)
	slices.Sort(wantSubs)
	slices.Sort(wantAll)
	arn := func(s push.Subscription) string { return s.ARN }
	for _, size := range []int{1, 3, 22, 23, 24, long} {
		equal(t, "topics", walk(t, size, func(t push.Topic) string { return t.ARN }, func(after string) ([]push.Topic, string, error) {
			return d.Topics(t.Context(), after, size)
		}), wantTopics)
		equal(t, "a topic's subscriptions", walk(t, size, arn, func(after string) ([]push.Subscription, string, error) {
			return d.Subscriptions(t.Context(), topicARN("t3"), after, size)
		}), wantSubs)
		equal(t, "all subscriptions", walk(t, size, arn, func(after string) ([]push.Subscription, string, error) {
			return d.AllSubscriptions(t.Context(), after, size)
		}), wantAll)
	}
	// What a page ended with may be gone when the next is asked for.
	page, _, err := d.Subscriptions(t.Context(), topicARN("t3"), gone.ARN, long)
	must(t, err)
	equal(t, "subscriptions behind a deleted one", len(page), subs-12)
}

// walk follows a listing page by page.
func walk[T any](t *testing.T, size int, name func(T) string, list func(after string) ([]T, string, error)) (all []string) {
	t.Helper()
	for after := ""; ; {
		page, next, err := list(after)
		must(t, err)
		if len(page) > size {
			t.Fatalf("page of %d, asked for %d", len(page), size)
		}
		for _, item := range page {
			all = append(all, name(item))
		}
		if next == "" {
			return all
		}
		if next <= after {
			t.Fatalf("page behind %q continues at %q", after, next)
		}
		after = next
	}
}

func (directorySuite) concurrentCreate(t *testing.T, d snsapi.Directory) {
	createTopic(t, d, "a")
	var wg sync.WaitGroup
	var mu sync.Mutex
	arns, winners := map[string]bool{}, 0
	for n := range 16 {
		wg.Go(func() {
			got, created, err := d.CreateSubscription(t.Context(), withARN(newSubscription("a", 1), n))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			arns[got.ARN] = true
			if created {
				winners++
			}
		})
	}
	wg.Wait()
	equal(t, "ARNs given out and subscriptions created", [2]int{len(arns), winners}, [2]int{1, 1})
	equal(t, "confirmed", topicNow(t, d, "a").Confirmed, 1)
}

func (directorySuite) concurrentUpdates(t *testing.T, d snsapi.Directory) {
	createTopic(t, d, "a")
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			if _, _, err := d.CreateSubscription(t.Context(), newSubscription("a", n)); err != nil {
				t.Error(err)
			}
			_, err := d.UpdateTopic(t.Context(), topicARN("a"), func(topic *push.Topic) error {
				topic.Tags[fmt.Sprint("tag", n)] = "v"
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	topic := topicNow(t, d, "a")
	equal(t, "tags and confirmed", [2]int{len(topic.Tags), topic.Confirmed}, [2]int{8 + len(newTopic("a").Tags), 8})
}

func (s directorySuite) restart(t *testing.T, d snsapi.Directory) {
	createTopic(t, d, "a")
	must(t, d.DeleteTopic(t.Context(), createTopic(t, d, "gone").ARN, epoch))
	subscribe(t, d, newSubscription("a", 1))
	stone := subscribe(t, d, newSubscription("a", 2))
	_, err := d.DeleteSubscription(t.Context(), stone.ARN, epoch)
	must(t, err)
	topic, live, stone := topicNow(t, d, "a"), subscriptionNow(t, d, newSubscription("a", 1).ARN), subscriptionNow(t, d, stone.ARN)

	d = s.Reopen(t, d)
	equal(t, "topic", topicNow(t, d, "a"), topic)
	equal(t, "subscription", subscriptionNow(t, d, live.ARN), live)
	equal(t, "tombstone", subscriptionNow(t, d, stone.ARN), stone)
	_, err = d.Topic(t.Context(), topicARN("gone"))
	wantNotFound(t, "a deleted topic", err)
	got, err := d.ByToken(t.Context(), live.Token)
	must(t, err)
	equal(t, "subscription by token", got, live)
	all, _, err := d.AllSubscriptions(t.Context(), "", long)
	must(t, err)
	equal(t, "all subscriptions", all, []push.Subscription{live})
	if again := createTopic(t, d, "gone"); again.Version <= topic.Version {
		t.Errorf("a topic made after a restart has version %d, there was %d", again.Version, topic.Version)
	}
}
