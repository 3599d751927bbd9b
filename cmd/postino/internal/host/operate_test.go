package host_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sns"

	"postino/shared/operator"
	"postino/shared/pipeline"
	"postino/shared/push"
)

func TestUnsubscribingBetweenAttemptsDropsTheDelivery(t *testing.T) {
	t.Parallel()
	s := start(t)
	for name, act := range map[string]func(topic, arn string){
		"unsubscribe": func(_, arn string) {
			must[*sns.UnsubscribeOutput](t)(s.Unsubscribe(t.Context(), &sns.UnsubscribeInput{SubscriptionArn: &arn}))
		},
		"delete the topic": func(topic, _ string) {
			must[*sns.DeleteTopicOutput](t)(s.DeleteTopic(t.Context(), &sns.DeleteTopicInput{TopicArn: &topic}))
		},
	} {
		r := receive(t, statuses(503))
		topic := s.topic("left")
		arn := s.subscribe(topic, r, r.at("/l"), "DeliveryPolicy", everySecond(5), "RedrivePolicy", redriveTo("dlq"))
		id := s.publish(topic, "hello")
		of := func(k pipeline.EventKind) func(pipeline.Event) bool {
			return func(e pipeline.Event) bool { return e.Kind == k && e.MessageID == id }
		}
		s.events.wait(t, 1, of(pipeline.EventRetry))
		act(topic, arn)
		if e := s.events.wait(t, 1, of(pipeline.EventDropped))[0]; e.Reason == "" {
			t.Errorf("%s: dropped without a reason", name)
		}
		next(t, r.got)
		r.nothing(t)
		if d := s.show(id); d.State != push.Dropped || d.Attempts != 1 || d.Reason == "" {
			t.Errorf("%s: shown as %+v", name, d)
		}
	}
	if page := must[operator.DeadLetterPage](t)(s.operator.ListDeadLetters(t.Context(), "DeadLetterQueue", "", 10)); len(page.DeadLetters) != 0 {
		t.Errorf("a user's act made dead letters: %+v", page)
	}
}

func TestAChangedPolicyCountsFromTheNextFailure(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := receive(t, statuses(503))
	topic := s.topic("changed")
	arn := s.subscribe(topic, r, r.at("/c"), "DeliveryPolicy", everySecond(50))
	id := s.publish(topic, "hello")
	planned := s.events.wait(t, 1, kind(pipeline.EventRetry))[0]
	s.set(arn, "DeliveryPolicy", immediate(1))
	s.events.wait(t, 1, kind(pipeline.EventDead))
	take(t, r.got, 2)
	r.nothing(t)
	d := s.show(id)
	if d.Attempts != 2 || d.State != push.Dead {
		t.Errorf("shown as %+v", d)
	}
	// The due time that was set before the change stands.
	if h := d.History; h[1].Started.Before(planned.At) || h[1].Started.Sub(h[0].Ended) < time.Second {
		t.Errorf("attempt 2 began at %s, planned was %s", h[1].Started, planned.At)
	}
}

func TestPromise3APausedSubscriptionBurnsNoAttempt(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := receive(t, statuses(503, 200))
	topic := s.topic("paused")
	arn := s.subscribe(topic, r, r.at("/p"), "DeliveryPolicy", everySecond(1))
	first := s.publish(topic, "its first attempt fails before the pause")
	next(t, r.got)
	s.events.wait(t, 1, kind(pipeline.EventRetry))
	if p := must[operator.Subscription](t)(s.operator.Pause(t.Context(), arn)); !p.Paused || !p.Changed {
		t.Errorf("pause answers %+v", p)
	}
	second := s.publish(topic, "published in the pause")
	for _, id := range []string{first, second} {
		e := s.events.wait(t, 1, func(e pipeline.Event) bool { return e.Kind == pipeline.EventWait && e.MessageID == id })[0]
		if e.Reason != "the subscription is paused" {
			t.Errorf("waits because %s", e.Reason)
		}
	}
	r.nothing(t)
	must[operator.Subscription](t)(s.operator.Resume(t.Context(), arn))
	s.events.wait(t, 2, kind(pipeline.EventDelivered))
	for _, id := range []string{first, second} {
		if d := s.show(id); d.Attempts != 2 || d.State != push.Delivered {
			t.Errorf("shown as %+v", d)
		}
	}
}

func TestPromise3AThrottledSubscriptionGetsItsRateAndBurnsNoAttempt(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := receive(t, statuses(200))
	const rate, messages = 5, 21
	topic := s.topic("slow")
	s.subscribe(topic, r, r.at("/s"), "DeliveryPolicy", fmt.Sprintf(`{"throttlePolicy":{"maxReceivesPerSecond":%d}}`, rate))
	for i := range messages {
		s.publish(topic, fmt.Sprint("message ", i))
	}
	got := take(t, r.got, messages)
	for _, e := range s.events.wait(t, messages, kind(pipeline.EventDelivered)) {
		if e.Attempt.Number != 1 {
			t.Errorf("message %s was taken at attempt %d", e.MessageID, e.Attempt.Number)
		}
	}
	r.nothing(t)
	within := 0
	for _, a := range got {
		if a.at.Sub(got[0].at) < 3*time.Second {
			within++
		}
	}
	// 3 s at 5/s are 15 and the one at the start; a slot is held for a moment
	// before it is used, which can move a push or two over either edge.
	if within < 11 || within > 18 {
		t.Errorf("%d came within 3 s, at a rate of %d/s", within, rate)
	}
	if took := got[messages-1].at.Sub(got[0].at); took < 3500*time.Millisecond || took > 8*time.Second {
		t.Errorf("%d messages at %d/s took %s", messages, rate, took)
	}
}
