//go:build integration

package integration

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// A topic beyond the inline limit of 100 goes through the FanoutQueue, page by
// page; here more than two.
func TestALargeTopicReachesEverySubscriberOnce(t *testing.T) {
	t.Parallel()
	const subscribers = 250
	s, e := own(t, nil), listen(t)
	publish, fanout := stand(t, s, "Publish"), stand(t, s, "Fanout")
	topic := s.topic()
	want := map[string]string{}
	for n := range subscribers {
		want[s.seed(topic, fmt.Sprintf("%s/%d", e.url, n))] = fmt.Sprintf("/hook/%d", n)
	}
	id := s.publish(topic, "to all")
	served, twice := map[string]bool{}, 0
	for len(served) < subscribers {
		p := e.next()
		subscription := p.header.Get("X-Amz-Sns-Subscription-Arn")
		if p.MessageId != id || want[subscription] != p.path {
			t.Fatalf("%s got %s at %s, which belongs at %q", subscription, p.body, p.path, want[subscription])
		}
		if served[subscription] {
			twice++
		}
		served[subscription] = true
	}
	if twice == 0 {
		e.quiet(3 * time.Second)
	}
	calls := publish.take()
	if pages, jobs := count(calls, toQueue(s.output("FanoutQueueUrl"))), count(calls, toQueue(s.output("AttemptQueueUrl"))); pages != 1 || jobs != 0 {
		t.Errorf("Publish sent %d times to FanoutQueue and %d times to AttemptQueue, want once and never: %v", pages, jobs, operations(calls))
	}
	calls = fanout.take()
	// An emulator that is busy may not answer a call in time, which is then made again.
	if again := count(calls, toQueue(s.output("AttemptQueueUrl"))) - subscribers/10; twice > 10*again {
		t.Errorf("%d subscribers were served twice, and only %d calls were made again", twice, again)
	}
	if steps := count(calls, func(c call) bool { return c.operation == "Query" }); steps != 3 || count(calls, toQueue(s.output("AttemptQueueUrl"))) == 0 {
		t.Errorf("Fanout read %d pages of subscriptions, want three, and sent their jobs: %v", steps, operations(calls))
	}
}

// A page of which a part could not be sent is worked off when that is put right;
// what was sent may come again, nothing is missing.
func TestAFanoutThatIsInterruptedIsFinished(t *testing.T) {
	t.Parallel()
	const subscribers = 120
	s, e := own(t, nil), listen(t)
	aws := stand(t, s, "Fanout")
	topic := s.topic()
	missing := map[string]bool{}
	for n := range subscribers {
		missing[s.seed(topic, fmt.Sprintf("%s/%d", e.url, n))] = true
	}
	var sends atomic.Int64
	aws.failing(func(c call) *fault {
		if c.send() && sends.Add(1) > 4 {
			return &fault{http.StatusInternalServerError, "InternalError", "Internal error"}
		}
		return nil
	})
	s.visibility("FanoutQueueUrl", 2*time.Second)
	s.publish(topic, "to all")
	s.eventually("sends have failed", func() bool { return count(aws.take(), call.send) > 4 })
	aws.failing(nil)
	for len(missing) > 0 {
		delete(missing, e.next().header.Get("X-Amz-Sns-Subscription-Arn"))
	}
}
