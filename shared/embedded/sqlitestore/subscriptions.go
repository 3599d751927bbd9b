package sqlitestore

import (
	"context"
	"time"

	"postino/shared/push"
)

// Subscription implements pipeline.Directory; every read is strong.
func (s *Store) Subscription(_ context.Context, arn string, _ bool) (push.Subscription, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	sub, ok := s.dir.subs[arn]
	if !ok {
		return push.Subscription{}, noSubscription()
	}
	return sub, nil
}

// Subscriptions implements pipeline.Directory.
func (s *Store) Subscriptions(_ context.Context, topicARN, after string, limit int) ([]push.Subscription, string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if _, ok := s.dir.topics[topicARN]; !ok {
		return nil, "", noTopic()
	}
	subs, next := s.list(under(s.dir.live, topicARN), after, limit)
	return subs, next, nil
}

// AllSubscriptions implements snsapi.Directory.
func (s *Store) AllSubscriptions(_ context.Context, after string, limit int) ([]push.Subscription, string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	subs, next := s.list(s.dir.live, after, limit)
	return subs, next, nil
}

func (s *Store) list(sorted []string, after string, limit int) ([]push.Subscription, string) {
	names, next := page(sorted, after, limit)
	subs := make([]push.Subscription, len(names))
	for i, n := range names {
		subs[i] = s.dir.subs[n]
	}
	return subs, next
}

// ByToken implements snsapi.Directory.
func (s *Store) ByToken(_ context.Context, token string) (push.Subscription, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	arn, ok := s.dir.byToken[token]
	if !ok {
		return push.Subscription{}, noSubscription()
	}
	return s.dir.subs[arn], nil
}

// CreateSubscription implements snsapi.Directory. A missing topic is NotFound.
func (s *Store) CreateSubscription(ctx context.Context, sub push.Subscription) (push.Subscription, bool, error) {
	s.change.Lock()
	defer s.change.Unlock()
	if _, ok := s.dir.topics[sub.TopicARN]; !ok {
		return push.Subscription{}, false, noTopic()
	}
	if arn, ok := s.dir.byEndpoint[endpointOf(sub)]; ok {
		return s.dir.subs[arn], false, nil
	}
	if _, taken := s.dir.subs[sub.ARN]; taken || push.TopicOf(sub.ARN) != sub.TopicARN {
		return push.Subscription{}, false, push.Errorf(push.CodeInternalError, "The subscription's ARN is not one of its topic, or is taken")
	}
	e := newEdit()
	e.sub(&s.dir, sub.ARN, &sub)
	if err := s.store(ctx, e); err != nil {
		return push.Subscription{}, false, err
	}
	return sub, true, nil
}

// UpdateSubscription implements snsapi.Directory. change cannot touch the ARNs.
// Reviving the tombstone of a deleted topic is NotFound; of one whose endpoint
// has a live subscription again, InvalidParameter.
func (s *Store) UpdateSubscription(ctx context.Context, arn string, change func(*push.Subscription) error) (push.Subscription, error) {
	s.change.Lock()
	defer s.change.Unlock()
	before, ok := s.dir.subs[arn]
	if !ok {
		return push.Subscription{}, noSubscription()
	}
	sub := before
	if err := change(&sub); err != nil {
		return push.Subscription{}, err
	}
	sub.ARN, sub.TopicARN = before.ARN, before.TopicARN
	if sub == before {
		return sub, nil
	}
	if !sub.Deleted() {
		if _, ok := s.dir.topics[sub.TopicARN]; !ok {
			return push.Subscription{}, noTopic()
		}
		if other, ok := s.dir.byEndpoint[endpointOf(sub)]; ok && other != arn {
			return push.Subscription{}, push.Invalid("The endpoint has another subscription to this topic")
		}
	}
	e := newEdit()
	e.sub(&s.dir, arn, &sub)
	if err := s.store(ctx, e); err != nil {
		return push.Subscription{}, err
	}
	return sub, nil
}

// DeleteSubscription implements snsapi.Directory. It answers the subscription
// as it was; a tombstone stays as it is.
func (s *Store) DeleteSubscription(ctx context.Context, arn string, now time.Time) (push.Subscription, error) {
	s.change.Lock()
	defer s.change.Unlock()
	before, ok := s.dir.subs[arn]
	if !ok {
		return push.Subscription{}, noSubscription()
	}
	if before.Deleted() {
		return before, nil
	}
	sub := before
	sub.DeletedAt = now
	e := newEdit()
	e.sub(&s.dir, arn, &sub)
	if err := s.store(ctx, e); err != nil {
		return push.Subscription{}, err
	}
	return before, nil
}
