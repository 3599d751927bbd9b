package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"postino/shared/push"
)

// A change of a subscription is one transaction over up to five items: the
// topic's version and counts, the subscription, the item that makes its endpoint
// unique, and the items that find it by its token, the old one and the new one.

// Why a change was not made. Whoever asked starts over or answers.
var (
	errTopicGone = errors.New("the topic is not there")
	errRevised   = errors.New("somebody else changed the subscription first")
	errConflict  = errors.New("somebody else is changing the same items")
)

// takenError says whose the endpoint is already.
type takenError struct{ by string }

func (e *takenError) Error() string { return "the endpoint is that of " + e.by }

// edit is a change from before to after, either of which may be nil.
type edit struct {
	before, after *stored
	// orphan leaves the topic alone: it is gone.
	orphan bool
}

// write makes the change; after's revision is set.
func (s *Store) write(ctx context.Context, e edit) error {
	call, cancel := bound(ctx)
	defer cancel()
	parts := s.parts(e)
	items := make([]types.TransactWriteItem, len(parts))
	for n, p := range parts {
		items[n] = p.write
	}
	// The SDK gives every call a token of its own, so a try that was made twice
	// counts once.
	_, err := s.Client.TransactWriteItems(call, &dynamodb.TransactWriteItemsInput{TransactItems: items})
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) {
		return s.fault(ctx, "TransactWriteItems", err)
	}
	conflict := false
	for n, r := range cancelled.CancellationReasons {
		switch code := aws.ToString(r.Code); {
		case n >= len(parts) || code == "None" || code == "":
		case code == "ConditionalCheckFailed":
			return parts[n].refused(item(r.Item))
		case code == "TransactionConflict" || strings.Contains(code, "Throttl") || code == "ProvisionedThroughputExceeded":
			conflict = true
		}
	}
	if conflict {
		return errConflict
	}
	return s.fault(ctx, "TransactWriteItems", err)
}

// part is one item's write in a transaction, and what its refusal means.
type part struct {
	write   types.TransactWriteItem
	refused func(current item) error
}

func (s *Store) parts(e edit) []part {
	var before, after push.Subscription
	if e.before != nil {
		before = e.before.Subscription
	}
	if e.after != nil {
		after = e.after.Subscription
	}
	var parts []part
	if !e.orphan {
		parts = append(parts, s.countPart(e))
	}
	parts = append(parts, s.subscriptionPart(e))
	had, has := e.before != nil && !before.Deleted(), e.after != nil && !after.Deleted()
	oldEndpoint, newEndpoint := key(endpointKey(before)), key(endpointKey(after))
	moved := keyString(oldEndpoint) != keyString(newEndpoint)
	if had && (!has || moved) {
		parts = append(parts, s.remove(oldEndpoint))
	}
	if has && (!had || moved) {
		parts = append(parts, s.endpointPart(after))
	}
	if before.Token != after.Token {
		if before.Token != "" {
			parts = append(parts, s.remove(key(tokenKey(before.Token))))
		}
		if after.Token != "" {
			parts = append(parts, s.tokenPart(after))
		}
	}
	return parts
}

func keyString(k item) string {
	f := fields{item: k}
	return f.text("pk") + " " + f.text("sk")
}

// countPart bumps the topic's version and moves its counts.
func (s *Store) countPart(e edit) part {
	var counts push.Topic
	topic := ""
	if e.before != nil {
		topic = e.before.TopicARN
		count(&counts, e.before.Subscription, -1)
	}
	if e.after != nil {
		topic = e.after.TopicARN
		count(&counts, e.after.Subscription, 1)
	}
	return part{types.TransactWriteItem{Update: &types.Update{TableName: &s.Table, Key: key(topicKey(topic)),
		UpdateExpression:    aws.String("ADD version :one, confirmed :confirmed, pending :pending, deleted :deleted"),
		ConditionExpression: aws.String("attribute_exists(pk) AND attribute_not_exists(fate)"),
		ExpressionAttributeValues: item{":one": number(1), ":confirmed": number(counts.Confirmed),
			":pending": number(counts.Pending), ":deleted": number(counts.Deleted)},
	}}, func(item) error { return errTopicGone }}
}

// count adds by to the topic's count that s falls under.
func count(t *push.Topic, s push.Subscription, by int) {
	switch {
	case s.Deleted():
		t.Deleted += by
	case s.Confirmed:
		t.Confirmed += by
	default:
		t.Pending += by
	}
}

func (s *Store) subscriptionPart(e edit) part {
	refused := func(item) error { return errRevised }
	if e.before == nil {
		return part{types.TransactWriteItem{Put: &types.Put{TableName: &s.Table, Item: subscriptionItem(*e.after),
			ConditionExpression: aws.String("attribute_not_exists(pk)")}}, refused}
	}
	unchanged := item{":revision": number(e.before.revision)}
	if e.after == nil {
		return part{types.TransactWriteItem{Delete: &types.Delete{TableName: &s.Table, Key: key(subscriptionKey(e.before.ARN)),
			ConditionExpression: aws.String("revision = :revision"), ExpressionAttributeValues: unchanged}}, refused}
	}
	e.after.revision = e.before.revision + 1
	return part{types.TransactWriteItem{Put: &types.Put{TableName: &s.Table, Item: subscriptionItem(*e.after),
		ConditionExpression: aws.String("revision = :revision"), ExpressionAttributeValues: unchanged}}, refused}
}

func (s *Store) endpointPart(sub push.Subscription) part {
	i := newItem(endpointKey(sub))
	i["arn"] = text(sub.ARN)
	return part{types.TransactWriteItem{Put: &types.Put{TableName: &s.Table, Item: i, ConditionExpression: aws.String("attribute_not_exists(pk)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld}},
		func(current item) error { return &takenError{(&fields{item: current}).text("arn")} }}
}

func (s *Store) tokenPart(sub push.Subscription) part {
	i := newItem(tokenKey(sub.Token))
	i["arn"] = text(sub.ARN)
	return part{types.TransactWriteItem{Put: &types.Put{TableName: &s.Table, Item: i}}, unconditional}
}

func (s *Store) remove(k item) part {
	return part{types.TransactWriteItem{Delete: &types.Delete{TableName: &s.Table, Key: k}}, unconditional}
}

func unconditional(item) error { return fmt.Errorf("a write without a condition was refused") }
