package dynamostore

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"postino/shared/push"
)

func noTopic() error        { return push.Errorf(push.CodeNotFound, "Topic does not exist") }
func noSubscription() error { return push.Errorf(push.CodeNotFound, "Subscription does not exist") }

// contended is the answer when others kept changing the same thing.
func contended() error {
	return push.Errorf(push.CodeConcurrentAccess, "Others are changing the same topic. Try again.")
}

// changesTried is how often a change starts over because somebody else's came
// first; the waits between come to some seconds.
const changesTried = 20

// Topic implements pipeline.Directory.
func (s *Store) Topic(ctx context.Context, arn string) (push.Topic, error) {
	i, err := s.get(ctx, key(topicKey(arn)), true)
	if err != nil {
		return push.Topic{}, err
	}
	if i == nil {
		return push.Topic{}, noTopic()
	}
	t, fate, err := readTopic(arn, i)
	if err == nil && fate != "" {
		err = noTopic()
	}
	if err != nil {
		return push.Topic{}, err
	}
	return t, nil
}

// CreateTopic implements snsapi.Directory. Version and counts are the store's.
func (s *Store) CreateTopic(ctx context.Context, t push.Topic) (push.Topic, bool, error) {
	t.Confirmed, t.Pending, t.Deleted = 0, 0, 0
	// Higher than any version of a topic of this name that was forgotten.
	t.Version = s.Now().UnixMilli()
	c := condition{expression: "attribute_not_exists(pk)"}
	for try := 1; try <= changesTried; try++ {
		i, ok, err := s.put(ctx, topicItem(t), c)
		if err != nil {
			return push.Topic{}, false, err
		}
		if ok {
			t.Tags = maps.Clone(t.Tags)
			return t, true, nil
		}
		have, fate, err := readTopic(t.ARN, i)
		switch {
		case err != nil:
			return push.Topic{}, false, err
		case fate == "":
			return have, false, nil
		case fate == topicGoing: // a deletion broke off, or is under way
			if err := s.bury(ctx, t.ARN, s.Now()); err != nil {
				return push.Topic{}, false, err
			}
		default:
			if t.Deleted, err = s.tombstones(ctx, t.ARN); err != nil {
				return push.Topic{}, false, err
			}
			t.Version = max(have.Version+1, s.Now().UnixMilli())
			c = condition{"fate = :gone AND version = :version", nil, item{":gone": text(topicGone), ":version": number(have.Version)}}
		}
	}
	return push.Topic{}, false, contended()
}

// UpdateTopic implements snsapi.Directory. change cannot touch the ARN, the
// version or the counts.
func (s *Store) UpdateTopic(ctx context.Context, arn string, change func(*push.Topic) error) (push.Topic, error) {
	i, err := s.get(ctx, key(topicKey(arn)), true)
	for try := 1; err == nil && try <= changesTried; try++ {
		if i == nil {
			return push.Topic{}, noTopic()
		}
		before, fate, err := readTopic(arn, i)
		if err != nil {
			return push.Topic{}, err
		}
		if fate != "" {
			return push.Topic{}, noTopic()
		}
		t := before
		t.Tags = maps.Clone(before.Tags)
		if err := change(&t); err != nil {
			return push.Topic{}, err
		}
		t.ARN, t.CreatedAt, t.Version = before.ARN, before.CreatedAt, before.Version+1
		t.Confirmed, t.Pending, t.Deleted = before.Confirmed, before.Pending, before.Deleted
		c := condition{"version = :version AND attribute_not_exists(fate)", nil, item{":version": number(before.Version)}}
		var ok bool
		// What refuses is the topic as it is now: no second read.
		if i, ok, err = s.put(ctx, topicItem(t), c); err != nil {
			return push.Topic{}, err
		} else if ok {
			return t, nil
		}
		if err := s.pause(ctx, try); err != nil {
			return push.Topic{}, err
		}
	}
	if err != nil {
		return push.Topic{}, err
	}
	return push.Topic{}, contended()
}

// Topics implements snsapi.Directory.
func (s *Store) Topics(ctx context.Context, after string, limit int) (topics []push.Topic, next string, err error) {
	items, next, err := s.list(ctx, topicList, after, limit)
	if err != nil {
		return nil, "", err
	}
	byARN := map[string]push.Topic{}
	for _, i := range items {
		arn := strings.TrimPrefix((&fields{item: i}).text("pk"), "T#")
		t, fate, err := readTopic(arn, i)
		if err != nil {
			return nil, "", err
		}
		if fate == "" {
			byARN[arn] = t
		}
	}
	return sorted(byARN), next, nil
}

// tombstones counts what a topic that is made again finds.
func (s *Store) tombstones(ctx context.Context, topicARN string) (n int, err error) {
	err = s.subscriptions(ctx, topicARN, "", true, func(sub stored) (bool, error) {
		if sub.Deleted() {
			n++
		}
		return true, nil
	})
	return n, err
}

// list gives the items behind after in one of the lists of ARNs.
func (s *Store) list(ctx context.Context, name, after string, limit int) (found []item, next string, err error) {
	limit = max(limit, 1)
	in := &dynamodb.QueryInput{IndexName: aws.String(listingIndex), Limit: limitOf(limit + 1),
		KeyConditionExpression:    aws.String("listPK = :list AND listSK > :after"),
		ExpressionAttributeValues: item{":list": text(name), ":after": text(after)}}
	if after == "" { // a key's value is never empty
		in.KeyConditionExpression, in.ExpressionAttributeValues = aws.String("listPK = :list"), map[string]types.AttributeValue{":list": text(name)}
	}
	var keys []item
	for len(keys) <= limit {
		page, more, err := s.query(ctx, in)
		if err != nil {
			return nil, "", err
		}
		for _, i := range page {
			if len(keys) == limit {
				return s.listed(ctx, keys, next)
			}
			keys = append(keys, keyOf(i))
			next = (&fields{item: i}).text(listSK)
		}
		if more == nil {
			break
		}
		in.ExclusiveStartKey = more
	}
	return s.listed(ctx, keys, "")
}

func (s *Store) listed(ctx context.Context, keys []item, next string) ([]item, string, error) {
	found, err := s.getAll(ctx, keys, false)
	return found, next, err
}

// DeleteTopic implements snsapi.Directory. The topic vanishes at once; burying
// its subscriptions takes a write each and may be broken off: the same call
// again, or making the topic again, goes on with it.
func (s *Store) DeleteTopic(ctx context.Context, arn string, now time.Time) error {
	i, ok, err := s.update(ctx, key(topicKey(arn)), "SET fate = :going, version = version + :one REMOVE listPK, listSK",
		condition{"attribute_exists(pk) AND attribute_not_exists(fate)", nil, item{":going": text(topicGoing), ":one": number(1)}})
	if err != nil {
		return err
	}
	if !ok {
		if i == nil {
			return nil
		}
		if _, fate, err := readTopic(arn, i); err != nil || fate != topicGoing {
			return err
		}
	}
	return s.bury(ctx, arn, now)
}
