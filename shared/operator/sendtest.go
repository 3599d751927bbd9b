package operator

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"postino/shared/pipeline"
	"postino/shared/push"
)

// TestMessage is what SendTest answers.
type TestMessage struct {
	MessageID    string `json:"messageId"`
	Subscription string `json:"subscription"`
	Endpoint     string `json:"endpoint"`
	// Paused: the message waits until the subscription is resumed.
	Paused bool `json:"paused"`
}

// TestAttribute marks test messages, so that a receiver can tell them from real
// ones; its value is "true". Raw deliveries over HTTP carry no attributes.
const TestAttribute = "PostinoTest"

// TestGeneration is the generation of test messages' deliveries: those are recorded
// also when they succeed at once, so that ShowDelivery tells.
const TestGeneration = "test"

// SendTest queues one notification for one subscription and for none of its
// topic's others. It is pushed as any other: signed, throttled, retried and, in
// the end, dead-lettered.
func (o *Operator) SendTest(ctx context.Context, which string) (TestMessage, error) {
	arn, err := o.subscriptionARN(ctx, which)
	if err != nil {
		return TestMessage{}, err
	}
	sub, err := o.Directory.Subscription(ctx, arn, true)
	switch {
	case push.IsNotFound(err) || err == nil && sub.Deleted():
		return TestMessage{}, noSubscription(arn)
	case err != nil:
		return TestMessage{}, err
	case !sub.Confirmed:
		return TestMessage{}, push.Errorf(push.CodeInvalidParameter,
			"Subscription %s is not confirmed yet: its endpoint must visit the SubscribeURL it was sent", arn)
	}
	id, err := newID(o.Random)
	if err != nil {
		return TestMessage{}, err
	}
	// It goes out unsigned: the deliver verb signs what its subscriber expects
	// to be signed.
	job := push.Job{Kind: push.Notification, Subscription: sub.ARN, Generation: TestGeneration, Attempt: 1, Phase: "initial", Message: push.Message{
		ID: id, TopicARN: sub.TopicARN, Subject: "Test message",
		Body:       "This is a test that an operator of Postino sent to this subscription alone.",
		Attributes: []push.Attribute{{Name: TestAttribute, Type: "String", Value: "true"}},
		Timestamp:  o.Now().UTC().Truncate(time.Millisecond),
	}}
	errs := o.Jobs.Send(ctx, o.Names.Attempt, []pipeline.Outgoing{{Body: job.Encode(), Group: sub.ID()}})
	if len(errs) == 1 && errs[0] != nil {
		return TestMessage{}, fmt.Errorf("the test message could not be queued: %w", errs[0])
	}
	return TestMessage{MessageID: id, Subscription: sub.ARN, Endpoint: sub.SafeEndpoint(), Paused: sub.Paused}, nil
}

// newID makes a random UUID of r's bytes.
func newID(r io.Reader) (string, error) {
	id, err := uuid.NewRandomFromReader(r)
	if err != nil {
		return "", fmt.Errorf("no random bytes for a message id: %w", err)
	}
	return id.String(), nil
}
