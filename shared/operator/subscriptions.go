package operator

import (
	"context"
	"strings"

	"postino/shared/push"
)

// Subscription is what the verbs on one subscription answer.
type Subscription struct {
	ARN string `json:"arn"`
	// Endpoint is without user-info and query.
	Endpoint string `json:"endpoint"`
	Paused   bool   `json:"paused"`
	// Changed is false when the subscription was in the wanted state already.
	Changed bool `json:"changed"`
}

// Pause holds a subscription's deliveries back: they wait and burn no attempt.
// The subscription is named in the ways that subscriptionARN takes.
func (o *Operator) Pause(ctx context.Context, which string) (Subscription, error) {
	return o.setPaused(ctx, which, true)
}

// Resume ends a Pause.
func (o *Operator) Resume(ctx context.Context, which string) (Subscription, error) {
	return o.setPaused(ctx, which, false)
}

// ListPaused lists the subscriptions that are paused, by ARN.
func (o *Operator) ListPaused(ctx context.Context) ([]Subscription, error) {
	paused := []Subscription{}
	for after := ""; ; {
		page, next, err := o.Directory.AllSubscriptions(ctx, after, MaxList)
		if err != nil {
			return nil, err
		}
		for _, s := range page {
			if s.Paused && !s.Deleted() {
				paused = append(paused, Subscription{ARN: s.ARN, Endpoint: s.SafeEndpoint(), Paused: true})
			}
		}
		if next == "" {
			return paused, nil
		}
		after = next
	}
}

func (o *Operator) setPaused(ctx context.Context, which string, paused bool) (Subscription, error) {
	arn, err := o.subscriptionARN(ctx, which)
	if err != nil {
		return Subscription{}, err
	}
	changed := false
	s, err := o.Directory.UpdateSubscription(ctx, arn, func(s *push.Subscription) error {
		if s.Deleted() {
			return noSubscription(arn)
		}
		changed = s.Paused != paused
		s.Paused = paused
		return nil
	})
	if push.IsNotFound(err) {
		return Subscription{}, noSubscription(arn)
	}
	if err != nil {
		return Subscription{}, err
	}
	return Subscription{ARN: s.ARN, Endpoint: s.SafeEndpoint(), Paused: s.Paused, Changed: changed}, nil
}

// subscriptionARN finds the one subscription that which names: its ARN, the
// beginning of the UUID at the ARN's end, or the topic's name, a colon and that
// beginning. An ARN is taken as it is, since deliveries outlive their
// subscription.
func (o *Operator) subscriptionARN(ctx context.Context, which string) (string, error) {
	if push.TopicOf(which) != "" {
		return which, nil
	}
	topic, _, named := strings.Cut(which, ":")
	if which == "" || strings.Contains(which, "/") || strings.Count(which, ":") > 1 || named && topic == "" {
		return "", push.Errorf(push.CodeInvalidParameter,
			"%q is no subscription: give its ARN, or the beginning of the id that ends it, alone or as topic:id", push.Clip(which))
	}
	var found []string
	for after := ""; ; {
		page, next, err := o.Directory.AllSubscriptions(ctx, after, MaxList)
		if err != nil {
			return "", err
		}
		for _, s := range page {
			if subscriptionMatches(s.ARN, which) {
				found = append(found, s.ARN)
			}
		}
		if next == "" || len(found) > 1 {
			break
		}
		after = next
	}
	switch len(found) {
	case 0:
		return "", noSubscription(which)
	case 1:
		return found[0], nil
	default:
		return "", push.Errorf(push.CodeInvalidParameter,
			"More than one subscription's id begins with %q, for one %s and %s: give more of it", which, found[0], found[1])
	}
}

// subscriptionMatches reports whether arn is the subscription, or one of those,
// that which names; "" matches all.
func subscriptionMatches(arn, which string) bool {
	if push.TopicOf(which) != "" {
		return arn == which
	}
	topic := push.TopicOf(arn)
	if topic == "" {
		return false
	}
	name, id, named := strings.Cut(which, ":")
	if !named {
		return strings.HasPrefix(arn[len(topic)+1:], which)
	}
	return strings.HasSuffix(topic, ":"+name) && strings.HasPrefix(arn[len(topic)+1:], id)
}

func noSubscription(which string) error {
	return push.Errorf(push.CodeNotFound,
		"There is no subscription %q: `aws sns list-subscriptions` shows those there are", push.Clip(which))
}
