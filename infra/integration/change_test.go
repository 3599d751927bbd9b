//go:build integration

package integration

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sns"
)

// A subscription is kept in a function's memory for five seconds at most; changes
// are seen by whatever comes later than that.
const remembered = 5 * time.Second

func TestAnUnsubscribedEndpointGetsNoMoreRetries(t *testing.T) {
	t.Parallel()
	s, e := deployed(t), listen(t)
	topic := s.topic()
	delay := remembered + 3*time.Second
	subscription := s.subscribe(topic, e, policy(3, int(delay.Seconds())))
	e.answer(http.StatusServiceUnavailable)
	id := s.publish(topic, "one attempt")
	e.next()
	if _, err := s.sns.Unsubscribe(t.Context(), &sns.UnsubscribeInput{SubscriptionArn: &subscription}); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(delay + 6*time.Second); time.Now().Before(deadline); {
		select {
		case p := <-e.got:
			if p.Type != "UnsubscribeConfirmation" {
				t.Errorf("pushed was %s", p.body)
			}
		case <-time.After(time.Until(deadline)):
		}
	}
	s.empty(s.output("DeadLetterQueueUrl"), holding(id)) // the user's act ended it
}

func TestAShortenedPolicyEndsADeliveryAtItsNextFailure(t *testing.T) {
	t.Parallel()
	s, e := deployed(t), listen(t)
	topic := s.topic()
	delay := remembered + 3*time.Second
	subscription := s.subscribe(topic, e, policy(50, int(delay.Seconds())))
	e.answer(http.StatusServiceUnavailable)
	id := s.publish(topic, "shortened")
	first := e.next()
	s.setAttribute(subscription, "DeliveryPolicy", policy(1, 1)["DeliveryPolicy"])
	e.after(first, delay) // a due time that is set stands
	if n := note(t, s.deadLetter(id)); n.Attempts != 2 {
		t.Errorf("the note says %+v", n)
	}
	e.quiet(2 * time.Second)
}

func TestAChangedDeadLetterQueueTakesTheLettersFromThenOn(t *testing.T) {
	t.Parallel()
	s, e := deployed(t), listen(t)
	topic := s.topic()
	before, arn := s.queue("it")
	after, other := s.queue("it")
	delay := remembered + 3*time.Second
	subscription := s.subscribe(topic, e, merged(policy(1, int(delay.Seconds())), redrive(arn)))
	e.answer(http.StatusServiceUnavailable)
	s.publish(topic, "moved")
	first := e.next()
	s.setAttribute(subscription, "RedrivePolicy", redrive(other)["RedrivePolicy"])
	e.after(first, delay)
	if n := note(t, s.takeFrom(after, anything)); n.Attempts != 2 {
		t.Errorf("the note says %+v", n)
	}
	s.empty(before, anything)
}

// Retries that wait in queues and in schedules are made by what was deployed
// meanwhile, which is told by the URL that its links begin with. They wait longer than
// a stack takes to be updated.
func TestRetriesOutliveADeploymentAndAreMadeByWhatItDeployed(t *testing.T) {
	t.Parallel()
	s, soon, later := own(t, map[string]string{"QueueDelaySeconds": "40"}), listen(t), listen(t)
	topic := s.topic()
	s.subscribe(topic, soon, policy(3, 30))
	s.subscribe(topic, later, policy(3, 50))
	for _, e := range []*endpoint{soon, later} {
		e.answer(http.StatusServiceUnavailable, http.StatusOK)
	}
	id := s.publish(topic, "across versions")
	queued, scheduled := soon.next(), later.next()
	s.schedule()
	const deployedMeanwhile = "https://deployed-meanwhile.example.com"
	s.deploy(map[string]string{"LogLevel": "debug", "PublicURL": deployedMeanwhile})
	for e, delay := range map[*endpoint]time.Duration{soon: 30 * time.Second, later: 50 * time.Second} {
		last := queued
		if e == later {
			last = scheduled
		}
		p := e.after(last, delay)
		if p.MessageId != id {
			t.Errorf("pushed was %s", p.body)
		}
		if !strings.HasPrefix(p.UnsubscribeURL, deployedMeanwhile+"/") || !strings.HasPrefix(p.SigningCertURL, deployedMeanwhile+"/") ||
			strings.HasPrefix(last.UnsubscribeURL, deployedMeanwhile) {
			t.Errorf("the links are those of before: %s", p.body)
		}
	}
	soon.quiet(2 * time.Second)
	later.quiet(2 * time.Second)
}
