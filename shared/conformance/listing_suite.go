package conformance

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"postino/shared/push"
	"postino/shared/snsapi"
)

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
