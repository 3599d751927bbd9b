//go:build integration

package integration

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/uuid"

	"postino/shared/pipeline"
)

// queue makes a queue of a subscriber's own, whose name begins with prefix: "it"
// is what the functions are allowed in every stack.
func (s *stack) queue(prefix string) (url, arn string) {
	s.t.Helper()
	out, err := s.sqs.CreateQueue(s.t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(prefix + "-" + uuid.NewString()[:8])})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if _, err := s.sqs.DeleteQueue(context.Background(), &sqs.DeleteQueueInput{QueueUrl: out.QueueUrl}); err != nil {
			s.t.Error(err)
		}
	})
	return *out.QueueUrl, s.attribute(*out.QueueUrl, sqstypes.QueueAttributeNameQueueArn)
}

func (s *stack) attribute(url string, name sqstypes.QueueAttributeName) string {
	s.t.Helper()
	out, err := s.sqs.GetQueueAttributes(s.t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []sqstypes.QueueAttributeName{name}})
	if err != nil {
		s.t.Fatal(err)
	}
	return out.Attributes[string(name)]
}

// send puts messages into one of the stack's queues, up to ten.
func (s *stack) send(queue string, bodies ...string) {
	s.t.Helper()
	in := &sqs.SendMessageBatchInput{QueueUrl: aws.String(s.output(queue))}
	for n, body := range bodies {
		in.Entries = append(in.Entries, sqstypes.SendMessageBatchRequestEntry{Id: aws.String("e" + string(rune('0'+n))), MessageBody: &body})
	}
	if out, err := s.sqs.SendMessageBatch(s.t.Context(), in); err != nil || len(out.Failed) != 0 {
		s.t.Fatalf("%+v, %v", out, err)
	}
}

// inbox is what was read from a queue. A queue is read for all tests alike: each
// takes what it waits for and leaves the rest to the others.
type inbox struct {
	mu       sync.Mutex
	messages []sqstypes.Message
}

var inboxes sync.Map // URL → *inbox

// takeFrom waits for the message of a queue that fits, and takes it.
func (s *stack) takeFrom(url string, fits func(sqstypes.Message) bool) sqstypes.Message {
	s.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(100 * time.Millisecond) {
		if m, ok := s.lookInto(url, fits); ok {
			return m
		}
	}
	s.t.Fatalf("nothing came into %s", url)
	return sqstypes.Message{}
}

// lookInto takes a message that fits, if it is there.
func (s *stack) lookInto(url string, fits func(sqstypes.Message) bool) (sqstypes.Message, bool) {
	s.t.Helper()
	v, _ := inboxes.LoadOrStore(url, &inbox{})
	in := v.(*inbox)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.messages = append(in.messages, s.receive(url)...)
	n := slices.IndexFunc(in.messages, fits)
	if n < 0 {
		return sqstypes.Message{}, false
	}
	m := in.messages[n]
	in.messages = slices.Delete(in.messages, n, n+1)
	return m, true
}

// receive takes what a queue gives at once.
func (s *stack) receive(url string) []sqstypes.Message {
	s.t.Helper()
	out, err := s.sqs.ReceiveMessage(s.t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10,
		MessageAttributeNames: []string{"All"}, MessageSystemAttributeNames: []sqstypes.MessageSystemAttributeName{"All"}})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, m := range out.Messages {
		if _, err := s.sqs.DeleteMessage(s.t.Context(), &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: m.ReceiptHandle}); err != nil {
			s.t.Fatal(err)
		}
	}
	return out.Messages
}

// empty fails when a message of a queue fits.
func (s *stack) empty(url string, fits func(sqstypes.Message) bool) {
	s.t.Helper()
	if m, ok := s.lookInto(url, fits); ok {
		said := map[string]string{}
		for name, a := range m.MessageAttributes {
			said[name] = aws.ToString(a.StringValue)
		}
		s.t.Errorf("%s holds %.300s with %v, sent at %s", url, *m.Body, said, m.Attributes["SentTimestamp"])
	}
}

// Fits for a message.
func anything(sqstypes.Message) bool { return true }
func otherThan(letter sqstypes.Message) func(sqstypes.Message) bool {
	return func(m sqstypes.Message) bool {
		said := func(m sqstypes.Message) string {
			return aws.ToString(m.MessageAttributes[pipeline.DeadLetterAttribute].StringValue)
		}
		return *m.Body != *letter.Body || said(m) != said(letter)
	}
}
func holding(text string) func(sqstypes.Message) bool {
	return func(m sqstypes.Message) bool { return strings.Contains(*m.Body, text) }
}

// deadLetter waits for a message in the installation's own dead-letter queue.
func (s *stack) deadLetter(messageID string) sqstypes.Message {
	s.t.Helper()
	return s.takeFrom(s.output("DeadLetterQueueUrl"), func(m sqstypes.Message) bool {
		a, noted := m.MessageAttributes[pipeline.DeadLetterAttribute]
		return strings.Contains(*m.Body, messageID) || noted && strings.Contains(*a.StringValue, messageID)
	})
}

func note(t *testing.T, m sqstypes.Message) (n pipeline.DeadLetterNote) {
	t.Helper()
	a, ok := m.MessageAttributes[pipeline.DeadLetterAttribute]
	if !ok || json.Unmarshal([]byte(*a.StringValue), &n) != nil {
		t.Fatalf("the letter has no note: %v", m.MessageAttributes)
	}
	return n
}

// visibility sets for how long a batch that failed as a whole stays away, on the
// test's own stack.
func (s *stack) visibility(queue string, d time.Duration) {
	s.t.Helper()
	if _, err := s.sqs.SetQueueAttributes(s.t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: aws.String(s.output(queue)),
		Attributes: map[string]string{string(sqstypes.QueueAttributeNameVisibilityTimeout): seconds(d)}}); err != nil {
		s.t.Fatal(err)
	}
}

// eventSource turns the event source of a queue on or off.
func (s *stack) eventSource(function, queue string, on bool) {
	s.t.Helper()
	arn := s.attribute(s.output(queue), sqstypes.QueueAttributeNameQueueArn)
	out, err := s.lambda.ListEventSourceMappings(s.t.Context(), &lambda.ListEventSourceMappingsInput{
		FunctionName: aws.String(s.output(function + "FunctionName")), EventSourceArn: &arn})
	if err != nil || len(out.EventSourceMappings) != 1 {
		s.t.Fatalf("%+v, %v", out, err)
	}
	if _, err := s.lambda.UpdateEventSourceMapping(s.t.Context(), &lambda.UpdateEventSourceMappingInput{UUID: out.EventSourceMappings[0].UUID, Enabled: &on}); err != nil {
		s.t.Fatal(err)
	}
	s.eventually("the event source of "+queue+" follows", func() bool {
		now, err := s.lambda.GetEventSourceMapping(s.t.Context(), &lambda.GetEventSourceMappingInput{UUID: out.EventSourceMappings[0].UUID})
		return err == nil && (*now.State == "Enabled") == on && (*now.State == "Disabled") == !on
	})
}

// eventually waits until something holds.
func (s *stack) eventually(what string, holds func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); <-time.After(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("it is never so that %s", what)
		}
	}
}
