package conformance

import (
	"errors"
	"fmt"
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
		ARN: topicARN(name), DisplayName: "Topic " + name, SignatureVersion: "2", SuccessSampleRate: "5",
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
