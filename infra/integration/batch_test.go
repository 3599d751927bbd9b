//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/uuid"

	"postino/shared/push"
)

// job makes a first attempt as Publish would have.
func job(subscription, message string) push.Job {
	return push.Job{Kind: push.Notification, Subscription: subscription, Generation: "0", Attempt: 1,
		Message: push.Message{ID: uuid.NewString(), TopicARN: push.TopicOf(subscription), Body: message, Timestamp: time.Now().UTC().Truncate(time.Millisecond)}}
}

// batchOf is the event in which the function would get the jobs: m0, m1 and so on.
func batchOf(t *testing.T, s *stack, jobs ...push.Job) []byte {
	t.Helper()
	var event events.SQSEvent
	for n, j := range jobs {
		event.Records = append(event.Records, events.SQSMessage{MessageId: fmt.Sprint("m", n), Body: j.Encode(),
			Attributes: map[string]string{"ApproximateReceiveCount": "1"}, EventSource: "aws:sqs",
			EventSourceARN: s.attribute(s.output("AttemptQueueUrl"), sqstypes.QueueAttributeNameQueueArn)})
	}
	raw, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestAMessageThatIsNoJobIsParkedAndItsBatchGoesOn(t *testing.T) {
	t.Parallel()
	s, e := deployed(t), listen(t)
	topic := s.topic()
	subscription := s.subscribe(topic, e, nil)
	bodies := []string{"no job " + uuid.NewString()}
	for _, m := range ten()[:9] {
		bodies = append(bodies, job(subscription, m).Encode())
	}
	s.send("AttemptQueueUrl", bodies...)
	if got := e.messages(9); len(got) != 9 {
		t.Errorf("pushed were %v", got)
	}
	s.parked(bodies[0])
	e.quiet(time.Second)
}

// parked waits for a message in FailedJobsQueue, with the reason why it is there.
func (s *stack) parked(body string) {
	s.t.Helper()
	m := s.takeFrom(s.output("FailedJobsQueueUrl"), func(m sqstypes.Message) bool { return *m.Body == body })
	if a := attributeOf(m, "Reason"); a.StringValue == nil || *a.StringValue == "" {
		s.t.Errorf("it carries no reason: %v", m.MessageAttributes)
	}
}

// Neither its subscription can be read nor can it be put back: that one comes
// back, and the nine others do not.
func TestOneOfTenThatCannotBeHandledComesBackAlone(t *testing.T) {
	t.Parallel()
	s, e := own(t, nil), listen(t)
	aws := stand(t, s, "Deliver")
	topic := s.topic()
	good, bad := s.seed(topic, e.url), s.seed(topic, e.url+"/bad")
	aws.failing(func(c call) *fault {
		if strings.Contains(c.body, bad[len(topic)+1:]) {
			return broken
		}
		return nil
	})
	jobs := make([]push.Job, 0, 10)
	for n, m := range ten() {
		subscription := good
		if n == 4 {
			subscription = bad
		}
		jobs = append(jobs, job(subscription, m))
	}
	if body, fault := s.invoke("Deliver", batchOf(t, s, jobs...)); fault != "" || !strings.Contains(strings.ReplaceAll(string(body), " ", ""), `{"batchItemFailures":[{"itemIdentifier":"m4"}]}`) {
		t.Errorf("the function answers %s", body)
	}
	for m, n := range e.messages(9) {
		if n != 1 || m == ten()[4] {
			t.Errorf("%q was pushed %d times", m, n)
		}
	}
	e.quiet(time.Second)

	// The same from the queue, and then it is put right.
	s.visibility("AttemptQueueUrl", 8*time.Second)
	bodies := make([]string, 0, 10)
	for _, j := range jobs {
		j.Message.ID = uuid.NewString()
		bodies = append(bodies, j.Encode())
	}
	s.send("AttemptQueueUrl", bodies...)
	if got := e.messages(9); got[ten()[4]] != 0 {
		t.Errorf("pushed were %v", got)
	}
	aws.failing(nil)
	if p := e.next(); p.Message != ten()[4] || p.path != "/hook/bad" {
		t.Errorf("pushed was %s", p.body)
	}
	e.quiet(3 * time.Second)
}

// SQS may hand out a message twice; the second finds the claim of the first.
func TestARetryThatComesTwiceIsPushedOnce(t *testing.T) {
	t.Parallel()
	s, e := own(t, nil), listen(t)
	topic := s.topic()
	s.subscribe(topic, e, policy(2, 1800))
	e.answer(http.StatusServiceUnavailable, http.StatusOK)
	id := s.publish(topic, "twice in hand")
	e.next()
	j, err := push.DecodeJob(*s.schedule().Target.Input)
	if err != nil {
		t.Fatal(err)
	}
	j.NotBefore = time.Time{} // now, for the test's sake
	s.send("RetryQueueUrl", j.Encode(), j.Encode())
	if p := e.next(); p.MessageId != id {
		t.Errorf("pushed was %s", p.body)
	}
	e.quiet(3 * time.Second)
}

// The same of a first attempt, which nothing claims: both copies are pushed, and
// the retries behind them are one chain with one dead letter, sent at least once.
func TestAFirstAttemptThatComesTwiceAndFailsHasOneChainOfRetries(t *testing.T) {
	t.Parallel()
	for name, together := range map[string]bool{"side by side": true, "one after the other": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, e := own(t, nil), listen(t)
			topic := s.topic()
			url, arn := s.queue("it")
			subscription := s.subscribe(topic, e, merged(policy(2, 3), redrive(arn)))
			j := job(subscription, name)
			both := make(chan struct{}, 2)
			failed := status(http.StatusServiceUnavailable)
			if together { // each waits for the other before it fails
				meet := func(w http.ResponseWriter, r *http.Request) {
					both <- struct{}{}
					for deadline := time.Now().Add(10 * time.Second); len(both) < 2 && time.Now().Before(deadline); {
						<-time.After(10 * time.Millisecond)
					}
					failed(w, r)
				}
				e.on("Notification", meet, meet, failed)
				s.send("AttemptQueueUrl", j.Encode(), j.Encode())
			} else {
				e.on("Notification", failed)
				s.send("AttemptQueueUrl", j.Encode())
				s.eventually("the first copy's failure is on record", func() bool { return len(s.recorded(subscription, push.Finished)) == 1 })
				s.send("AttemptQueueUrl", j.Encode())
			}
			for range 4 { // two first attempts, two retries
				if p := e.next(); p.MessageId != j.Message.ID {
					t.Errorf("pushed was %s", p.body)
				}
			}
			if together && len(both) != 2 {
				t.Error("the copies were not pushed side by side")
			}
			letter := s.takeFrom(url, anything)
			if n := note(t, letter); n.Attempts != 3 {
				t.Errorf("the note says %+v", n)
			}
			e.quiet(8 * time.Second) // twice a retry's delay
			// A letter is on record once it has been sent: a copy of the job that comes
			// in between sends it again.
			s.empty(url, otherThan(letter))
		})
	}
}
