//go:build integration

package integration

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/google/uuid"

	"postino/shared/aws/dynamostore"
	"postino/shared/operator"
	"postino/shared/push"
)

// topic makes a topic that is deleted with the test.
func (s *stack) topic() string {
	s.t.Helper()
	return s.topicNamed("it-" + uuid.NewString()[:8])
}

func (s *stack) topicNamed(name string) string {
	s.t.Helper()
	out, err := s.sns.CreateTopic(s.t.Context(), &sns.CreateTopicInput{Name: &name})
	if err != nil {
		s.t.Fatal(err)
	}
	if s.kept {
		s.t.Cleanup(func() {
			if _, err := s.sns.DeleteTopic(context.Background(), &sns.DeleteTopicInput{TopicArn: out.TopicArn}); err != nil {
				s.t.Error(err)
			}
		})
	}
	return *out.TopicArn
}

// subscribe subscribes an endpoint, with attributes, and confirms by visiting the
// link that was pushed to it.
func (s *stack) subscribe(topic string, e *endpoint, attributes map[string]string) (subscription string) {
	s.t.Helper()
	subscription = s.ask(topic, e, attributes)
	s.confirm(e.next())
	return subscription
}

// ask subscribes; the endpoint is yet to confirm.
func (s *stack) ask(topic string, e *endpoint, attributes map[string]string) (subscription string) {
	s.t.Helper()
	protocol, _, _ := strings.Cut(e.url, ":")
	out, err := s.sns.Subscribe(s.t.Context(), &sns.SubscribeInput{TopicArn: &topic, Protocol: &protocol, Endpoint: &e.url,
		Attributes: attributes, ReturnSubscriptionArn: true})
	if err != nil {
		s.t.Fatal(err)
	}
	return *out.SubscriptionArn
}

// confirm visits the link of a confirmation.
func (s *stack) confirm(p pushed) {
	s.t.Helper()
	if p.Type != "SubscriptionConfirmation" || !strings.HasPrefix(p.SubscribeURL, s.output("EndpointUrl")+"/?") {
		s.t.Fatalf("a confirmation was wanted, pushed was %s", p.body)
	}
	if status, body := fetch(s.t, p.SubscribeURL); status != http.StatusOK {
		s.t.Fatalf("the link answers %d: %s", status, body)
	}
}

// store is the stack's table, as its functions see it.
func (s *stack) store() *dynamostore.Store {
	s.t.Helper()
	store, err := dynamostore.New(dynamostore.Config{Client: s.dynamodb, Table: s.output("TableName")})
	if err != nil {
		s.t.Fatal(err)
	}
	return store
}

// recorded are the deliveries of a subscription that are on record in a state.
func (s *stack) recorded(subscription string, state push.State) []push.Delivery {
	s.t.Helper()
	page, _, err := s.store().ListDeliveries(s.t.Context(), operator.Filter{Subscription: subscription, States: []push.State{state}, Limit: 100})
	if err != nil {
		s.t.Fatal(err)
	}
	return page
}

// seed writes a confirmed subscription straight into the table, where a test
// needs many, or one that could not be confirmed.
func (s *stack) seed(topic, endpoint string, change ...func(*push.Subscription)) (subscription string) {
	s.t.Helper()
	protocol, _, _ := strings.Cut(endpoint, ":")
	sub := push.Subscription{ARN: topic + ":" + uuid.NewString(), TopicARN: topic, Protocol: push.Protocol(protocol), Endpoint: endpoint,
		Owner: "000000000000", Confirmed: true, CreatedAt: time.Now()}
	for _, c := range change {
		c(&sub)
	}
	if _, made, err := s.store().CreateSubscription(s.t.Context(), sub); err != nil || !made {
		s.t.Fatalf("the subscription was not made: %v", err)
	}
	return sub.ARN
}

// policy is the attribute with a retry policy whose delays are seconds.
func policy(retries, delay int) map[string]string {
	b, err := json.Marshal(map[string]any{"healthyRetryPolicy": map[string]any{"numRetries": retries, "minDelayTarget": delay, "maxDelayTarget": delay}})
	if err != nil {
		panic(err)
	}
	return map[string]string{"DeliveryPolicy": string(b)}
}

// redrive is the attribute with the subscriber's own dead-letter queue.
func redrive(arn string) map[string]string {
	return map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"` + arn + `"}`}
}

func merged(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

func (s *stack) publish(topic, message string) (id string) {
	s.t.Helper()
	out, err := s.sns.Publish(s.t.Context(), &sns.PublishInput{TopicArn: &topic, Message: &message})
	if err != nil {
		s.t.Fatal(err)
	}
	return *out.MessageId
}

// publishAll publishes up to ten messages in one call.
func (s *stack) publishAll(topic string, messages ...string) {
	s.t.Helper()
	in := &sns.PublishBatchInput{TopicArn: &topic}
	for n, m := range messages {
		in.PublishBatchRequestEntries = append(in.PublishBatchRequestEntries, snstypes.PublishBatchRequestEntry{Id: aws.String("e" + string(rune('0'+n))), Message: &m})
	}
	out, err := s.sns.PublishBatch(s.t.Context(), in)
	if err != nil || len(out.Successful) != len(messages) || len(out.Failed) != 0 {
		s.t.Fatalf("%+v, %v", out, err)
	}
}

// ten names ten messages.
func ten() (messages []string) {
	for n := range 10 {
		messages = append(messages, "message "+string(rune('0'+n)))
	}
	return messages
}

// setAttribute changes an attribute of a subscription.
func (s *stack) setAttribute(subscription, name, value string) {
	s.t.Helper()
	if _, err := s.sns.SetSubscriptionAttributes(s.t.Context(), &sns.SetSubscriptionAttributesInput{SubscriptionArn: &subscription,
		AttributeName: &name, AttributeValue: &value}); err != nil {
		s.t.Fatal(err)
	}
}
