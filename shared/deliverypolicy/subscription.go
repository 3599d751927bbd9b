package deliverypolicy

import (
	"encoding/json"
	"errors"
	"fmt"
)

// SubscriptionPolicy is the DeliveryPolicy attribute of a subscription. Zero
// fields are unset sections, which the topic's policy fills.
type SubscriptionPolicy struct {
	// Retry is the healthyRetryPolicy, nil when unset.
	Retry *RetryPolicy
	// MaxReceivesPerSecond is the throttlePolicy, 0 when unset.
	MaxReceivesPerSecond int
	// ContentType is the requestPolicy's headerContentType, "" when unset.
	ContentType string
}

type subscriptionWire struct {
	HealthyRetryPolicy *RetryPolicy  `json:"healthyRetryPolicy"`
	SicklyRetryPolicy  *sicklyWire   `json:"sicklyRetryPolicy"`
	ThrottlePolicy     *throttleWire `json:"throttlePolicy"`
	RequestPolicy      *requestWire  `json:"requestPolicy"`
	Guaranteed         bool          `json:"guaranteed"`
}

// ParseSubscription reads a subscription's delivery policy. raw says whether the
// subscription has raw message delivery, which allows more content types; pass
// true to read a stored document, since the setting may have changed since and
// [EffectiveFor] looks again.
//
// Errors are plain and read "DeliveryPolicy: healthyRetryPolicy.minDelayTarget
// must be greater than or equal to 1"; the caller adds code and prefix. Unknown
// and misplaced members, wrong types, duplicates and trailing data are refused.
// A document replaces the one before it; nothing is merged.
func ParseSubscription(doc string, raw bool) (SubscriptionPolicy, error) {
	p, err := parseSubscription(doc, raw)
	if err != nil {
		return SubscriptionPolicy{}, fmt.Errorf("DeliveryPolicy: %w", err)
	}
	return p, nil
}

func parseSubscription(doc string, raw bool) (p SubscriptionPolicy, err error) {
	root, err := document(doc)
	if err != nil {
		return p, err
	}
	err = eachMember("", root, func(path, name string, v json.RawMessage) (err error) {
		switch name {
		case "healthyRetryPolicy":
			p.Retry, err = parseRetry(path, v)
		case "sicklyRetryPolicy":
			err = parseSickly(path, v)
		case "throttlePolicy":
			p.MaxReceivesPerSecond, err = parseThrottle(path, v)
		case "requestPolicy":
			p.ContentType, err = parseRequest(path, v, forSubscription(raw))
		case "guaranteed":
			err = parseGuaranteed(path, v)
		default:
			err = unexpected(path)
		}
		return err
	})
	return p, err
}

// parseGuaranteed accepts false and null: like the sickly section the member is
// printed by SNS but has no effect.
func parseGuaranteed(path string, raw json.RawMessage) error {
	yes, err := boolean(path, raw)
	if err == nil && yes {
		err = errors.New(path + " must be false")
	}
	return err
}

// String is the document as SNS reads it back: all five members, unset sections
// null, retry members that were not sent left out.
func (p SubscriptionPolicy) String() string {
	return compact(subscriptionWire{
		HealthyRetryPolicy: p.Retry,
		ThrottlePolicy:     throttle(p.MaxReceivesPerSecond),
		RequestPolicy:      request(p.ContentType),
	})
}

// compact prints a wire form, which holds nothing that could fail to marshal.
func compact(wire any) string {
	b, err := json.Marshal(wire)
	if err != nil {
		panic(err)
	}
	return string(b)
}
