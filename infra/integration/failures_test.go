//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/uuid"

	"postino/shared/push"
)

func batch(topic string, messages ...string) *sns.PublishBatchInput {
	in := &sns.PublishBatchInput{TopicArn: &topic}
	for _, m := range messages {
		in.PublishBatchRequestEntries = append(in.PublishBatchRequestEntries, snstypes.PublishBatchRequestEntry{Id: &m, Message: &m})
	}
	return in
}

// A wait beyond a queue's 15 minutes is a schedule, which aims a minute early and
// at whole minutes.
func TestALongWaitGoesThroughASchedule(t *testing.T) {
	s, e := deployed(t), listen(t)
	topic := s.topic()
	subscription := s.subscribe(topic, e, policy(2, 1800))
	e.answer(http.StatusServiceUnavailable)
	id := s.publish(topic, "much later")
	failed := e.next().at

	schedule := s.scheduleOf(id)
	job, err := push.DecodeJob(*schedule.Target.Input)
	if err != nil {
		t.Fatal(err)
	}
	if job.Subscription != subscription || job.Attempt != 2 || job.Message.Body != "much later" {
		t.Errorf("the job is %+v", job)
	}
	if wait := job.NotBefore.Sub(failed); wait < 1799*time.Second || wait > 1990*time.Second { // a tenth of it is jitter
		t.Errorf("the next attempt is due after %v, the policy says 30 minutes", wait)
	}
	if want := "at(" + job.NotBefore.Add(-time.Minute).Truncate(time.Minute).UTC().Format("2006-01-02T15:04:05") + ")"; *schedule.ScheduleExpression != want {
		t.Errorf("it fires %s, want %s", *schedule.ScheduleExpression, want)
	}
	if !strings.Contains(*schedule.Target.Arn, "RetryQueue") || !strings.Contains(*schedule.Target.DeadLetterConfig.Arn, "FailedJobsQueue") || schedule.ActionAfterCompletion != "DELETE" {
		t.Errorf("the schedule is %+v", schedule)
	}

	// What Scheduler would send comes early: Deliver waits for the due time.
	s.send("RetryQueueUrl", *schedule.Target.Input)
	e.quiet(3 * time.Second)
}

// scheduleOf waits for the schedule of a message's delivery, and removes it with
// the test.
func (s *stack) scheduleOf(messageID string) *scheduler.GetScheduleOutput {
	s.t.Helper()
	group := s.output("ScheduleGroupName")
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(200 * time.Millisecond) {
		page, err := s.scheduler.ListSchedules(s.t.Context(), &scheduler.ListSchedulesInput{GroupName: &group})
		if err != nil {
			s.t.Fatal(err)
		}
		for _, one := range page.Schedules {
			out, err := s.scheduler.GetSchedule(s.t.Context(), &scheduler.GetScheduleInput{GroupName: &group, Name: one.Name})
			if err != nil || !strings.Contains(*out.Target.Input, messageID) {
				continue // another test's may have gone meanwhile
			}
			return out
		}
	}
	s.t.Fatal("there is no schedule of the message")
	return nil
}

func (s *stack) send(queue, body string) {
	s.t.Helper()
	if _, err := s.sqs.SendMessage(s.t.Context(), &sqs.SendMessageInput{QueueUrl: aws.String(s.output(queue)), MessageBody: &body}); err != nil {
		s.t.Fatal(err)
	}
}

func TestAMessageThatIsNoJobIsParkedAndItsBatchGoesOn(t *testing.T) {
	s, e := deployed(t), listen(t)
	topic := s.topic()
	s.subscribe(topic, e, nil)
	garbage := "no job " + uuid.NewString()
	entries := []sqstypes.SendMessageBatchRequestEntry{{Id: aws.String("bad"), MessageBody: &garbage}}
	for n := range 9 {
		body := job(t, s, e, topic, fmt.Sprint("good ", n))
		entries = append(entries, sqstypes.SendMessageBatchRequestEntry{Id: aws.String(fmt.Sprint("good", n)), MessageBody: &body})
	}
	if _, err := s.sqs.SendMessageBatch(t.Context(), &sqs.SendMessageBatchInput{QueueUrl: aws.String(s.output("AttemptQueueUrl")), Entries: entries}); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for range 9 {
		got[e.next().Message] = true
	}
	if len(got) != 9 {
		t.Errorf("pushed were %v", got)
	}
	parked := s.takeFrom(s.output("FailedJobsQueueUrl"), func(m sqstypes.Message) bool { return *m.Body == garbage })
	if a, ok := parked.MessageAttributes["Reason"]; !ok || *a.StringValue == "" {
		t.Errorf("it carries no reason: %v", parked.MessageAttributes)
	}
	e.quiet(time.Second)
}

