package dynamostore

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"postino/shared/operator"
	"postino/shared/push"
)

// listLimit is used where a filter has none.
const listLimit = 100

// ListDeliveries implements operator.Deliveries: latest change first, where a
// claim counts as one only among the records of a page. After is a previous
// answer's next. A record that changes between two pages may be listed twice,
// and a page may be short, even empty, with a next one behind it.
func (s *Store) ListDeliveries(ctx context.Context, f operator.Filter) (page []push.Delivery, next string, err error) {
	if f.Limit <= 0 {
		f.Limit = listLimit
	}
	if f.MessageID != "" {
		all, err := s.ofMessage(ctx, f)
		if err != nil {
			return nil, "", err
		}
		page, next = cut(all, f)
		return page, next, nil
	}
	found, horizon, err := s.entries(ctx, f)
	if err != nil {
		return nil, "", err
	}
	if len(found) > f.Limit {
		found = found[:f.Limit]
		next = found[f.Limit-1].order
	} else {
		next = horizon
	}
	keys := make([]item, len(found))
	for n, e := range found {
		keys[n] = e.key
	}
	items, err := s.getAll(ctx, keys, false)
	if err != nil {
		return nil, "", err
	}
	for _, i := range items {
		d, err := readDelivery(i)
		if err != nil {
			return nil, "", err
		}
		if matches(f, d) {
			page = append(page, d)
		}
	}
	slices.SortFunc(page, newestFirst)
	return page, next, nil
}

func newestFirst(a, b push.Delivery) int {
	return cmp.Compare(listOrder(b.Key, b.UpdatedAt), listOrder(a.Key, a.UpdatedAt))
}

func matches(f operator.Filter, d push.Delivery) bool {
	return inScope(f, d.Key) && (len(f.States) == 0 || slices.Contains(f.States, d.State))
}

func inScope(f operator.Filter, k push.DeliveryKey) bool {
	return (f.Subscription == "" || f.Subscription == k.Subscription) &&
		(f.TopicARN == "" || f.TopicARN == push.TopicOf(k.Subscription)) &&
		(f.MessageID == "" || f.MessageID == k.MessageID)
}

// ofMessage reads all records of a message, for which no index is needed.
func (s *Store) ofMessage(ctx context.Context, f operator.Filter) (all []push.Delivery, err error) {
	from := make([]source, 0, shards)
	for n := range shards {
		from = append(from, source{pk: messagePK(f.MessageID, strconv.Itoa(n))})
	}
	if f.Subscription != "" {
		from = []source{{pk: messagePK(f.MessageID, shardOf(f.Subscription))}}
	}
	err = atOnce(from, func(src source) ([]push.Delivery, error) {
		var found []push.Delivery
		in := &dynamodb.QueryInput{KeyConditionExpression: aws.String("pk = :pk"), ExpressionAttributeValues: item{":pk": text(src.pk)}}
		for {
			items, more, err := s.query(ctx, in)
			if err != nil {
				return nil, err
			}
			for _, i := range items {
				d, err := readDelivery(i)
				if err != nil {
					return nil, err
				}
				if matches(f, d) {
					found = append(found, d)
				}
			}
			if more == nil {
				return found, nil
			}
			in.ExclusiveStartKey = more
		}
	}, func(found []push.Delivery) { all = append(all, found...) })
	return all, err
}

// cut takes the page behind f.After out of all that match.
func cut(all []push.Delivery, f operator.Filter) (page []push.Delivery, next string) {
	slices.SortFunc(all, newestFirst)
	for _, d := range all {
		if f.After != "" && listOrder(d.Key, d.UpdatedAt) >= f.After {
			continue
		}
		if len(page) == f.Limit {
			last := page[f.Limit-1]
			return page, listOrder(last.Key, last.UpdatedAt)
		}
		page = append(page, d)
	}
	return page, ""
}

// entryOf reads an index entry.
func entryOf(i item, order string) (entry, bool) {
	f := fields{item: i}
	k, ok := parseDeliveryKey(f.text("pk"), f.text("sk"))
	class, _, _ := strings.Cut(f.text(statePK), "#")
	return entry{key: keyOf(i), delivery: k, class: class, order: f.text(order)}, ok
}
