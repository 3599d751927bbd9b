package dynamostore

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"postino/shared/operator"
	"postino/shared/push"
)

// entry is a delivery as an index knows it.
type entry struct {
	key      item
	delivery push.DeliveryKey
	class    string
	// order is its place in the list; a greater one comes first.
	order string
}

// source is one partition that a list is spread over.
type source struct{ index, pk, order string }

// sources are the partitions that hold what f asks for.
func sources(f operator.Filter) (from []source) {
	for n := range shards {
		shard := strconv.Itoa(n)
		if f.Subscription != "" {
			from = append(from, source{listingIndex, subscriptionDeliveries(f.Subscription, shard), listSK})
			continue
		}
		for _, c := range wanted(f) {
			from = append(from, source{statesIndex, classDeliveries(c, shard), stateSK})
		}
	}
	return from
}

// wanted are the classes of the states f asks for.
func wanted(f operator.Filter) []string {
	if len(f.States) == 0 {
		return classes
	}
	var out []string
	for _, state := range f.States {
		if c := classOf(state); !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// pagesRead bounds what one listing reads of one partition when little of it
// matches; the next page goes on from there.
const pagesRead = 10

// run is what was read of one partition.
type run struct {
	found []entry
	// end is how far it was read, "" for all of it.
	end string
}

// entries gives what matches f in the lists, newest first, and, where not all
// has been read, the place down to which it is complete.
func (s *Store) entries(ctx context.Context, f operator.Filter) (all []entry, horizon string, err error) {
	err = atOnce(sources(f), func(src source) (run, error) { return s.read(ctx, f, src) }, func(r run) {
		all = append(all, r.found...)
		horizon = max(horizon, r.end)
	})
	if err != nil {
		return nil, "", err
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(b.order, a.order) })
	all = slices.CompactFunc(all, func(a, b entry) bool { return a.delivery == b.delivery })
	complete := slices.IndexFunc(all, func(e entry) bool { return e.order < horizon })
	if complete >= 0 {
		all = all[:complete]
	}
	return all, horizon, nil
}

// read gives one partition's entries that match f: one more than a page, or as
// many as the pages read hold.
func (s *Store) read(ctx context.Context, f operator.Filter, src source) (r run, err error) {
	in := &dynamodb.QueryInput{IndexName: &src.index, ScanIndexForward: aws.Bool(false), Limit: limitOf(f.Limit + 1),
		KeyConditionExpression: aws.String(partitionName(src) + " = :pk"), ExpressionAttributeValues: item{":pk": text(src.pk)}}
	if f.After != "" {
		in.KeyConditionExpression = aws.String(*in.KeyConditionExpression + " AND " + src.order + " < :after")
		in.ExpressionAttributeValues[":after"] = text(f.After)
	}
	classes := wanted(f)
	for range pagesRead {
		items, more, err := s.query(ctx, in)
		if err != nil {
			return r, err
		}
		for _, i := range items {
			e, ok := entryOf(i, src.order)
			r.end = e.order
			if ok && inScope(f, e.delivery) && slices.Contains(classes, e.class) {
				if r.found = append(r.found, e); len(r.found) > f.Limit {
					return r, nil
				}
			}
		}
		if more == nil {
			r.end = ""
			return r, nil
		}
		in.ExclusiveStartKey = more
	}
	return r, nil
}

func partitionName(src source) string {
	if src.index == listingIndex {
		return listPK
	}
	return statePK
}

// atOnce does do for all sources side by side, eight at a time, and hands the
// results to take one by one.
func atOnce[R any](from []source, do func(source) (R, error), take func(R)) error {
	var (
		mu    sync.Mutex
		wg    sync.WaitGroup
		first error
		gate  = make(chan struct{}, 8)
	)
	for _, src := range from {
		gate <- struct{}{}
		wg.Go(func() {
			defer func() { <-gate }()
			r, err := do(src)
			mu.Lock()
			defer mu.Unlock()
			if err != nil && first == nil {
				first = err
			}
			if err == nil {
				take(r)
			}
		})
	}
	wg.Wait()
	return first
}
