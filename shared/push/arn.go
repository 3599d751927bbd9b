package push

import (
	"errors"
	"fmt"
	"strings"
)

// ARN is a parsed Amazon Resource Name,
// arn:<partition>:<service>:<region>:<account>:<resource>.
type ARN struct {
	Partition, Service, Region, Account string
	// Resource is everything behind the fifth colon; for a subscription
	// "<topic>:<uuid>", for a topic or a queue its name.
	Resource string
}

// ParseARN splits s. Of a string with fewer than six elements the error's text
// is the one SNS uses, without a prefix: "An ARN must have at least 6 elements,
// not N".
func ParseARN(s string) (ARN, error) {
	p := strings.SplitN(s, ":", 6)
	if len(p) < 6 {
		return ARN{}, fmt.Errorf("An ARN must have at least 6 elements, not %d", len(p)) //nolint:staticcheck // SNS's own text
	}
	if p[0] != "arn" {
		return ARN{}, errors.New("an ARN must begin with the element arn")
	}
	return ARN{Partition: p[1], Service: p[2], Region: p[3], Account: p[4], Resource: p[5]}, nil
}

// String is the inverse of ParseARN.
func (a ARN) String() string {
	return "arn:" + a.Partition + ":" + a.Service + ":" + a.Region + ":" + a.Account + ":" + a.Resource
}

// Name is the first part of the resource: the topic's or the queue's name.
func (a ARN) Name() string {
	name, _, _ := strings.Cut(a.Resource, ":")
	return name
}

// SubscriptionID is the part behind the topic's name, "" for a topic.
func (a ARN) SubscriptionID() string {
	_, id, _ := strings.Cut(a.Resource, ":")
	return id
}

// QueueName is the name in a queue's ARN, or the name that s is already.
func QueueName(s string) string { return s[strings.LastIndexByte(s, ':')+1:] }

// FIFO reports whether the resource's name ends in ".fifo".
func (a ARN) FIFO() bool { return strings.HasSuffix(a.Name(), ".fifo") }

// TopicOf gives the topic's ARN of a subscription's ARN, and "" where s has no
// subscription part.
func TopicOf(subscriptionARN string) string {
	i := strings.LastIndexByte(subscriptionARN, ':')
	if i < 0 || strings.Count(subscriptionARN, ":") != 6 {
		return ""
	}
	return subscriptionARN[:i]
}
