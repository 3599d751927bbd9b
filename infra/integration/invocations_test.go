//go:build integration

package integration

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	eventtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/uuid"
)

// eventTopic subscribes e to the topic that events are published to.
func (s *stack) eventTopic(e *endpoint) {
	s.t.Helper()
	s.subscribe(s.topicNamed("events"), e, nil)
}

func TestTheRulePublishesTheEventsThatMatch(t *testing.T) {
	t.Parallel()
	s, e := deployed(t), listen(t)
	s.eventTopic(e)
	c, err := settings()
	if err != nil {
		t.Fatal(err)
	}
	put := func(source, number string) {
		t.Helper()
		out, err := eventbridge.NewFromConfig(c).PutEvents(t.Context(), &eventbridge.PutEventsInput{Entries: []eventtypes.PutEventsRequestEntry{
			{Source: &source, DetailType: aws.String("Order"), Detail: aws.String(`{"number":"` + number + `"}`)}}})
		if err != nil || out.FailedEntryCount != 0 {
			t.Fatalf("%+v, %v", out, err)
		}
	}
	put("somebody.else", "1")
	put("postino.sample", "2")
	p := e.next()
	if !strings.Contains(p.Message, `"2"`) || !strings.Contains(p.Message, "postino.sample") {
		t.Errorf("pushed was %s", p.body)
	}
	e.quiet(2 * time.Second)
}

// invokeAsync hands an event over as EventBridge does: nobody waits for the answer.
func (s *stack) invokeAsync(function string, event []byte) {
	s.t.Helper()
	_, err := s.lambda.Invoke(s.t.Context(), &lambda.InvokeInput{FunctionName: aws.String(s.output(function + "FunctionName")),
		InvocationType: lambdatypes.InvocationTypeEvent, Payload: event})
	if err != nil {
		s.t.Fatal(err)
	}
}

func TestAnInvocationThatFailsToTheEndIsKeptAndPublishedUnderItsOwnMessageID(t *testing.T) {
	t.Parallel()
	s, e := own(t, nil), listen(t)
	s.eventTopic(e)
	id := uuid.NewString()
	event := []byte(strings.Replace(string(fixture(t, "publish-eventbridge.json")), "17793124-05d4-b198-2fde-7ededc63b103", id, 1))
	restore := s.change("Publish", map[string]string{"POSTINO_TABLE": "no-such-table"})
	s.invokeAsync("Publish", event)
	kept := s.takeFrom(s.output("FailedJobsQueueUrl"), func(m sqstypes.Message) bool { return strings.Contains(*m.Body, id) })
	restore()
	if failed := s.redriveFrom("FailedJobsQueueUrl", kept); len(failed) != 0 {
		t.Fatalf("it came back: %+v", failed)
	}
	p := e.next()
	body, _ := s.invoke("Publish", event) // EventBridge may deliver an event twice
	var answer struct{ MessageID string }
	if json.Unmarshal(body, &answer) != nil || p.MessageId != answer.MessageID {
		t.Errorf("published again as %s, by itself it would have been %s", p.MessageId, body)
	}
	if again := e.next(); again.MessageId != p.MessageId {
		t.Errorf("pushed was %s", again.body)
	}
	verify(t, s, p)
}

func TestADirectInvocationThatIsRefusedEndsWhereOneCanSeeIt(t *testing.T) {
	t.Parallel()
	s := deployed(t)
	text := uuid.NewString()
	s.invokeAsync("Publish", []byte(`{"topicArn":"arn:aws:sns:us-east-1:000000000000:gone","message":"`+text+`"}`))
	holds := func(m sqstypes.Message) bool { return strings.Contains(*m.Body, text) }
	kept := s.takeFrom(s.output("FailedJobsQueueUrl"), holds)
	if failed := s.redriveFrom("FailedJobsQueueUrl", kept); len(failed) != 0 {
		t.Fatalf("it came back: %+v", failed)
	}
	letter := s.takeFrom(s.output("DeadLetterQueueUrl"), holds)
	if a, ok := letter.MessageAttributes["PostinoRefusal"]; !ok || !strings.Contains(*a.StringValue, "Topic does not exist") {
		t.Errorf("it carries %v", letter.MessageAttributes)
	}
}
