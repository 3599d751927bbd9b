//go:build integration

package integration

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func TestADeadLetterIsSentAgainOnDemandAndOneThatFailsAgainIsDeadAgain(t *testing.T) {
	t.Parallel()
	s, e := deployed(t), listen(t)
	topic := s.topic()
	s.subscribe(topic, e, policy(0, 1))
	e.answer(http.StatusInternalServerError, http.StatusInternalServerError, http.StatusOK)
	id := s.publish(topic, "second chance")
	first := e.next()
	letter := s.deadLetter(id)
	s.redrive(letter)
	if p := e.next(); p.body != first.body {
		t.Errorf("sent again was %s, at first it was %s", p.body, first.body)
	}
	again := s.deadLetter(id)
	if n := note(t, again); n.Redrives != 1 || *again.Body != first.body {
		t.Errorf("the note of the second letter says %+v", n)
	}
	// One redrive is allowed (POSTINO_MAX_REDRIVES): the letter stays.
	if failures := s.redrive(again); len(failures) != 1 {
		t.Errorf("a second redrive was allowed: %v", failures)
	}
	e.quiet(2 * time.Second)
}

// redrive invokes the function on demand with a letter, as an event source would.
func (s *stack) redrive(m sqstypes.Message) []events.SQSBatchItemFailure {
	s.t.Helper()
	return s.redriveFrom("DeadLetterQueueUrl", m)
}

func (s *stack) redriveFrom(queue string, m sqstypes.Message) []events.SQSBatchItemFailure {
	s.t.Helper()
	record := events.SQSMessage{MessageId: *m.MessageId, ReceiptHandle: *m.ReceiptHandle, Body: *m.Body, Attributes: m.Attributes,
		EventSource: "aws:sqs", EventSourceARN: s.attribute(s.output(queue), sqstypes.QueueAttributeNameQueueArn),
		MessageAttributes: map[string]events.SQSMessageAttribute{}}
	for name, a := range m.MessageAttributes {
		record.MessageAttributes[name] = events.SQSMessageAttribute{DataType: *a.DataType, StringValue: a.StringValue}
	}
	event, err := json.Marshal(events.SQSEvent{Records: []events.SQSMessage{record}})
	if err != nil {
		s.t.Fatal(err)
	}
	body, fault := s.invoke("Redrive", event)
	var out events.SQSEventResponse
	if fault != "" || json.Unmarshal(body, &out) != nil {
		s.t.Fatalf("redrive answers %s", body)
	}
	return out.BatchItemFailures
}

// With its event source on, letters are sent again by themselves: one is taken at
// last, one is refused again and stays in the dead-letter queue.
func TestDeadLettersAreSentAgainByThemselvesOnceTheEventSourceIsOn(t *testing.T) {
	t.Parallel()
	s, healed, sick := own(t, nil), listen(t), listen(t)
	topic := s.topic()
	s.subscribe(topic, healed, policy(0, 1))
	s.subscribe(topic, sick, policy(0, 1))
	healed.answer(http.StatusInternalServerError, http.StatusOK)
	sick.answer(http.StatusInternalServerError)
	s.publish(topic, "by itself")
	for _, e := range []*endpoint{healed, sick} {
		e.next()
	}
	s.visibility("DeadLetterQueueUrl", 5*time.Second)
	s.eventSource("Redrive", "DeadLetterQueueUrl", true)
	for _, e := range []*endpoint{healed, sick} {
		if p := e.next(); p.Message != "by itself" {
			t.Errorf("pushed was %s", p.body)
		}
		e.quiet(4 * time.Second)
	}
	s.eventSource("Redrive", "DeadLetterQueueUrl", false)
	letter := s.takeFrom(s.output("DeadLetterQueueUrl"), anything)
	if n := note(t, letter); n.Redrives != 1 || n.Attempts != 1 {
		t.Errorf("the note says %+v", n)
	}
	<-time.After(6 * time.Second) // were there another, it would be visible now
	s.empty(s.output("DeadLetterQueueUrl"), anything)
}

// A job that Postino itself could not handle goes on where it was: the same
// attempt, not one more.
func TestAJobOfFailedJobsQueueGoesOnWithItsAttempt(t *testing.T) {
	t.Parallel()
	s, e := own(t, nil), listen(t)
	topic := s.topic()
	subscription := s.seed(topic, e.url, noRetries)
	e.answer(http.StatusInternalServerError)
	j := job(subscription, "set aside")
	failed := s.redriveFrom("FailedJobsQueueUrl", sqstypes.Message{MessageId: aws.String("m"), ReceiptHandle: aws.String("m"), Body: aws.String(j.Encode())})
	if len(failed) != 0 {
		t.Fatalf("it came back: %+v", failed)
	}
	if p := e.next(); p.MessageId != j.Message.ID {
		t.Errorf("pushed was %s", p.body)
	}
	if n := note(t, s.deadLetter(j.Message.ID)); n.Attempts != 1 || n.Redrives != 0 {
		t.Errorf("the note says %+v", n)
	}
}
