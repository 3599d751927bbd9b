//go:build integration

package sqsqueue_test

import (
	"fmt"
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

func TestTheQueueKeepsTheOperatorsPromises(t *testing.T) {
	conformance.ExerciseLetters(t, conformance.Harness[conformance.LetterQueue]{
		Open: func(t *testing.T) conformance.LetterQueue { return open(t, suiteQueue) },
		Late: 2 * time.Second, Longest: 30 * time.Second,
	})
}

func TestMissingQueuesRefuseSendsAndLooks(t *testing.T) {
	q := again(t)
	for _, queue := range []string{"postino-no-such-queue", "arn:aws:sqs:us-east-1:111122223333:postino-no-such-queue"} {
		err := q.Send(t.Context(), queue, []pipeline.Outgoing{{Body: "b"}})[0]
		_, told := q.Info(t.Context(), queue)
		_, looked := q.Look(t.Context(), queue, operator.Sweep{}, nil)
		_, taken := q.Take(t.Context(), queue, operator.Sweep{}, nil)
		for _, err := range []error{err, told, looked, taken} {
			if reason, ok := pipeline.Refused(err); !ok {
				t.Errorf("%s: %v (%s), want a refusal", queue, err, reason)
			}
		}
	}
}

func TestAQueueThatMovesWhatIsLookedAtSaysSo(t *testing.T) {
	name := awstest.Name("postino-moves")
	q := open(t, name)
	redrive(t, q, name, awstest.Name("postino-moved"), 7)
	if info, err := q.Info(t.Context(), name); err != nil || info.MovesAfter != 7 {
		t.Errorf("told is %+v, %v", info, err)
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
