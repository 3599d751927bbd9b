package host_test

import (
	"fmt"
	"testing"
	"time"

	"postino/shared/pipeline"
)

func TestPromise1EverySubscriptionOfALargeTopicGetsTheMessage(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := receive(t, statuses(200))
	topic := s.topic("large")
	const subscriptions = 250 // the limit for fan-out before the answer is 100
	for i := range subscriptions {
		s.subscribe(topic, r, r.at(fmt.Sprint("/", i)))
	}
	id := s.publish(topic, "to all")
	paths := map[string]int{}
	for _, a := range take(t, r.got, subscriptions) {
		paths[a.path]++
		if a.id() != id {
			t.Errorf("message %s came", a.id())
		}
	}
	if len(paths) != subscriptions {
		t.Errorf("%d of %d endpoints got the message", len(paths), subscriptions)
	}
	s.events.wait(t, subscriptions, kind(pipeline.EventDelivered))
	r.nothing(t)
}

func TestPromise5EndpointsThatHangDoNotHoldUpTheOthers(t *testing.T) {
	t.Parallel()
	s := start(t)
	healthy, hanging := receive(t, statuses(200)), receive(t, statuses(hang))
	topic := s.topic("mixed")
	const subscriptions, sick, messages = 20, 2, 100
	for i := range subscriptions {
		r := healthy
		if i < sick {
			r = hanging
		}
		s.subscribe(topic, r, r.at(fmt.Sprint("/", i)))
	}
	began := time.Now()
	published := map[string]time.Time{}
	for i := range messages {
		published[s.publish(topic, fmt.Sprint("message ", i))] = time.Now()
	}
	got := take(t, healthy.got, messages*(subscriptions-sick))
	var slowest time.Duration
	for _, a := range got {
		slowest = max(slowest, a.at.Sub(published[a.id()]))
	}
	t.Logf("%d deliveries beside two endpoints that hang took %s, the slowest one %s", len(got),
		got[len(got)-1].at.Sub(began).Round(time.Millisecond), slowest.Round(time.Millisecond))
	// A hanging push holds its place for 15 s: had another waited for one, this
	// would show it even on a busy machine.
	if slowest > 10*time.Second {
		t.Errorf("a healthy endpoint waited %s for its message", slowest)
	}
	for _, e := range s.events.wait(t, len(got), kind(pipeline.EventDelivered)) {
		if e.Attempt.Number != 1 {
			t.Errorf("a healthy endpoint took attempt %d", e.Attempt.Number)
		}
	}
	healthy.nothing(t)
}
