//go:build integration

package integration

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/uuid"

	"postino/infra/functionurl"
	"postino/shared/pipeline"
	"postino/shared/push"
)

// What the fixtures are about: a topic of another account, its two subscriptions,
// the token of the first one's confirmation, and a message.
const (
	fixtureAccount = "123456789012"
	fixtureTopic   = "arn:aws:sns:us-east-1:" + fixtureAccount + ":orders"
	fixtureFirst   = fixtureTopic + ":3b1c2f0e-6a55-4f0e-9a44-0c7a6a1f7d10"
	fixtureSecond  = fixtureTopic + ":c6f3b9d4-2d8e-4c1a-b0b5-5a1e9f7c3d22"
	fixtureLetters = "arn:aws:sqs:us-east-1:" + fixtureAccount + ":orders-dlq"
	fixtureMessage = "9c1b7d52-7a34-5e1a-9f6f-2b6a0d4c8e11"
)

var (
	fixtureToken  = regexp.MustCompile(`Token=([0-9a-f]+)`)
	fixtureQueues = regexp.MustCompile(`arn:aws:sqs:us-east-1:` + fixtureAccount + `:(\w+Queue)`)
	fixtureDue    = regexp.MustCompile(`\\"notBefore\\":\d+`)
)

// Every events/*.json, in an order in which each finds what it needs: what the
// function answers, and how often the two endpoints are then pushed to.
func TestEveryEventFixtureDoesWhatItIsAnExampleOf(t *testing.T) {
	t.Parallel()
	s, first, second := own(t, nil), listen(t), listen(t)
	for _, f := range []string{"Publish", "Redrive"} {
		s.change(f, map[string]string{"POSTINO_ACCOUNT": fixtureAccount, "POSTINO_EVENT_TOPIC_ARN": fixtureTopic})
	}
	s.topicNamed("orders")
	token := fixtureToken.FindSubmatch(fixture(t, "publish-function-url-confirm-link.json"))
	s.seed(fixtureTopic, first.url, func(sub *push.Subscription) {
		sub.ARN, sub.Confirmed, sub.Token, sub.TokenExpires = fixtureFirst, false, string(token[1]), time.Now().Add(time.Hour)
		sub.RedrivePolicy = redrive(fixtureLetters)["RedrivePolicy"] // a letter in another's queue would not be sent again
	})
	s.seed(fixtureTopic, second.url, func(sub *push.Subscription) { sub.ARN = fixtureSecond })

	const done = `{"batchItemFailures":[]}`
	known := map[string]bool{}
	for _, c := range []struct {
		name, answer  string
		first, second int
	}{
		{"deliver-confirmation.json", done, 1, 0},
		{"publish-function-url-confirm-link.json", `"statusCode":200`, 0, 0},
		{"deliver-sqs.json", done, 1, 0},
		{"deliver-retry.json", done, 1, 0},
		{"deliver-sqs-batch-with-poison.json", done, 1, 1},
		{"fanout-sqs.json", done, 0, 1}, // one page begins behind the first subscription, the other is for https
		{"publish-direct.json", `"messageId"`, 1, 1},
		{"publish-direct-batch.json", `"senderFault":true`, 2, 2},
		{"publish-eventbridge.json", `"messageId"`, 1, 1},
		{"publish-function-url.json", `"statusCode":200`, 1, 1},
		{"publish-function-url-base64-form.json", `"statusCode":200`, 1, 1},
		{"publish-function-url-batch.json", `"statusCode":200`, 3, 3},
		{"publish-function-url-certificate.json", `"statusCode":404`, 0, 0}, // another installation's
		{"redrive-sqs.json", done, 1, 0},
		{"redrive-sqs-raw.json", done, 1, 0},
		{"redrive-sqs-failed-jobs.json", done, 1, 0},
		{"redrive-sqs-failed-invocations.json", done, 3, 3},
	} {
		known[c.name] = true
		t.Log(c.name) // the last one logged is the one at fault
		kind, _, _ := strings.Cut(c.name, "-")
		body, _ := s.invoke(strings.ToUpper(kind[:1])+kind[1:], s.signed(s.localized(fixture(t, c.name))))
		var compact bytes.Buffer
		if err := json.Compact(&compact, body); err != nil {
			t.Fatalf("%s: %v in %s", c.name, err, body)
		}
		if !strings.Contains(compact.String(), c.answer) {
			t.Errorf("%s: want %s in %s", c.name, c.answer, body)
		}
		for n := range c.first + c.second {
			e := first
			if n >= c.first {
				e = second
			}
			if p := e.next(); p.TopicArn != "" && p.TopicArn != fixtureTopic {
				t.Errorf("%s: pushed was %s", c.name, p.body)
			}
		}
	}
	first.quiet(2 * time.Second)
	second.quiet(0)
	s.takeFrom(s.output("FailedJobsQueueUrl"), holding("not a job at all"))
	s.takeFrom(s.output("DeadLetterQueueUrl"), func(m sqstypes.Message) bool {
		return strings.Contains(*m.Body, "not a job at all") && attributeOf(m, pipeline.RefusalAttribute).StringValue != nil
	})

	files, err := filepath.Glob(filepath.Join("..", "..", "events", "*.json"))
	if err != nil || len(files) != len(known) {
		t.Errorf("there are %d fixtures, %d are known here (%v)", len(files), len(known), err)
	}
	for _, f := range files {
		if !known[filepath.Base(f)] {
			t.Errorf("%s is not known here", f)
		}
	}
}

// localized names the stack's own queues in a fixture, makes what waits due, and
// its message one that was not seen before.
func (s *stack) localized(raw []byte) []byte {
	s.t.Helper()
	raw = fixtureQueues.ReplaceAllFunc(raw, func(arn []byte) []byte {
		queue := string(arn[bytes.LastIndexByte(arn, ':')+1:])
		return []byte(s.attribute(s.output(queue+"Url"), sqstypes.QueueAttributeNameQueueArn))
	})
	raw = fixtureDue.ReplaceAll(raw, []byte(`\"notBefore\":1`))
	return bytes.ReplaceAll(raw, []byte(fixtureMessage), []byte(uuid.NewString()))
}

// signed signs a Function URL's POST anew: for now, and with the stack's own key.
func (s *stack) signed(raw []byte) []byte {
	s.t.Helper()
	event, err := functionurl.Sign(s.t.Context(), raw, nil, s.key(), time.Now())
	if err != nil {
		s.t.Fatal(err)
	}
	return event
}
