package functions_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"postino/shared/embedded/stack"
	"postino/shared/operator"
	"postino/shared/push"
)

// queues are those that a function may leave something in.
var queues = []string{"AttemptQueue", "RetryQueue", "FanoutQueue", "DeadLetterQueue", "FailedJobsQueue"}

// holdings tells what the queues in dir hold: "AttemptQueue 2, FailedJobsQueue 1".
func holdings(t *testing.T, dir string) string {
	t.Helper()
	return look(t, dir, func(s *stack.Stack) (string, error) {
		var held []string
		for _, queue := range queues {
			n := 0
			if _, err := s.Queue.Look(t.Context(), queue, operator.Sweep{}, func(operator.Letter) { n++ }); err != nil {
				return "", err
			}
			if n > 0 {
				held = append(held, fmt.Sprint(queue, " ", n))
			}
		}
		return strings.Join(held, ", "), nil
	})
}

// known makes the topic and the two subscriptions that the fixtures are about.
func known(t *testing.T, dir string) {
	t.Helper()
	look(t, dir, func(s *stack.Stack) (struct{}, error) {
		_, _, err := s.Store.CreateTopic(t.Context(), push.Topic{ARN: topicARN})
		for _, id := range []string{"3b1c2f0e-6a55-4f0e-9a44-0c7a6a1f7d10", "c6f3b9d4-2d8e-4c1a-b0b5-5a1e9f7c3d22"} {
			if err == nil {
				_, _, err = s.Store.CreateSubscription(t.Context(), push.Subscription{ARN: topicARN + ":" + id, TopicARN: topicARN,
					Protocol: push.HTTPS, Endpoint: "https://127.0.0.1:9/" + id, Confirmed: true, CreatedAt: time.Now(),
					RedrivePolicy: `{"deadLetterTargetArn":"` + queueARN("orders-dlq") + `"}`})
			}
		}
		return struct{}{}, err
	})
}

func TestTheQueueFunctionsAnswerTheirBatches(t *testing.T) {
	bin := binaries(t)
	for name, c := range map[string]struct {
		known bool
		// back are the records that come back, held is what the queues hold then.
		back int
		held string
	}{
		// Nothing is known: what was for subscriptions and topics that are gone is
		// dropped, unless it is a letter, which stays in DeadLetterQueue or goes there.
		"deliver-sqs.json":                    {},
		"deliver-sqs-batch-with-poison.json":  {held: "FailedJobsQueue 2"},
		"deliver-retry.json":                  {},
		"deliver-confirmation.json":           {},
		"fanout-sqs.json":                     {},
		"redrive-sqs.json":                    {back: 1},
		"redrive-sqs-raw.json":                {held: "DeadLetterQueue 1"},
		"redrive-sqs-failed-jobs.json":        {held: "RetryQueue 1, DeadLetterQueue 1"}, // Deliver drops the one, the other is no job
		"redrive-sqs-failed-invocations.json": {held: "DeadLetterQueue 3"},
		// Topic and subscriptions are known.
		"known/fanout-sqs.json":                     {known: true, held: "AttemptQueue 3"}, // one page is the second subscription's, the other names both
		"known/redrive-sqs.json":                    {known: true, held: "RetryQueue 1"},
		"known/redrive-sqs-raw.json":                {known: true, held: "RetryQueue 1"},
		"known/redrive-sqs-failed-jobs.json":        {known: true, held: "RetryQueue 1, DeadLetterQueue 1"},
		"known/redrive-sqs-failed-invocations.json": {known: true, held: "AttemptQueue 6"}, // three messages to two subscriptions
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if c.known {
				known(t, dir)
			}
			event := filepath.Base(name)
			function, _, _ := strings.Cut(event, "-")
			f := launch(t, filepath.Join(bin, function), environment(dir))
			in := fixture(t, event)
			a := f.invoke(in)
			f.Stop()
			var batch events.SQSEvent
			var out events.SQSEventResponse
			decode(t, in, &batch)
			decode(t, a.Body, &out)
			if out.BatchItemFailures == nil || len(out.BatchItemFailures) != c.back { // null would be another answer
				t.Errorf("answers %s, want %d of %d to come back", a.Body, c.back, len(batch.Records))
			}
			if held := holdings(t, dir); held != c.held {
				t.Errorf("the queues hold %q, want %q", held, c.held)
			}
		})
	}
}
