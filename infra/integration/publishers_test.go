//go:build integration

package integration

import (
	"bytes"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/google/uuid"
)

func TestADirectInvokePublishes(t *testing.T) {
	s, e := deployed(t), listen(t)
	topic := s.topic()
	s.subscribe(topic, e, nil)
	event, err := json.Marshal(map[string]string{"topicArn": topic, "message": "invoked", "subject": "directly"})
	if err != nil {
		t.Fatal(err)
	}
	body, fault := s.invoke("Publish", event)
	var answer struct{ MessageID string }
	if fault != "" || json.Unmarshal(body, &answer) != nil {
		t.Fatalf("the function answers %s", body)
	}
	if p := e.next(); p.MessageId != answer.MessageID || p.Message != "invoked" || p.Subject != "directly" {
		t.Errorf("pushed was %s, the answer %s", p.body, body)
	}
}

func TestAnEventBridgeEventIsPublishedToTheEventTopicAndKeepsItsMessageID(t *testing.T) {
	s, e := deployed(t), listen(t)
	out, err := s.sns.CreateTopic(t.Context(), &sns.CreateTopicInput{Name: aws.String("events")})
	if err != nil {
		t.Fatal(err)
	}
	s.subscribe(*out.TopicArn, e, nil)
	event := strings.Replace(string(fixture(t, "publish-eventbridge.json")), "17793124-05d4-b198-2fde-7ededc63b103", uuid.NewString(), 1)
	first, _ := s.invoke("Publish", []byte(event))
	again, _ := s.invoke("Publish", []byte(event))
	p := e.next()
	if !strings.Contains(string(first), p.MessageId) || string(first) != string(again) {
		t.Errorf("answers %s and %s, pushed was message %s", first, again, p.MessageId)
	}
	if !strings.Contains(p.Message, `"detail-type"`) {
		t.Errorf("pushed was %s", p.body)
	}
}

// An SDK that has not got its answer sends the same request again, with the same
// invocation id: the subscriber can tell that it is the same message.
func TestARetryOfTheClientsKeepsTheMessageID(t *testing.T) {
	s := deployed(t)
	topic := s.topic()
	form := url.Values{"Action": {"Publish"}, "TopicArn": {topic}, "Message": {"twice"}}.Encode()
	send := func(invocation string) string {
		r := s.request(form)
		r.Header.Set("Amz-Sdk-Invocation-Id", invocation)
		s.sign(r, form, time.Now(), s.key())
		status, b := do(t, r)
		_, id, found := strings.Cut(b, "<MessageId>")
		id, _, ended := strings.Cut(id, "</MessageId>")
		if !found || !ended {
			t.Fatalf("%d: %s", status, b)
		}
		return id
	}
	invocation := uuid.NewString()
	if first, again, other := send(invocation), send(invocation), send(uuid.NewString()); first != again || first == other {
		t.Errorf("message ids %s, %s and, for another request, %s", first, again, other)
	}
}

func fixture(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "events", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The fixtures are of another account, whose topics are not served here: batches
// must be answered, and publishes refused in the way that SNS refuses them.
func TestEveryEventFixtureIsAnsweredByItsFunction(t *testing.T) {
	s := deployed(t)
	answers := map[string]string{
		"publish-function-url.json":              `"statusCode":4`,
		"publish-function-url-base64-form.json":  `"statusCode":4`,
		"publish-function-url-batch.json":        `"statusCode":4`,
		"publish-function-url-confirm-link.json": `"statusCode":400`,
		"publish-function-url-certificate.json":  `"statusCode":404`,
		"publish-direct.json":                    "NotFound",
		"publish-direct-batch.json":              "NotFound",
		"publish-eventbridge.json":               `"messageId"`,
		"deliver-sqs.json":                       `{"batchItemFailures":[]}`,
		"deliver-sqs-batch-with-poison.json":     `{"batchItemFailures":[]}`,
		"deliver-retry.json":                     `{"batchItemFailures":[]}`,
		"deliver-confirmation.json":              `{"batchItemFailures":[]}`,
		"fanout-sqs.json":                        `{"batchItemFailures":[]}`,
		"redrive-sqs.json":                       `{"batchItemFailures":[]}`, // their subscriptions do not exist: they go to DeadLetterQueue
		"redrive-sqs-raw.json":                   `{"batchItemFailures":[]}`,
		"redrive-sqs-failed-jobs.json":           `{"batchItemFailures":[]}`,
		"redrive-sqs-failed-invocations.json":    `{"batchItemFailures":[]}`,
	}
	if _, err := s.sns.CreateTopic(t.Context(), &sns.CreateTopicInput{Name: aws.String("events")}); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join("..", "..", "events", "*.json"))
	if err != nil || len(files) != len(answers) {
		t.Errorf("%d fixtures, %d answers known (%v)", len(files), len(answers), err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		kind, _, _ := strings.Cut(name, "-")
		body, _ := s.invoke(strings.ToUpper(kind[:1])+kind[1:], fixture(t, name))
		var compact bytes.Buffer
		if err := json.Compact(&compact, body); err != nil {
			t.Fatalf("%s: %v in %s", name, err, body)
		}
		if want := answers[name]; want == "" || !strings.Contains(compact.String(), want) {
			t.Errorf("%s: want %s in %s", name, want, body)
		}
	}
}

// A topic beyond the inline limit of 100 goes through the FanoutQueue.
func TestALargeTopicReachesEverySubscriber(t *testing.T) {
	const subscribers = 110
	s, e := deployed(t), listen(t)
	topic := s.topic()
	base := e.url
	for n := range subscribers {
		e.url = base + "/" + string(rune('a'+n/26)) + string(rune('a'+n%26))
		s.subscribe(topic, e, nil)
	}
	id := s.publish(topic, "to all")
	seen := map[string]int{}
	for range subscribers {
		p := e.next()
		if p.MessageId != id {
			t.Fatalf("pushed was %s", p.body)
		}
		seen[p.header.Get("X-Amz-Sns-Subscription-Arn")]++
	}
	if len(seen) != subscribers {
		t.Errorf("%d subscriptions were served, want %d, each once", len(seen), subscribers)
	}
	e.quiet(2 * time.Second)
}

func TestABatchIsPublishedEntryByEntry(t *testing.T) {
	s, e := deployed(t), listen(t)
	topic := s.topic()
	s.subscribe(topic, e, nil)
	out, err := s.sns.PublishBatch(t.Context(), batch(topic, "a", "b", "c"))
	if err != nil || len(out.Successful) != 3 {
		t.Fatalf("%+v, %v", out, err)
	}
	var got []string
	for range 3 {
		got = append(got, e.next().Message)
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("pushed were %q", got)
	}
}
