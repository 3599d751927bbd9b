//go:build integration

package integration

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"

	"postino/shared/push"
)

// near is the longest wait that these tests leave to a queue. Schedules then aim,
// and are rounded, to a third of it instead of a minute.
const near = 10 * time.Second

var schedulesSoon = map[string]string{"QueueDelaySeconds": seconds(near)}

// A wait beyond a queue's 15 minutes is a schedule, which aims a minute early and
// at whole minutes.
func TestALongWaitGoesThroughASchedule(t *testing.T) {
	t.Parallel()
	s, e := own(t, nil), listen(t)
	topic := s.topic()
	subscription := s.subscribe(topic, e, policy(2, 1800))
	e.answer(http.StatusServiceUnavailable)
	id := s.publish(topic, "much later")
	failed := e.next().answered
	schedule := s.schedule()
	job := s.scheduled(schedule, time.Minute)
	if job.Subscription != subscription || job.Attempt != 2 || job.Message.ID != id || job.Message.Body != "much later" {
		t.Errorf("the job is %+v", job)
	}
	if wait := job.NotBefore.Sub(failed); wait < 1800*time.Second || wait > 1980*time.Second+late { // a tenth of it is jitter
		t.Errorf("the next attempt is due after %v, the policy says 30 minutes", wait)
	}
	// What Scheduler would send comes early: Deliver waits for the due time.
	s.send("RetryQueueUrl", *schedule.Target.Input)
	e.quiet(3 * time.Second)
}

func TestAScheduledRetryIsPushedOnceAndInTime(t *testing.T) {
	t.Parallel()
	s, e := own(t, schedulesSoon), listen(t)
	topic := s.topic()
	s.subscribe(topic, e, policy(2, 20))
	e.answer(http.StatusServiceUnavailable, http.StatusOK)
	id := s.publish(topic, "in twenty seconds")
	first := e.next()
	job := s.scheduled(s.schedule(), (near / 3).Truncate(time.Second))
	p := e.after(first, 20*time.Second)
	if p.MessageId != id || p.at.Before(job.NotBefore) {
		t.Errorf("at %v pushed was %s, due at %v", p.at, p.body, job.NotBefore)
	}
	e.quiet(4 * time.Second)
	if left := s.schedules(); len(left) != 0 {
		t.Errorf("%d schedules are left", len(left))
	}
}

// A job that no schedule can hold waits in the table, and the schedule refers to it.
func TestALargeJobWaitsByReferenceAndArrivesWhole(t *testing.T) {
	t.Parallel()
	s, e := own(t, schedulesSoon), listen(t)
	calls := stand(t, s, "Deliver")
	topic := s.topic()
	s.subscribe(topic, e, policy(2, 20))
	e.answer(http.StatusServiceUnavailable, http.StatusOK)
	var text strings.Builder
	for n := 0; text.Len() < sizeLimit; n++ { // nothing that packs to a few bytes
		fmt.Fprintf(&text, "%d\n", n*n)
	}
	message := text.String()[:sizeLimit]
	id := s.publish(topic, message)
	first := e.next()
	input := *s.schedule().Target.Input
	if !strings.HasPrefix(input, `{"postino":"payload"`) || len(input) > 200 {
		t.Fatalf("the schedule sends %.300s", input)
	}
	if items := s.payloads(); len(items) != 1 {
		t.Errorf("%d payloads are kept, want one", len(items))
	}
	p := e.after(first, 20*time.Second)
	if p.MessageId != id || p.Message != message || p.body != first.body {
		t.Errorf("pushed were %d bytes, at first %d, want %d of the message", len(p.body), len(first.body), len(message))
	}
	writes := func(c call) bool { return c.operation == "PutItem" && strings.Contains(c.body, `"P#`) }
	if n := count(calls.take(), writes); n != 1 {
		t.Errorf("the payload was written %d times, want once", n)
	}
	e.quiet(4 * time.Second)
}

// While Scheduler takes no schedules, jobs hop through the queue, and arrive.
func TestWhileSchedulerIsThrottledAJobHopsThroughTheQueue(t *testing.T) {
	t.Parallel()
	s, e := own(t, schedulesSoon), listen(t)
	calls := stand(t, s, "Deliver")
	create := func(c call) bool { return c.operation == "CreateSchedule" }
	calls.failing(func(c call) *fault {
		if create(c) {
			return throttled
		}
		return nil
	})
	topic := s.topic()
	s.subscribe(topic, e, policy(1, 20))
	e.answer(http.StatusServiceUnavailable, http.StatusOK)
	id := s.publish(topic, "hop by hop")
	if p := e.after(e.next(), 20*time.Second); p.MessageId != id {
		t.Errorf("pushed was %s", p.body)
	}
	if n := count(calls.take(), create); n == 0 {
		t.Error("no schedule was tried")
	}
	e.quiet(3 * time.Second)
}

// schedules are those of the test's own stack.
func (s *stack) schedules() (out []*scheduler.GetScheduleOutput) {
	s.t.Helper()
	group := s.output("ScheduleGroupName")
	page, err := s.scheduler.ListSchedules(s.t.Context(), &scheduler.ListSchedulesInput{GroupName: &group})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, one := range page.Schedules {
		// One that fires in between is gone.
		if got, err := s.scheduler.GetSchedule(s.t.Context(), &scheduler.GetScheduleInput{GroupName: &group, Name: one.Name}); err == nil {
			out = append(out, got)
		}
	}
	return out
}

// schedule waits for the stack's one schedule.
func (s *stack) schedule() (out *scheduler.GetScheduleOutput) {
	s.t.Helper()
	s.eventually("there is a schedule", func() bool {
		all := s.schedules()
		if len(all) == 1 {
			out = all[0]
		}
		return out != nil
	})
	return out
}

// scheduled checks where and when a schedule sends, and gives its job.
func (s *stack) scheduled(schedule *scheduler.GetScheduleOutput, early time.Duration) push.Job {
	s.t.Helper()
	job, err := push.DecodeJob(*schedule.Target.Input)
	if err != nil {
		s.t.Fatal(err)
	}
	if want := "at(" + job.NotBefore.Add(-early).Truncate(early).UTC().Format("2006-01-02T15:04:05") + ")"; *schedule.ScheduleExpression != want {
		s.t.Errorf("it fires %s, want %s", *schedule.ScheduleExpression, want)
	}
	if aws.ToString(schedule.ScheduleExpressionTimezone) != "UTC" || schedule.ActionAfterCompletion != "DELETE" ||
		!strings.Contains(*schedule.Target.Arn, "RetryQueue") || !strings.Contains(*schedule.Target.DeadLetterConfig.Arn, "FailedJobsQueue") {
		s.t.Errorf("the schedule is %+v", schedule)
	}
	return job
}

// payloads are the table's items of large jobs that wait (docs/dynamodb.md).
func (s *stack) payloads() []map[string]types.AttributeValue {
	s.t.Helper()
	out, err := s.dynamodb.Scan(s.t.Context(), &dynamodb.ScanInput{TableName: aws.String(s.output("TableName")),
		FilterExpression:          aws.String("begins_with(pk, :p)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":p": &types.AttributeValueMemberS{Value: "P#"}}})
	if err != nil {
		s.t.Fatal(err)
	}
	return out.Items
}
