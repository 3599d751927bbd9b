package dynamostore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"postino/shared/push"
)

// Subscriptions implements pipeline.Directory. It is read strongly: publishers
// keep the list under the topic's version, which they read strongly before.
func (s *Store) Subscriptions(ctx context.Context, topicARN, after string, limit int) (page []push.Subscription, next string, err error) {
	limit = max(limit, 1)
	err = s.subscriptions(ctx, topicARN, after, false, func(sub stored) (bool, error) {
		if len(page) == limit {
			next = page[limit-1].ARN
			return false, nil
		}
		page = append(page, sub.Subscription)
		return true, nil
	})
	if err != nil {
		return nil, "", err
	}
	if len(page) == 0 { // of a topic without any, or without itself?
		if _, err := s.Topic(ctx, topicARN); err != nil {
			return nil, "", err
		}
	}
	return page, next, nil
}

// subscriptions gives a topic's subscriptions behind after to visit, in the
// order of their ARNs, until it answers false.
func (s *Store) subscriptions(ctx context.Context, topicARN, after string, tombstones bool, visit func(stored) (more bool, err error)) error {
	pk, _ := subscriptionKey(topicARN + ":")
	in := &dynamodb.QueryInput{ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String("pk = :topic"), ExpressionAttributeValues: item{":topic": text(pk)}}
	if id, ok := strings.CutPrefix(after, topicARN+":"); ok && id != "" {
		in.KeyConditionExpression = aws.String("pk = :topic AND sk > :after")
		in.ExpressionAttributeValues[":after"] = text(id)
	} else if after > topicARN+":" {
		return nil
	}
	if !tombstones {
		in.FilterExpression = aws.String("attribute_not_exists(deleted)")
	}
	for {
		items, more, err := s.query(ctx, in)
		if err != nil {
			return err
		}
		for _, i := range items {
			sub, err := readSubscription(i)
			if err != nil {
				return err
			}
			if on, err := visit(sub); err != nil || !on {
				return err
			}
		}
		if more == nil {
			return nil
		}
		in.ExclusiveStartKey = more
	}
}

// AllSubscriptions implements snsapi.Directory. Its order comes from an index
// that follows changes within a second or so.
func (s *Store) AllSubscriptions(ctx context.Context, after string, limit int) ([]push.Subscription, string, error) {
	items, next, err := s.list(ctx, subList, after, limit)
	if err != nil {
		return nil, "", err
	}
	byARN := map[string]push.Subscription{}
	for _, i := range items {
		sub, err := readSubscription(i)
		if err != nil {
			return nil, "", err
		}
		if !sub.Deleted() {
			byARN[sub.ARN] = sub.Subscription
		}
	}
	return sorted(byARN), next, nil
}

// sorted gives the values in the order of their keys.
func sorted[K cmp.Ordered, V any](m map[K]V) []V {
	out := make([]V, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[k])
	}
	return out
}
