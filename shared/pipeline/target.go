package pipeline

import (
	"context"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"postino/shared/deliverypolicy"
	"postino/shared/push"
)

// target is all an attempt needs to know of where it goes.
type target struct {
	sub    push.Subscription
	topic  push.Topic
	policy deliverypolicy.Effective
	readAt time.Time
	// strong: the subscription was read strongly consistent.
	strong bool
}

// targets reads subscriptions with their effective policies. Reads are kept for
// ttl (0 asks the directory every time); compiled policies are kept as long as
// the documents they were made of are unchanged.
type targets struct {
	directory Directory
	ttl       time.Duration

	once     sync.Once
	reads    *lru.Cache[string, target]
	policies *lru.Cache[policyKey, deliverypolicy.Effective]
	// reading lets the jobs of a batch, which run side by side and are often for
	// one subscription, share the read that none of them finds kept.
	reading singleflight.Group
}

type policyKey struct {
	topic, subscription string
	raw                 bool
}

const targetsKept = 10_000

func (t *targets) start() {
	// lru.New fails only on a size that is not positive.
	t.reads, _ = lru.New[string, target](targetsKept)
	t.policies, _ = lru.New[policyKey, deliverypolicy.Effective](targetsKept)
}

// get answers the target of a subscription, as read lately or now.
func (t *targets) get(ctx context.Context, arn string, now time.Time) (tg target, ok bool, err error) {
	t.once.Do(t.start)
	if t.ttl <= 0 {
		return t.read(ctx, arn, now, false)
	}
	if tg, hit := t.reads.Get(arn); hit && now.Sub(tg.readAt) < t.ttl {
		return tg, true, nil
	}
	type answer struct {
		tg target
		ok bool
	}
	// The first one's context bounds the read for all: a batch has one deadline.
	v, err, _ := t.reading.Do(arn, func() (any, error) {
		tg, ok, err := t.read(ctx, arn, now, false)
		return answer{tg, ok}, err
	})
	a := v.(answer)
	return a.tg, a.ok, err
}

// read asks the directory. A subscription that is missing by a strong read
// answers ok = false; a tombstone answers ok = true.
func (t *targets) read(ctx context.Context, arn string, now time.Time, strong bool) (tg target, ok bool, err error) {
	sub, err := t.directory.Subscription(ctx, arn, strong)
	if !strong && (push.IsNotFound(err) || err == nil && sub.Deleted()) {
		strong = true
		sub, err = t.directory.Subscription(ctx, arn, true)
	}
	if push.IsNotFound(err) {
		return target{}, false, nil
	}
	if err != nil {
		return target{}, false, err
	}
	topic, err := t.directory.Topic(ctx, sub.TopicARN)
	if push.IsNotFound(err) {
		// The topic's policy went with it; a tombstone still gets its farewell.
		topic, err = push.Topic{ARN: sub.TopicARN}, nil
	}
	if err != nil {
		return target{}, false, err
	}
	tg = target{sub: sub, topic: topic, readAt: now, strong: strong}
	if tg.policy, err = t.effective(topic, sub); err != nil {
		return target{}, false, err
	}
	if t.ttl > 0 {
		t.reads.Add(arn, tg)
	}
	return tg, true, nil
}

func (t *targets) effective(topic push.Topic, sub push.Subscription) (deliverypolicy.Effective, error) {
	key := policyKey{topic.DeliveryPolicy, sub.DeliveryPolicy, sub.Raw}
	if e, hit := t.policies.Get(key); hit {
		return e, nil
	}
	var tp deliverypolicy.TopicPolicy
	var sp deliverypolicy.SubscriptionPolicy
	var err error
	if topic.DeliveryPolicy != "" {
		if tp, err = deliverypolicy.ParseTopic(topic.DeliveryPolicy); err != nil {
			return deliverypolicy.Effective{}, err
		}
	}
	if sub.DeliveryPolicy != "" {
		if sp, err = deliverypolicy.ParseSubscription(sub.DeliveryPolicy, true); err != nil {
			return deliverypolicy.Effective{}, err
		}
	}
	e := deliverypolicy.EffectiveFor(tp, sp, sub.Raw)
	t.policies.Add(key, e)
	return e, nil
}
