//go:build integration

package sqsqueue_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"postino/shared/aws/awstest"
	"postino/shared/aws/sqsqueue"
	"postino/shared/conformance"
	"postino/shared/operator"
	"postino/shared/pipeline"
)

// suiteQueue is the queue that conformance.ExerciseQueue works on.
const suiteQueue = "postino-conformance"

func open(t *testing.T, names ...string) *sqsqueue.Queue {
	t.Helper()
	c := awstest.Config(t)
	client := sqs.NewFromConfig(c)
	for _, n := range names {
		awstest.Queue(t, client, n)
	}
	return again(t, names...)
}

func again(t *testing.T, names ...string) *sqsqueue.Queue {
	t.Helper()
	c := awstest.Config(t)
	q, err := sqsqueue.New(sqsqueue.Config{Client: sqs.NewFromConfig(c), Region: c.Region, Known: names})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestTheQueueKeepsTheQueuesPromises(t *testing.T) {
	conformance.ExerciseQueue(t, conformance.QueueHarness{
		Harness: conformance.Harness[conformance.Queue]{
			Open:   func(t *testing.T) conformance.Queue { return open(t, suiteQueue) },
			Reopen: func(t *testing.T, _ conformance.Queue) conformance.Queue { return again(t, suiteQueue) },
			Late:   2 * time.Second, Longest: 30 * time.Second,
		},
		Redrive: redrive,
	})
}

// redrive sets what the template sets: the adapter itself changes no queue.
func redrive(t *testing.T, _ conformance.Queue, queue, deadLetter string, maxReceive int) {
	t.Helper()
	client := sqs.NewFromConfig(awstest.Config(t))
	arn := awstest.Queue(t, client, deadLetter)
	url, err := client.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: &queue})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: url.QueueUrl, Attributes: map[string]string{
		"RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":"%d"}`, arn, maxReceive)}})
	if err != nil {
		t.Fatal(err)
	}
}

func TestMissingQueuesRefuseSendsAndAreEmptyToTheOperator(t *testing.T) {
	q := again(t, "postino-no-such-queue")
	for _, queue := range []string{"postino-no-such-queue", "arn:aws:sqs:us-east-1:111122223333:postino-no-such-queue"} {
		err := q.Send(t.Context(), queue, []pipeline.Outgoing{{Body: "b"}})[0]
		if reason, ok := pipeline.Refused(err); !ok {
			t.Errorf("%s: %v (%s), want a refusal", queue, err, reason)
		}
	}
	if infos, err := q.List(t.Context()); err != nil || len(infos) > 0 {
		t.Errorf("listed %v, %v", infos, err)
	}
	if page, next, err := q.Peek(t.Context(), "postino-no-such-queue", "", 10); err != nil || len(page) > 0 || next != "" {
		t.Errorf("peeked %v, %q, %v", page, next, err)
	}
	if _, found, err := q.Take(t.Context(), "postino-no-such-queue", "id", time.Minute); err != nil || found {
		t.Errorf("took something: %v, %v", found, err)
	}
}

// TestAQueueThatIsMadeLaterIsFound: what was missing is looked for again.
func TestAQueueThatIsMadeLaterIsFound(t *testing.T) {
	name := awstest.Name("postino-later")
	q := again(t, name)
	if _, ok := pipeline.Refused(q.Send(t.Context(), name, []pipeline.Outgoing{{Body: "b"}})[0]); !ok {
		t.Fatal("a missing queue took a message")
	}
	awstest.Queue(t, sqs.NewFromConfig(awstest.Config(t)), name)
	if err := q.Send(t.Context(), name, []pipeline.Outgoing{{Body: "b"}})[0]; err != nil {
		t.Fatal(err)
	}
}

func TestTheOperatorSeesAllLettersInOrderAndTakesOne(t *testing.T) {
	name := awstest.Name("postino-letters")
	q := open(t, name)
	const letters = 25
	for n := range letters {
		if err := q.Send(t.Context(), name, []pipeline.Outgoing{{Body: fmt.Sprint(n), Group: "g"}})[0]; err != nil {
			t.Fatal(err)
		}
	}
	all := peekAll(t, q, name, 10)
	if len(all) != letters || !slices.IsSortedFunc(all, func(a, b operator.Letter) int { return a.Sent.Compare(b.Sent) }) {
		t.Fatalf("%d letters: %v", len(all), all)
	}
	wanted := all[17]
	l, found, err := q.Take(t.Context(), name, wanted.ID, time.Minute)
	if err != nil || !found || l.Body != wanted.Body || l.Receipt == "" || l.Group != "g" {
		t.Fatalf("took %+v, %v, %v", l, found, err)
	}
	if _, found, err := q.Take(t.Context(), name, wanted.ID, time.Minute); err != nil || found {
		t.Errorf("took a letter twice: %v", err)
	}
	infos, err := q.List(t.Context())
	if err != nil || len(infos) != 1 || infos[0].Visible != letters-1 || infos[0].InFlight != 1 {
		t.Errorf("listed %+v, %v", infos, err)
	}
	if err := q.Delete(t.Context(), name, []string{l.Receipt}); err != nil {
		t.Fatal(err)
	}
	if rest := peekAll(t, q, name, 100); len(rest) != letters-1 {
		t.Errorf("%d letters are left", len(rest))
	}
}

func peekAll(t *testing.T, q *sqsqueue.Queue, name string, limit int) (all []operator.Letter) {
	t.Helper()
	for after := ""; ; {
		page, next, err := q.Peek(context.Background(), name, after, limit)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page...)
		if next == "" {
			return all
		}
		after = next
	}
}
