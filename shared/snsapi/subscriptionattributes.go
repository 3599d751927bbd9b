package snsapi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"postino/shared/deliverypolicy"
	"postino/shared/push"
	"postino/shared/redrivepolicy"
)

// subscriptionEdit changes one attribute. Its error comes without prefix.
type subscriptionEdit struct {
	name  string
	apply func(*push.Subscription) error
}

// subscriptionEdits are the changes of one request, raw delivery first because
// what a delivery policy may say depends on it.
type subscriptionEdits []subscriptionEdit

func (edits subscriptionEdits) apply(s *push.Subscription) (name string, err error) {
	for _, e := range edits {
		if err := e.apply(s); err != nil {
			return e.name, err
		}
	}
	return "", nil
}

func (a *API) subscriptionChanges(attributes map[string]string) (subscriptionEdits, error) {
	names := slices.Sorted(maps.Keys(attributes))
	slices.SortStableFunc(names, func(x, y string) int { return rank(x) - rank(y) })
	var edits subscriptionEdits
	for _, name := range names {
		e, err := a.subscriptionAttribute(name, attributes[name])
		if err != nil {
			return nil, creating(name, err)
		}
		edits = append(edits, subscriptionEdit{name, e})
	}
	return edits, nil
}

func rank(attribute string) int {
	if attribute == "RawMessageDelivery" {
		return 0
	}
	return 1
}

// subscriptionAttribute checks what can be checked of one attribute without its
// subscription and gives the change.
func (a *API) subscriptionAttribute(name, value string) (func(*push.Subscription) error, error) {
	switch name {
	case "RawMessageDelivery":
		raw := strings.ToLower(value)
		if raw != "true" && raw != "false" {
			return nil, fmt.Errorf("RawMessageDelivery: Invalid value [%s]. Must be true or false.", clip(value)) //nolint:staticcheck // SNS's own text
		}
		return func(s *push.Subscription) error { return setRaw(s, raw == "true") }, nil
	case "DeliveryPolicy":
		return func(s *push.Subscription) error { return setDeliveryPolicy(s, value) }, nil
	case "RedrivePolicy":
		return func(s *push.Subscription) error { return a.setRedrivePolicy(s, value) }, nil
	case "FilterPolicy":
		if value == "" { // removes what is not there
			return func(*push.Subscription) error { return nil }, nil
		}
		return nil, notServed(name)
	case "FilterPolicyScope", "SubscriptionRoleArn", "ReplayPolicy":
		return nil, notServed(name)
	}
	return nil, errUnknown
}

// setRaw also judges the policy that is there: some content types are for raw
// delivery only.
func setRaw(s *push.Subscription, raw bool) error {
	if s.DeliveryPolicy != "" {
		if _, err := deliverypolicy.ParseSubscription(s.DeliveryPolicy, raw); err != nil {
			return err
		}
	}
	s.Raw = raw
	return nil
}

func setDeliveryPolicy(s *push.Subscription, document string) error {
	if document == "" {
		s.DeliveryPolicy = ""
		return nil
	}
	if len(document) > maxDocument {
		return fmt.Errorf("DeliveryPolicy: must have at most %d bytes", maxDocument) //nolint:staticcheck // begins with the attribute's name
	}
	p, err := deliverypolicy.ParseSubscription(document, s.Raw)
	if err != nil {
		return err
	}
	s.DeliveryPolicy = p.String()
	return nil
}

func (a *API) setRedrivePolicy(s *push.Subscription, document string) error {
	if document == "" {
		s.RedrivePolicy = ""
		return nil
	}
	if len(document) > maxDocument {
		return fmt.Errorf("RedrivePolicy: must have at most %d bytes", maxDocument) //nolint:staticcheck // begins with the attribute's name
	}
	p, err := redrivepolicy.Parse(document)
	if err != nil {
		return err
	}
	topic, err := push.ParseARN(s.TopicARN)
	if err != nil {
		return err
	}
	if err := p.Check(topic); err != nil {
		return err
	}
	if a.Reserved != nil && a.Reserved(p.DeadLetterTargetARN) {
		return errors.New("RedrivePolicy: deadLetterTargetArn is one of the server's own queues") //nolint:staticcheck // begins with the attribute's name
	}
	s.RedrivePolicy = p.String()
	return nil
}

func (a *API) setSubscriptionAttributes(ctx context.Context, c *call) error {
	arn, known, err := a.subscriptionARN(c)
	if err != nil {
		return err
	}
	edit, err := a.subscriptionAttribute(c.params["AttributeName"], c.params["AttributeValue"])
	if err != nil {
		return setting(err)
	}
	if !known {
		return noSubscription()
	}
	_, err = a.Directory.UpdateSubscription(ctx, arn, func(s *push.Subscription) error {
		if s.Deleted() || lapsed(*s, c.now) {
			return noSubscription()
		}
		if err := edit(s); err != nil {
			return setting(err)
		}
		return nil
	})
	if push.IsNotFound(err) {
		return noSubscription()
	}
	return err
}

// subscription reads a live subscription.
func (a *API) subscription(ctx context.Context, c *call) (push.Subscription, error) {
	arn, known, err := a.subscriptionARN(c)
	if err != nil {
		return push.Subscription{}, err
	}
	if !known {
		return push.Subscription{}, noSubscription()
	}
	s, err := a.Directory.Subscription(ctx, arn, true)
	if push.IsNotFound(err) || err == nil && (s.Deleted() || lapsed(s, c.now)) {
		return s, noSubscription()
	}
	return s, err
}

func (a *API) getSubscriptionAttributes(ctx context.Context, c *call) error {
	s, err := a.subscription(ctx, c)
	if err != nil {
		return err
	}
	m := map[string]string{
		"SubscriptionArn": s.ARN, "TopicArn": s.TopicARN, "Owner": s.Owner, "Protocol": string(s.Protocol), "Endpoint": masked(s.Endpoint),
		"SubscriptionPrincipal":        "arn:" + push.Partition(a.Region) + ":iam::" + s.Owner + ":root",
		"PendingConfirmation":          strconv.FormatBool(!s.Confirmed),
		"ConfirmationWasAuthenticated": strconv.FormatBool(s.Authenticated),
		"RawMessageDelivery":           strconv.FormatBool(s.Raw),
	}
	if s.RedrivePolicy != "" {
		m["RedrivePolicy"] = s.RedrivePolicy
	}
	if deliverypolicy.Applies(s.Protocol) {
		if m["EffectiveDeliveryPolicy"], err = a.effectivePolicy(ctx, s); err != nil {
			return err
		}
		if s.DeliveryPolicy != "" {
			m["DeliveryPolicy"] = s.DeliveryPolicy
		}
	}
	c.out.entries("Attributes", m)
	return nil
}

func (a *API) effectivePolicy(ctx context.Context, s push.Subscription) (string, error) {
	t, err := a.Directory.Topic(ctx, s.TopicARN)
	if push.IsNotFound(err) {
		return "", noSubscription() // it went with its topic
	}
	if err != nil {
		return "", err
	}
	topic, err := parsedTopicPolicy(t.DeliveryPolicy)
	if err != nil {
		return "", err
	}
	var own deliverypolicy.SubscriptionPolicy
	if s.DeliveryPolicy != "" {
		if own, err = deliverypolicy.ParseSubscription(s.DeliveryPolicy, true); err != nil {
			return "", err
		}
	}
	return deliverypolicy.EffectiveFor(topic, own, s.Raw).String(), nil
}
