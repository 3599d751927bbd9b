package deliverypolicy

import (
	"encoding/json"
	"fmt"
)

// TopicPolicy is the DeliveryPolicy attribute of a topic. Its one block, named
// http, governs http and https subscriptions. The zero TopicPolicy is no policy.
type TopicPolicy struct {
	// Retry is the defaultHealthyRetryPolicy, nil when unset.
	Retry *RetryPolicy
	// DisableSubscriptionOverrides makes the topic's policy, defaults included,
	// win over every subscription's.
	DisableSubscriptionOverrides bool
	// MaxReceivesPerSecond is the defaultThrottlePolicy, 0 when unset. It limits
	// each subscription by itself.
	MaxReceivesPerSecond int
	// ContentType is the defaultRequestPolicy's headerContentType, "" when unset.
	ContentType string
}

type topicWire struct {
	HTTP topicBlock `json:"http"`
}

type topicBlock struct {
	DefaultHealthyRetryPolicy    *RetryPolicy  `json:"defaultHealthyRetryPolicy,omitempty"`
	DisableSubscriptionOverrides bool          `json:"disableSubscriptionOverrides"`
	DefaultThrottlePolicy        *throttleWire `json:"defaultThrottlePolicy,omitempty"`
	DefaultRequestPolicy         *requestWire  `json:"defaultRequestPolicy,omitempty"`
}

// ParseTopic reads a topic's delivery policy. Errors are as those of
// [ParseSubscription], with paths such as http.defaultHealthyRetryPolicy.numRetries.
// A document without an http block is one without sections.
func ParseTopic(doc string) (TopicPolicy, error) {
	p, err := parseTopic(doc)
	if err != nil {
		return TopicPolicy{}, fmt.Errorf("DeliveryPolicy: %w", err)
	}
	return p, nil
}

func parseTopic(doc string) (p TopicPolicy, err error) {
	root, err := document(doc)
	if err != nil {
		return p, err
	}
	err = eachMember("", root, func(path, name string, v json.RawMessage) error {
		if name != "http" {
			return unexpected(path)
		}
		if null(v) {
			return nil
		}
		return eachMember(path, v, p.readMember)
	})
	return p, err
}

func (p *TopicPolicy) readMember(path, name string, v json.RawMessage) (err error) {
	switch name {
	case "defaultHealthyRetryPolicy":
		p.Retry, err = parseRetry(path, v)
	case "defaultSicklyRetryPolicy":
		err = parseSickly(path, v)
	case "disableSubscriptionOverrides":
		p.DisableSubscriptionOverrides, err = boolean(path, v)
	case "defaultThrottlePolicy":
		p.MaxReceivesPerSecond, err = parseThrottle(path, v)
	case "defaultRequestPolicy":
		p.ContentType, err = parseRequest(path, v, forTopic)
	default:
		err = unexpected(path)
	}
	return err
}

// String is the document as SNS reads it back: unset sections and retry members
// that were not sent are left out, disableSubscriptionOverrides is always there.
func (p TopicPolicy) String() string {
	return compact(topicWire{topicBlock{
		DefaultHealthyRetryPolicy:    p.Retry,
		DisableSubscriptionOverrides: p.DisableSubscriptionOverrides,
		DefaultThrottlePolicy:        throttle(p.MaxReceivesPerSecond),
		DefaultRequestPolicy:         request(p.ContentType),
	}})
}

// EffectiveString is the topic's EffectiveDeliveryPolicy attribute: the policy
// with every default written out but the throttle, which has none.
func (p TopicPolicy) EffectiveString() string {
	e := EffectiveFor(p, SubscriptionPolicy{}, false)
	p.Retry, p.ContentType = &e.Retry, e.ContentType
	return p.String()
}
