//go:build integration

package main

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"

	"postino/shared/pipeline"
	"postino/shared/push"
)

// early is how long before it is due a job comes from its schedule: one to two
// minutes (shared/aws/schedulertimer).
const early = 90 * time.Second

// scheduled is a failed first attempt and the wait for the next, until that is
// due: the schedule, what Scheduler sends by it, and the put back for the rest.
func scheduled(t *testing.T) Counted {
	const n = 10
	w := failing(t, n, `{"healthyRetryPolicy":{"minDelayTarget":1800,"maxDelayTarget":1800,"numRetries":2}}`, unavailable)
	c := w.begin(false)
	c.deliver(w.c.Queues.Attempt, n, n, answerTime)
	w.fire(c, n)
	c.deliver(w.c.Queues.Retry, n, n, 0)
	return c.end("first-failed-scheduled", "First attempt that fails, the next more than 15 minutes later", "attempts", n, n)
}

// fire does what Scheduler will: it sends the jobs of n schedules, a request each.
// Half an hour does not pass here, so the jobs are made due sooner instead.
func (w *world) fire(c *tally, n int) {
	w.t.Helper()
	client := scheduler.NewFromConfig(w.plain)
	list, err := client.ListSchedules(w.t.Context(), &scheduler.ListSchedulesInput{GroupName: &w.group, MaxResults: aws.Int32(100)})
	if err != nil || len(list.Schedules) != n {
		w.t.Fatalf("%d jobs failed, the schedules are %+v (%v)", n, list, err)
	}
	for _, s := range list.Schedules {
		got, err := client.GetSchedule(w.t.Context(), &scheduler.GetScheduleInput{GroupName: &w.group, Name: s.Name})
		if err != nil {
			w.t.Fatal(err)
		}
		job, err := push.DecodeJob(*got.Target.Input)
		if err != nil {
			w.t.Fatal(err)
		}
		job.NotBefore = time.Now().Add(early)
		out := pipeline.Outgoing{Body: job.Encode()}
		if err := w.looking.Send(w.t.Context(), w.c.Queues.Retry, []pipeline.Outgoing{out})[0]; err != nil {
			w.t.Fatal(err)
		}
		c.usage.Add(requests(len(out.Body), false))
	}
}
