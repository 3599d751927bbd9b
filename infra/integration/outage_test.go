//go:build integration

package integration

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"

	"postino/shared/push"
)

// inDynamoDB tells the table's calls from the queues'.
func inDynamoDB(c call) bool {
	return c.write() || c.operation == "GetItem" || c.operation == "Query" || c.operation == "BatchGetItem"
}

// putBack is a job that a failure on our side sent back into its queue; it gives the
// message's id.
var putBack = regexp.MustCompile(`\\"stumbles\\":\d+,\\"msg\\":\{\\"id\\":\\"([0-9a-f-]+)`)

// signingKey is the item that a function reads to start (functions/internal/build).
// Without it no process comes up, and its batch meets nothing but that.
const signingKey = `"C#signing"`

// The policy allows no retry: one attempt too many would make a dead letter.
func TestWhileTheStoreFailsNothingIsLostAndNoAttemptIsBurnt(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]*fault{"it answers 500": broken, "it is throttled": {http.StatusBadRequest, "ThrottlingException", "Rate exceeded"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, e := own(t, nil), listen(t)
			aws := stand(t, s, "Deliver")
			topic := s.topic()
			url, arn := s.queue("it")
			subscription := s.subscribe(topic, e, merged(policy(0, 1), redrive(arn)))
			aws.failing(func(c call) *fault {
				if inDynamoDB(c) && !strings.Contains(c.body, signingKey) {
					return f
				}
				return nil
			})
			<-time.After(remembered)
			s.publishAll(topic, ten()...)
			met := map[string]bool{}
			s.eventually("every job has met the failure, and was put back", func() bool {
				for _, c := range aws.take() {
					if c.send() {
						for _, job := range putBack.FindAllStringSubmatch(c.body, -1) {
							met[job[1]] = true
						}
					}
				}
				return len(met) == 10
			})
			e.quiet(2 * time.Second)
			aws.failing(nil)
			e.once(ten()...)
			s.eventually("each is on record as delivered", func() bool { return len(s.recorded(subscription, push.Delivered)) == 10 })
			for _, d := range s.recorded(subscription, push.Delivered) {
				if d.Attempt != 1 {
					t.Errorf("%s took %d attempts, it had one push", d.Key.MessageID, d.Attempt)
				}
			}
			e.quiet(2 * time.Second)
			s.empty(url, anything)
			s.empty(s.output("DeadLetterQueueUrl"), anything)
			s.empty(s.output("FailedJobsQueueUrl"), anything)
		})
	}
}

// The endpoint has answered 500 and that cannot be written: the attempt is made
// again, no sooner than the next would have been, and there is one chain only.
func TestAnOutcomeThatCannotBeWrittenRepeatsItsAttemptAndForksNothing(t *testing.T) {
	t.Parallel()
	s, e := own(t, nil), listen(t)
	aws := stand(t, s, "Deliver")
	topic := s.topic()
	url, arn := s.queue("it")
	s.subscribe(topic, e, merged(policy(2, 3), redrive(arn)))
	e.answer(http.StatusInternalServerError)
	var failures atomic.Int64
	aws.failing(func(c call) *fault {
		if c.write() && failures.Add(1) <= 4 {
			return broken
		}
		return nil
	})
	id := s.publish(topic, "unwritten")
	last := e.next()
	for range 3 { // the repeated first, and two retries
		p := e.after(last, 3*time.Second)
		if p.MessageId != id {
			t.Errorf("pushed was %s", p.body)
		}
		last = p
	}
	if n := note(t, s.takeFrom(url, anything)); n.Attempts != 3 {
		t.Errorf("the note says %+v", n)
	}
	e.quiet(5 * time.Second)
	s.empty(url, anything)
}

// Accepted means stored: what one queue does not take is parked in another, and
// what no queue takes is refused, with an error that the client may try again.
func TestAPublishIsParkedWhereItsQueueFailsAndRefusedWhereAllDo(t *testing.T) {
	t.Parallel()
	s, e := own(t, nil), listen(t)
	aws := stand(t, s, "Publish")
	topic := s.topic()
	s.subscribe(topic, e, nil)
	aws.failing(func(c call) *fault {
		if toQueue(s.output("AttemptQueueUrl"))(c) {
			return broken
		}
		return nil
	})
	id := s.publish(topic, "parked")
	if p := e.next(); p.MessageId != id {
		t.Errorf("pushed was %s", p.body)
	}
	aws.failing(func(c call) *fault {
		if c.send() {
			return broken
		}
		return nil
	})
	_, err := s.sns.Publish(t.Context(), &sns.PublishInput{TopicArn: &topic, Message: new("refused")})
	if e := new(snstypes.InternalErrorException); !errors.As(err, &e) {
		t.Errorf("a publish that nothing holds: %v", err)
	}
	aws.failing(nil)
	id = s.publish(topic, "taken")
	if p := e.next(); p.MessageId != id || p.Message != "taken" {
		t.Errorf("pushed was %s", p.body)
	}
	e.quiet(3 * time.Second)
}

// What is wrong with a function's settings or rights is one line of its log that
// names it, the batch stays in its queue, and is pushed once it is put right.
func TestBadInputIsOneLogLineThatNamesItAndLosesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		variables map[string]string
		forbidden string
		named     []string
	}{
		"a variable is missing":             {map[string]string{"POSTINO_PUBLIC_URL": ""}, "", []string{"POSTINO_PUBLIC_URL"}},
		"another is missing":                {map[string]string{"POSTINO_SCHEDULE_GROUP": ""}, "", []string{"POSTINO_SCHEDULE_GROUP"}},
		"a variable makes no sense":         {map[string]string{"POSTINO_REQUEST_TIMEOUT": "soon"}, "", []string{"POSTINO_REQUEST_TIMEOUT", "soon"}},
		"the table is wrong":                {map[string]string{"POSTINO_TABLE": "no-such-table"}, "", []string{"POSTINO_TABLE", "no-such-table"}},
		"the permission to read is missing": {nil, "dynamodb:GetItem", []string{"dynamodb:GetItem", "POSTINO_TABLE"}},
		"AWS cannot be reached":             {map[string]string{"AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:1"}, "", []string{"DynamoDB cannot be reached", "AWS_ENDPOINT_URL"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, e := own(t, nil), listen(t)
			topic := s.topic()
			url, arn := s.queue("it")
			s.subscribe(topic, e, merged(policy(0, 1), redrive(arn)))
			s.visibility("AttemptQueueUrl", 2*time.Second)
			var restore func()
			if c.forbidden != "" {
				restore = s.deny("Deliver", c.forbidden)
				s.change("Deliver", map[string]string{"POSTINO_LOG_LEVEL": "debug"}) // it starts anew, and is denied then
			} else {
				restore = s.change("Deliver", c.variables)
			}
			lines := s.faults("Deliver", []byte(`{"Records":[]}`))
			if len(lines) != 1 {
				t.Fatalf("it logs %d lines, want one: %q", len(lines), lines)
			}
			for _, text := range c.named {
				if !strings.Contains(lines[0], text) {
					t.Errorf("the line does not name %s: %s", text, lines[0])
				}
			}
			id := s.publish(topic, name)
			e.quiet(4 * time.Second)
			restore()
			if p := e.next(); p.MessageId != id {
				t.Errorf("pushed was %s", p.body)
			}
			e.quiet(3 * time.Second)
			s.empty(url, anything)
		})
	}
}
