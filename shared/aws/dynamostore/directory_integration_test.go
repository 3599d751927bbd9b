//go:build integration

package dynamostore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"postino/shared/aws/awstest"
	"postino/shared/aws/dynamostore"
	"postino/shared/push"
)

func subscriptionOf(topic string, n int) push.Subscription {
	return push.Subscription{ARN: subscriptionARN(topic, n), TopicARN: push.TopicOf(subscriptionARN(topic, n)), Protocol: push.HTTPS,
		Endpoint: fmt.Sprint("https://example.com/", n), Confirmed: true, Token: fmt.Sprint("token", n), CreatedAt: noon}
}

func newTopic(t *testing.T, s *dynamostore.Store, name string) push.Topic {
	t.Helper()
	topic, _, err := s.CreateTopic(t.Context(), push.Topic{ARN: "arn:aws:sns:us-east-1:000000000000:" + name, CreatedAt: noon})
	if err != nil {
		t.Fatal(err)
	}
	return topic
}

func subscribe(t *testing.T, s *dynamostore.Store, sub push.Subscription) {
	t.Helper()
	if _, created, err := s.CreateSubscription(t.Context(), sub); err != nil || !created {
		t.Fatal(created, err)
	}
}

func TestTombstonesAndUnconfirmedSubscriptionsGoAfterThreeDaysWithTheirCounts(t *testing.T) {
	s := open(t)
	arn := newTopic(t, s, "a").ARN
	pending := subscriptionOf("a", 1)
	pending.Confirmed = false
	subscribe(t, s, pending)
	subscribe(t, s, subscriptionOf("a", 2))
	subscribe(t, s, subscriptionOf("a", 3))
	if _, err := s.DeleteSubscription(t.Context(), subscriptionARN("a", 2), noon); err != nil {
		t.Fatal(err)
	}
	counts := func() [3]int {
		topic, err := s.Topic(t.Context(), arn)
		if err != nil {
			t.Fatal(err)
		}
		return [3]int{topic.Confirmed, topic.Pending, topic.Deleted}
	}
	if n, err := s.Purge(t.Context(), noon.Add(72*time.Hour), 100); err != nil || n != 0 || counts() != [3]int{1, 1, 1} {
		t.Errorf("after three days less nothing: %d purged, %v, counts %v", n, err, counts())
	}
	// A Subscribe later on does it by the way.
	late := subscriptionOf("a", 4)
	late.CreatedAt = noon.Add(72*time.Hour + time.Second)
	subscribe(t, s, late)
	if counts() != [3]int{2, 0, 0} {
		t.Errorf("counts after the next Subscribe: %v", counts())
	}
	for _, n := range []int{1, 2} {
		if _, err := s.Subscription(t.Context(), subscriptionARN("a", n), true); !push.IsNotFound(err) {
			t.Errorf("subscription %d: %v", n, err)
		}
		if _, err := s.ByToken(t.Context(), fmt.Sprint("token", n)); !push.IsNotFound(err) {
			t.Errorf("token of subscription %d: %v", n, err)
		}
	}
	again := subscriptionOf("a", 5)
	again.Endpoint = pending.Endpoint
	subscribe(t, s, again) // the endpoint is free
}

// failing lets some transactions through and then none.
type failing struct {
	*dynamodb.Client
	left int
}

var errBroken = errors.New("broken off")

func (f *failing) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if f.left--; f.left < 0 {
		return nil, errBroken
	}
	return f.Client.TransactWriteItems(ctx, in, o...)
}

// TestATopicWhoseDeletionBrokeOffIsGoneAndHauntsNobody: a crash half way leaves
// live subscriptions of a topic that is gone; none may be alive when a topic of
// the same name is made.
func TestATopicWhoseDeletionBrokeOffIsGoneAndHauntsNobody(t *testing.T) {
	client := dynamodb.NewFromConfig(awstest.Config(t))
	table := awstest.Table(t, client)
	s := onTable(t, client, table)
	arn := newTopic(t, s, "a").ARN
	for n := range 5 {
		subscribe(t, s, subscriptionOf("a", n))
	}
	before, err := s.Topic(t.Context(), arn)
	if err != nil {
		t.Fatal(err)
	}
	broken, err := dynamostore.New(dynamostore.Config{Client: &failing{Client: client}, Table: table})
	if err != nil {
		t.Fatal(err)
	}
	if err := broken.DeleteTopic(t.Context(), arn, noon); err == nil {
		t.Fatal("a deletion that broke off succeeded")
	}
	if _, err := s.Topic(t.Context(), arn); !push.IsNotFound(err) {
		t.Errorf("the topic: %v", err)
	}
	if _, _, err := s.CreateSubscription(t.Context(), subscriptionOf("a", 9)); !push.IsNotFound(err) {
		t.Errorf("a new subscription: %v", err)
	}
	if topics, _, err := s.Topics(t.Context(), "", 10); err != nil || len(topics) > 0 {
		t.Errorf("listed %v, %v", topics, err)
	}
	again, created, err := s.CreateTopic(t.Context(), push.Topic{ARN: arn})
	if err != nil || !created || again.Version <= before.Version || again.Confirmed != 0 || again.Deleted != 5 {
		t.Errorf("made again: %+v, %v, %v", again, created, err)
	}
	subs, _, err := s.Subscriptions(t.Context(), arn, "", 10)
	if err != nil || len(subs) > 0 {
		t.Errorf("subscriptions of the new topic: %v, %v", subs, err)
	}
}

func TestTheTablesTimeToLiveIsTheItems(t *testing.T) {
	client := dynamodb.NewFromConfig(awstest.Config(t))
	table := awstest.Table(t, client)
	if _, err := client.UpdateTimeToLive(t.Context(), dynamostore.Expiry(table)); err != nil {
		t.Fatal(err)
	}
	s := onTable(t, client, table)
	d := deliveryOf(1)
	d.Expires = time.Now().Add(time.Hour).UTC()
	if _, ok, err := s.Create(t.Context(), d); err != nil || !ok {
		t.Fatal(ok, err)
	}
	out, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table})
	if err != nil || len(out.Items) != 1 {
		t.Fatal(out, err)
	}
	ttl, ok := out.Items[0][dynamostore.TTLAttribute].(*types.AttributeValueMemberN)
	if !ok || ttl.Value != fmt.Sprint(d.Expires.Unix()+1) {
		t.Errorf("a record that expires at %v has the ttl %+v", d.Expires, ttl)
	}
}

func TestAMissingTableIsNamedWithItsVariable(t *testing.T) {
	s := onTable(t, dynamodb.NewFromConfig(awstest.Config(t)), "postino-no-such-table")
	if _, err := s.Topic(t.Context(), topicARN); err == nil || !strings.Contains(err.Error(), dynamostore.TableVariable) || push.IsNotFound(err) {
		t.Error(err)
	}
}

func TestConcurrentChangesOfOneSubscriptionAreAllKept(t *testing.T) {
	s := open(t)
	newTopic(t, s, "a")
	sub := subscriptionOf("a", 1)
	subscribe(t, s, sub)
	var wg sync.WaitGroup
	const workers = 8
	for range workers {
		wg.Go(func() {
			_, err := s.UpdateSubscription(t.Context(), sub.ARN, func(s *push.Subscription) error { s.DeliveryPolicy += "x"; return nil })
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := s.Subscription(t.Context(), sub.ARN, true)
	if err != nil || got.DeliveryPolicy != strings.Repeat("x", workers) {
		t.Errorf("%q, %v", got.DeliveryPolicy, err)
	}
}
