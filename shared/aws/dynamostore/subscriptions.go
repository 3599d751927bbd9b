package dynamostore

import (
	"context"
	"errors"
	"time"

	"postino/shared/push"
)

// Subscription implements pipeline.Directory.
func (s *Store) Subscription(ctx context.Context, arn string, strong bool) (push.Subscription, error) {
	sub, err := s.subscription(ctx, arn, strong)
	if err != nil {
		return push.Subscription{}, err
	}
	return sub.Subscription, nil
}

func (s *Store) subscription(ctx context.Context, arn string, strong bool) (stored, error) {
	if push.TopicOf(arn) == "" {
		return stored{}, noSubscription()
	}
	i, err := s.get(ctx, key(subscriptionKey(arn)), strong)
	if err != nil {
		return stored{}, err
	}
	if i == nil {
		return stored{}, noSubscription()
	}
	return readSubscription(i)
}

// CreateSubscription implements snsapi.Directory. A missing topic is NotFound.
func (s *Store) CreateSubscription(ctx context.Context, sub push.Subscription) (push.Subscription, bool, error) {
	if push.TopicOf(sub.ARN) != sub.TopicARN || sub.TopicARN == "" {
		return push.Subscription{}, false, push.Errorf(push.CodeInternalError, "The subscription's ARN is not one of its topic")
	}
	for try := 1; try <= changesTried; try++ {
		err := s.write(ctx, edit{after: &stored{sub, 1}})
		var taken *takenError
		switch {
		case err == nil:
			s.purgeSome(ctx, sub.CreatedAt)
			return sub, true, nil
		case errors.Is(err, errTopicGone):
			return push.Subscription{}, false, noTopic()
		case errors.Is(err, errRevised):
			return push.Subscription{}, false, push.Errorf(push.CodeInternalError, "The subscription's ARN is taken")
		case errors.As(err, &taken):
			have, err := s.subscription(ctx, taken.by, true)
			if err == nil && !have.Deleted() {
				return have.Subscription, false, nil
			}
			if err != nil && !push.IsNotFound(err) {
				return push.Subscription{}, false, err
			}
			// It was removed in between.
		case !errors.Is(err, errConflict):
			return push.Subscription{}, false, err
		}
		if err := s.pause(ctx, try); err != nil {
			return push.Subscription{}, false, err
		}
	}
	return push.Subscription{}, false, contended()
}

// UpdateSubscription implements snsapi.Directory. change cannot touch the ARNs.
// Reviving the tombstone of a deleted topic is NotFound; of one whose endpoint
// has a live subscription again, InvalidParameter.
func (s *Store) UpdateSubscription(ctx context.Context, arn string, change func(*push.Subscription) error) (push.Subscription, error) {
	_, after, err := s.revise(ctx, arn, false, change)
	return after, err
}

// DeleteSubscription implements snsapi.Directory. It answers the subscription
// as it was; a tombstone stays as it is.
func (s *Store) DeleteSubscription(ctx context.Context, arn string, now time.Time) (push.Subscription, error) {
	before, _, err := s.revise(ctx, arn, false, deleteAt(now))
	if err == nil {
		s.purgeSome(ctx, now)
	}
	return before, err
}

func deleteAt(now time.Time) func(*push.Subscription) error {
	return func(s *push.Subscription) error {
		if !s.Deleted() {
			s.DeletedAt = now
		}
		return nil
	}
}

// revise applies change to the current subscription and writes it; a change that
// changes nothing writes nothing. orphan says that the topic is known to be gone.
func (s *Store) revise(ctx context.Context, arn string, orphan bool, change func(*push.Subscription) error) (before, after push.Subscription, err error) {
	for try := 1; try <= changesTried; try++ {
		have, err := s.subscription(ctx, arn, true)
		if err != nil {
			return push.Subscription{}, push.Subscription{}, err
		}
		next := have
		if err := change(&next.Subscription); err != nil {
			return push.Subscription{}, push.Subscription{}, err
		}
		next.ARN, next.TopicARN = have.ARN, have.TopicARN
		if next.Subscription == have.Subscription {
			return have.Subscription, have.Subscription, nil
		}
		err = s.write(ctx, edit{before: &have, after: &next, orphan: orphan})
		var taken *takenError
		switch {
		case err == nil:
			return have.Subscription, next.Subscription, nil
		case errors.Is(err, errTopicGone) && !next.Deleted():
			return push.Subscription{}, push.Subscription{}, noTopic()
		case errors.Is(err, errTopicGone):
			orphan = true // a tombstone outlives its topic
			continue
		case errors.As(err, &taken):
			return push.Subscription{}, push.Subscription{}, push.Invalid("The endpoint has another subscription to this topic")
		case !errors.Is(err, errConflict) && !errors.Is(err, errRevised):
			return push.Subscription{}, push.Subscription{}, err
		}
		if err := s.pause(ctx, try); err != nil {
			return push.Subscription{}, push.Subscription{}, err
		}
	}
	return push.Subscription{}, push.Subscription{}, contended()
}

// ByToken implements snsapi.Directory.
func (s *Store) ByToken(ctx context.Context, token string) (push.Subscription, error) {
	if token == "" {
		return push.Subscription{}, noSubscription()
	}
	i, err := s.get(ctx, key(tokenKey(token)), true)
	if err != nil {
		return push.Subscription{}, err
	}
	if i == nil {
		return push.Subscription{}, noSubscription()
	}
	f := read(i)
	arn := f.text("arn")
	if err := f.fault("a token"); err != nil {
		return push.Subscription{}, err
	}
	sub, err := s.Subscription(ctx, arn, true)
	if err == nil && sub.Token != token {
		return push.Subscription{}, noSubscription()
	}
	return sub, err
}
