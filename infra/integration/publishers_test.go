//go:build integration

package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/google/uuid"
)

func TestADirectInvokePublishes(t *testing.T) {
	t.Parallel()
	s, e := deployed(t), listen(t)
	topic := s.topic()
	s.subscribe(topic, e, nil)
	event := direct(t, topic, "invoked")
	body, fault := s.invoke("Publish", event)
	var answer struct{ MessageID string }
	if fault != "" || json.Unmarshal(body, &answer) != nil {
		t.Fatalf("the function answers %s", body)
	}
	if p := e.next(); p.MessageId != answer.MessageID || p.Message != "invoked" || p.Subject != "directly" {
		t.Errorf("pushed was %s, the answer %s", p.body, body)
	}
	// Nobody waits for the answer: fire and forget.
	s.invokeAsync("Publish", direct(t, topic, "forgotten"))
	if p := e.next(); p.Message != "forgotten" {
		t.Errorf("pushed was %s", p.body)
	}
	e.quiet(2 * time.Second)
}

func direct(t *testing.T, topic, message string) []byte {
	t.Helper()
	event, err := json.Marshal(map[string]string{"topicArn": topic, "message": message, "subject": "directly"})
	if err != nil {
		t.Fatal(err)
	}
	return event
}

// EventBridge delivers at least once: an event that it delivers twice is the same
// message twice, which a subscriber can tell.
func TestAnEventThatComesTwiceKeepsItsMessageID(t *testing.T) {
	t.Parallel()
	s, e := own(t, nil), listen(t)
	topic := s.parameters["EventTopicArn"]
	if made := s.topicNamed(topic[strings.LastIndexByte(topic, ':')+1:]); made != topic {
		t.Fatalf("events go to %q", topic)
	}
	s.subscribe(topic, e, nil)
	event := strings.Replace(string(fixture(t, "publish-eventbridge.json")), "17793124-05d4-b198-2fde-7ededc63b103", uuid.NewString(), 1)
	first, _ := s.invoke("Publish", []byte(event))
	s.invokeAsync("Publish", []byte(event))
	p, again := e.next(), e.next()
	if !strings.Contains(string(first), p.MessageId) || p.MessageId != again.MessageId || !strings.Contains(p.Message, `"detail-type"`) {
		t.Errorf("the answer is %s, pushed were %s and %s", first, p.body, again.body)
	}
	e.quiet(2 * time.Second)
}

// losing hands requests on and loses the first answer, as a network may.
type losing struct {
	lost *http.Response
	body []byte
}

func (l *losing) Do(r *http.Request) (*http.Response, error) {
	resp, err := plainBodies{http.DefaultClient}.Do(r)
	if err != nil || l.lost != nil {
		return resp, err
	}
	defer resp.Body.Close()
	l.lost = resp
	if l.body, err = io.ReadAll(resp.Body); err != nil {
		return nil, err
	}
	return nil, &lostError{}
}

type lostError struct{}

func (*lostError) Error() string         { return "the answer was lost" }
func (*lostError) ConnectionError() bool { return true } // the SDK's sign for "try again"

// An SDK that has not got its answer sends the same request again, with the same
// invocation id: the subscriber can tell that it is the same message.
func TestARetryOfTheSDKKeepsTheMessageID(t *testing.T) {
	t.Parallel()
	s, e := deployed(t), listen(t)
	topic := s.topic()
	s.subscribe(topic, e, nil)
	wire := &losing{}
	client := s.client(func(o *sns.Options) { o.HTTPClient, o.Retryer, o.RetryMaxAttempts = wire, retry.NewStandard(), 3 })
	out, err := client.Publish(t.Context(), &sns.PublishInput{TopicArn: &topic, Message: aws.String("twice")})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(wire.body, []byte(*out.MessageId)) {
		t.Errorf("the second answer says %s, the first, which was lost: %s", *out.MessageId, wire.body)
	}
	for range 2 {
		if p := e.next(); p.MessageId != *out.MessageId {
			t.Errorf("pushed was %s", p.body)
		}
	}
	if other := s.publish(topic, "twice"); other == *out.MessageId {
		t.Error("another call has the same message id")
	}
	e.next()
	e.quiet(2 * time.Second)
}

func TestTheSDKSeesSNSsOwnErrors(t *testing.T) {
	t.Parallel()
	s := deployed(t)
	_, err := s.sns.Publish(t.Context(), &sns.PublishInput{TopicArn: aws.String("arn:aws:sns:us-east-1:000000000000:gone"), Message: aws.String("m")})
	if e := new(snstypes.NotFoundException); !errors.As(err, &e) {
		t.Errorf("a topic that does not exist: %v", err)
	}
	topic := s.topic()
	_, err = s.sns.Publish(t.Context(), &sns.PublishInput{TopicArn: &topic, Message: aws.String(strings.Repeat("x", sizeLimit+1))})
	if e := new(snstypes.InvalidParameterException); !errors.As(err, &e) {
		t.Errorf("a message that is too long: %v", err)
	}
}
