package dynamostore

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"postino/shared/push"
)

// Tombstones and unconfirmed subscriptions go after three days. DynamoDB's own
// expiry could not keep the topic's counts, so it is done in transactions: a few
// at every Subscribe and Unsubscribe, which are what makes them.

// purgedAtOnce is more than one change can leave behind.
const purgedAtOnce = 2

// purgeSome is part of a change that has been made: what it cannot purge, the
// next change does.
func (s *Store) purgeSome(ctx context.Context, now time.Time) {
	if !now.IsZero() {
		_, _ = s.Purge(ctx, now, purgedAtOnce)
	}
}

// Purge removes up to limit subscriptions deleted, or left unconfirmed, three
// days before now. It gives the number removed; call it again soon when that is
// not 0.
func (s *Store) Purge(ctx context.Context, now time.Time, limit int) (removed int, err error) {
	items, _, err := s.query(ctx, &dynamodb.QueryInput{IndexName: aws.String(statesIndex), Limit: limitOf(limit),
		KeyConditionExpression:    aws.String("statePK = :lapsing AND stateSK < :now"),
		ExpressionAttributeValues: item{":lapsing": text(lapsingState), ":now": text(instant(now))}})
	if err != nil {
		return 0, err
	}
	for _, i := range items {
		_, arn, _ := strings.Cut((&fields{item: i}).text(stateSK), "#")
		gone, err := s.purge(ctx, arn, now)
		if err != nil {
			return removed, err
		}
		if gone {
			removed++
		}
	}
	return removed, nil
}

func (s *Store) purge(ctx context.Context, arn string, now time.Time) (bool, error) {
	sub, err := s.subscription(ctx, arn, true)
	if push.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if at, ok := lapses(sub.Subscription); !ok || !at.Before(now) {
		return false, nil // confirmed or subscribed again in between
	}
	err = s.write(ctx, edit{before: &sub})
	if errors.Is(err, errTopicGone) {
		err = s.write(ctx, edit{before: &sub, orphan: true})
	}
	if errors.Is(err, errRevised) || errors.Is(err, errConflict) {
		return false, nil // next time
	}
	return err == nil, err
}

// buriedAtOnce is how many subscriptions of a deleted topic are under way
// together.
const buriedAtOnce = 16

// graveKept is how long a deleted topic's version is kept: longer than any
// process that may have cached a list under it lives.
const graveKept = 14 * 24 * time.Hour

// bury makes tombstones of all subscriptions of a topic that is going, and then
// forgets all of the topic but its version.
func (s *Store) bury(ctx context.Context, topicARN string, now time.Time) error {
	var (
		wg    sync.WaitGroup
		gate  = make(chan struct{}, buriedAtOnce)
		once  sync.Once
		first error
	)
	err := s.subscriptions(ctx, topicARN, "", false, func(sub stored) (bool, error) {
		gate <- struct{}{}
		wg.Go(func() {
			defer func() { <-gate }()
			_, _, err := s.revise(ctx, sub.ARN, true, deleteAt(now))
			if err != nil && !push.IsNotFound(err) {
				once.Do(func() { first = err })
			}
		})
		return ctx.Err() == nil, ctx.Err()
	})
	wg.Wait()
	if err == nil {
		err = first
	}
	if err != nil {
		return err
	}
	_, _, err = s.update(ctx, key(topicKey(topicARN)),
		"SET fate = :gone, #ttl = :ttl REMOVE displayName, deliveryPolicy, signatureVersion, successSampleRate, tags, created, confirmed, pending, deleted",
		condition{"fate = :going", map[string]string{"#ttl": TTLAttribute},
			item{":gone": text(topicGone), ":going": text(topicGoing), ":ttl": number(now.Add(graveKept).Unix())}})
	return err
}