// job makes a first attempt as Publish would have.
func job(t *testing.T, s *stack, e *endpoint, topic, message string) string {
	t.Helper()
	return push.Job{Kind: push.Notification, Subscription: s.only(topic), Generation: "0", Attempt: 1,
		Message: push.Message{ID: uuid.NewString(), TopicARN: topic, Body: message, Timestamp: time.Now().UTC().Truncate(time.Millisecond)}}.Encode()
}

// only is the ARN of a topic's one subscription.
func (s *stack) only(topic string) string {
	s.t.Helper()
	out, err := s.sns.ListSubscriptionsByTopic(s.t.Context(), &sns.ListSubscriptionsByTopicInput{TopicArn: &topic})
	if err != nil || len(out.Subscriptions) != 1 {
		s.t.Fatalf("%+v, %v", out, err)
	}
	return *out.Subscriptions[0].SubscriptionArn
}

// SQS may hand out a message twice; the second finds the claim of the first.
func TestARetryThatComesTwiceIsPushedOnce(t *testing.T) {
	s, e := deployed(t), listen(t)
	topic := s.topic()
	s.subscribe(topic, e, policy(2, 1800))
	e.answer(http.StatusServiceUnavailable, http.StatusOK)
	id := s.publish(topic, "twice in hand")
	e.next()
	j, err := push.DecodeJob(*s.scheduleOf(id).Target.Input)
	if err != nil {
		t.Fatal(err)
	}
	j.NotBefore = time.Time{} // now, for the test's sake
	s.send("RetryQueueUrl", j.Encode())
	s.send("RetryQueueUrl", j.Encode())
	if p := e.next(); p.MessageId != id {
		t.Errorf("pushed was %s", p.body)
	}
	e.quiet(3 * time.Second)
}

func TestADeadLetterIsSentAgainAndOneThatFailsAgainIsDeadAgain(t *testing.T) {
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
	if n := note(t, again); n.Redrives != 1 {
		t.Errorf("the note of the second letter says %+v", n)
	}
	// One redrive is allowed (POSTINO_MAX_REDRIVES): the letter stays.
	if failures := s.redrive(again); len(failures) != 1 {
		t.Errorf("a second redrive was allowed: %v", failures)
	}
	e.quiet(2 * time.Second)
}

func (s *stack) deadLetter(messageID string) sqstypes.Message {
	s.t.Helper()
	return s.takeFrom(s.output("DeadLetterQueueUrl"), func(m sqstypes.Message) bool { return strings.Contains(*m.Body, messageID) })
}

// redrive invokes the function on demand with a letter, as an event source would.
func (s *stack) redrive(m sqstypes.Message) []events.SQSBatchItemFailure {
	s.t.Helper()
	return s.redriveFrom("DeadLetterQueueUrl", m)
}

func (s *stack) redriveFrom(queue string, m sqstypes.Message) []events.SQSBatchItemFailure {
	s.t.Helper()
	record := events.SQSMessage{MessageId: *m.MessageId, ReceiptHandle: *m.ReceiptHandle, Body: *m.Body, Attributes: m.Attributes,
		EventSource: "aws:sqs", EventSourceARN: "arn:aws:sqs:us-east-1:000000000000:" + path.Base(s.output(queue)),
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

func TestAnUnsubscribedEndpointGetsNoMoreRetries(t *testing.T) {
	s, e := deployed(t), listen(t)
	topic := s.topic()
	subscription := s.subscribe(topic, e, policy(3, 8)) // longer than a subscription may be kept in memory
	e.answer(http.StatusServiceUnavailable)
	s.publish(topic, "one attempt")
	e.next()
	if _, err := s.sns.Unsubscribe(t.Context(), &sns.UnsubscribeInput{SubscriptionArn: &subscription}); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(12 * time.Second); time.Now().Before(deadline); {
		select {
		case p := <-e.got:
			if p.Type != "UnsubscribeConfirmation" {
				t.Errorf("pushed was %s", p.body)
			}
		case <-time.After(time.Until(deadline)):
		}
	}
}

func TestAShortenedPolicyEndsADeliveryAtItsNextFailure(t *testing.T) {
	s, e := deployed(t), listen(t)
	topic := s.topic()
	subscription := s.subscribe(topic, e, policy(50, 8))
	e.answer(http.StatusServiceUnavailable)
	id := s.publish(topic, "shortened")
	e.next()
	shorter := policy(1, 1)["DeliveryPolicy"]
	if _, err := s.sns.SetSubscriptionAttributes(t.Context(), &sns.SetSubscriptionAttributesInput{SubscriptionArn: &subscription,
		AttributeName: aws.String("DeliveryPolicy"), AttributeValue: &shorter}); err != nil {
		t.Fatal(err)
	}
	e.next()
	if n := note(t, s.deadLetter(id)); n.Attempts != 2 {
		t.Errorf("the note says %+v", n)
	}
	e.quiet(2 * time.Second)
}
