//go:build integration

package integration

import (
	"net/http"
	"testing"
	"time"
)

// What docs/cost.md reckons with: a push that succeeds writes nothing.
func TestAPushThatSucceedsWritesNothingToTheTable(t *testing.T) {
	t.Parallel()
	s, e := own(t, nil), listen(t)
	aws := stand(t, s, "Publish", "Deliver")
	topic := s.topic()
	s.subscribe(topic, e, nil)
	s.publish(topic, "warm") // both functions are up, and have what they keep
	e.next()
	e.quiet(time.Second)
	aws.take()
	s.publishAll(topic, ten()...)
	e.messages(10)
	e.quiet(time.Second)
	calls := aws.take()
	if writes := count(calls, call.write); writes != 0 {
		t.Errorf("%d writes, want none: %v", writes, operations(calls))
	}
	if sends := count(calls, call.send); sends != 1 {
		t.Errorf("ten messages were sent to the queue in %d calls, want one: %v", sends, operations(calls))
	}
}

// A failed attempt is settled and what follows it is sent and claimed, and the last
// is settled, buried and ended: two writes and one send each.
func TestAnAttemptThatFailsAndTheNextOnesClaimCostTwoWritesAndOneSend(t *testing.T) {
	t.Parallel()
	s, e := own(t, nil), listen(t)
	aws := stand(t, s, "Deliver")
	topic := s.topic()
	url, arn := s.queue("it")
	s.subscribe(topic, e, merged(policy(3, 1), redrive(arn)))
	// While an attempt waits for its answer nothing else is under way: what was
	// called since the one before waited has settled that one, and claimed this one.
	costs := make(chan []call, 10)
	e.on("Notification", func(w http.ResponseWriter, _ *http.Request) {
		costs <- aws.take()
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	id := s.publish(topic, "costly")
	for range 4 {
		if p := e.next(); p.MessageId != id {
			t.Fatalf("pushed was %s", p.body)
		}
	}
	s.takeFrom(url, anything)
	e.quiet(time.Second)
	costs <- aws.take()
	<-costs // what came before the first attempt
	for n := range 4 {
		calls := <-costs
		if writes, sends := count(calls, call.write), count(calls, call.send); writes != 2 || sends != 1 {
			t.Errorf("what followed attempt %d took %d writes and %d sends: %v", n+1, writes, sends, operations(calls))
		}
	}
}

func operations(calls []call) (names []string) {
	for _, c := range calls {
		names = append(names, c.operation)
	}
	return names
}
