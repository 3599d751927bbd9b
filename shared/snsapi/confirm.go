package snsapi

import (
	"context"
	"strings"
	"time"

	"postino/shared/push"
)

// confirmSubscription confirms a subscription by its token, or restores the one
// whose farewell the token came with. TopicArn must be well-formed and of this
// region, but is not compared with the subscription's topic (recorded from SNS).
// Confirming again changes nothing, so a link may be followed any number of times.
func (a *API) confirmSubscription(ctx context.Context, c *call) error {
	arn, err := push.ParseARN(c.params["TopicArn"])
	if err != nil || !a.ours(arn) {
		return push.Invalid("Topic")
	}
	token, err := c.params.required("Token")
	if err != nil {
		return err
	}
	if strings.ContainsFunc(token, notHex) {
		return push.Errorf(push.CodeInvalidParameter, "Invalid token")
	}
	authenticate, err := c.params.flag("AuthenticateOnUnsubscribe")
	if err != nil {
		return err
	}
	s, err := a.Directory.ByToken(ctx, token)
	if push.IsNotFound(err) {
		return push.Invalid("Token")
	}
	if err != nil {
		return err
	}
	// Without a signature the wish for authentication counts for nothing (SNS API
	// reference, ConfirmSubscription), and so does one by a key that was let in for
	// another topic than the token is for.
	s, err = a.confirm(ctx, c.now, s, token, authenticate && c.signed && s.TopicARN == arn.String())
	if err != nil {
		return err
	}
	c.out.text("SubscriptionArn", s.ARN)
	return nil
}

func notHex(r rune) bool {
	return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'f' || r >= 'A' && r <= 'F')
}

func (a *API) confirm(ctx context.Context, now time.Time, s push.Subscription, token string, authenticate bool) (push.Subscription, error) {
	if s.Confirmed && !s.Deleted() && (s.Authenticated || !authenticate) {
		return s, nil // nothing to change: the topic's version stays as it is
	}
	if !tokenGood(s, now) {
		return s, push.Invalid("Token")
	}
	target := s.ARN
	if s.Deleted() {
		twin, err := a.twin(ctx, s)
		if err != nil {
			return s, err
		}
		if twin != "" {
			target, token = twin, ""
		}
	}
	confirmed, err := a.Directory.UpdateSubscription(ctx, target, func(s *push.Subscription) error {
		if token != "" && (s.Token != token || !tokenGood(*s, now)) {
			return push.Invalid("Token")
		}
		// An authenticated confirmation is not undone by following the link again.
		s.Authenticated = authenticate || s.Authenticated && !s.Deleted()
		s.Confirmed, s.DeletedAt = true, time.Time{}
		return nil
	})
	if push.IsNotFound(err) {
		return s, push.Invalid("Token")
	}
	return confirmed, err
}

// tokenGood judges the token's age. A tombstone's token is good only if it was
// made with the tombstone: the link of a first confirmation, or of a deleted
// topic's subscription, restores nothing.
func tokenGood(s push.Subscription, now time.Time) bool {
	return now.Before(s.TokenExpires) && (!s.Deleted() || !s.TokenExpires.Before(s.DeletedAt.Add(tokenLife)))
}

// twin finds a live subscription of the same endpoint that was made after s was
// removed: restoring s beside it would deliver everything twice, so the twin is
// confirmed instead. The answer is "" when there is none.
func (a *API) twin(ctx context.Context, s push.Subscription) (arn string, err error) {
	if _, err := a.Directory.Topic(ctx, s.TopicARN); err != nil {
		if push.IsNotFound(err) {
			err = noTopic()
		}
		return "", err
	}
	for after := ""; ; {
		page, next, err := a.Directory.Subscriptions(ctx, s.TopicARN, after, 1000)
		if err != nil {
			return "", err
		}
		for _, other := range page {
			if other.Protocol == s.Protocol && other.Endpoint == s.Endpoint && !other.Deleted() {
				return other.ARN, nil
			}
		}
		if next == "" {
			return "", nil
		}
		after = next
	}
}

// unsubscribe removes a subscription and tells its endpoint, with a token that
// restores it. A well-formed ARN that names nothing succeeds.
func (a *API) unsubscribe(ctx context.Context, c *call) error {
	arn, known, err := a.subscriptionARN(c)
	if err != nil || !known {
		return err
	}
	s, err := a.Directory.Subscription(ctx, arn, true)
	if push.IsNotFound(err) || err == nil && s.Deleted() {
		return nil
	}
	if err != nil {
		return err
	}
	if s.Authenticated && !c.signed {
		return push.Errorf(push.CodeAuthorizationError, "The subscription was confirmed with AuthenticateOnUnsubscribe: only a signed request can remove it.")
	}
	token, err := a.token()
	if err != nil {
		return err
	}
	// The token is changed while the subscription is still live, where it means
	// nothing: there is no moment at which an old link could restore it.
	s, err = a.Directory.UpdateSubscription(ctx, arn, func(s *push.Subscription) error {
		s.Token, s.TokenExpires = token, c.now.Add(tokenLife)
		return nil
	})
	if err == nil {
		_, err = a.Directory.DeleteSubscription(ctx, arn, c.now)
	}
	if push.IsNotFound(err) {
		return nil // someone else was faster
	}
	if err != nil || !s.Confirmed {
		return err // an endpoint that never confirmed is told nothing
	}
	s.DeletedAt = c.now
	return a.Publisher.Announce(ctx, push.UnsubscribeConfirmation, s)
}
