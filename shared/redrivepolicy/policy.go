// Package redrivepolicy reads the RedrivePolicy attribute of a subscription,
// which names the SQS queue that takes the messages whose delivery failed for
// good (SNS developer guide, "Amazon SNS dead-letter queues"), and checks that
// the queue fits the topic. It is pure: whether the queue exists is for others
// to find out.
package redrivepolicy

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"postino/shared/push"
)

// Policy is a parsed redrive policy. Parse never returns the zero Policy
// without an error.
type Policy struct {
	// DeadLetterTargetARN is the ARN of an SQS queue.
	DeadLetterTargetARN string
}

// String is the document: {"deadLetterTargetArn":"…"}.
func (p Policy) String() string {
	b, err := json.Marshal(struct {
		DeadLetterTargetArn string `json:"deadLetterTargetArn"`
	}{p.DeadLetterTargetARN})
	if err != nil { // a string always marshals
		panic(err)
	}
	return string(b)
}

// Parse reads {"deadLetterTargetArn": "<queue ARN>"} and nothing else: unknown
// and duplicate members, wrong types, trailing data and an ARN that names no SQS
// queue are refused. An empty document is refused too; what it means (unset) is
// the caller's business.
//
// Errors are plain and read "RedrivePolicy: deadLetterTargetArn is an invalid
// arn"; the caller adds code and prefix.
func Parse(doc string) (Policy, error) {
	target, err := deadLetterTarget(doc)
	if err != nil {
		return Policy{}, fmt.Errorf("RedrivePolicy: %w", err)
	}
	if _, err := queue(target); err != nil {
		return Policy{}, fmt.Errorf("RedrivePolicy: %w", err)
	}
	return Policy{DeadLetterTargetARN: target}, nil
}

// Check refuses a queue that is not in the topic's partition, account and
// region, a FIFO queue behind a standard topic, and a standard queue behind a
// FIFO topic. Errors are as those of Parse.
func (p Policy) Check(topic push.ARN) error {
	q, err := queue(p.DeadLetterTargetARN)
	switch {
	case err != nil:
	case q.Partition != topic.Partition:
		err = errors.New("deadLetterTargetArn must be in the same partition as the topic")
	case q.Account != topic.Account:
		err = errors.New("deadLetterTargetArn must be in the same account as the topic")
	case q.Region != topic.Region:
		err = errors.New("deadLetterTargetArn must be in the same region as the topic")
	case topic.FIFO() && !q.FIFO():
		err = errors.New("must use a FIFO queue as DLQ for a FIFO Subscription to a FIFO Topic.") //nolint:staticcheck // SNS's own text
	case !topic.FIFO() && q.FIFO():
		err = errors.New("must use a standard queue as DLQ for a Subscription to a standard Topic.") //nolint:staticcheck // in the form of SNS's text
	}
	if err != nil {
		return fmt.Errorf("RedrivePolicy: %w", err)
	}
	return nil
}

// queue parses an SQS queue's ARN: no part empty, and a name as SQS allows it,
// 1 to 80 letters, digits, hyphens and underscores, .fifo included (SQS API
// reference, CreateQueue).
func queue(arn string) (push.ARN, error) {
	q, err := push.ParseARN(arn)
	name := strings.TrimSuffix(q.Resource, ".fifo")
	if err != nil || q.Service != "sqs" || len(q.Resource) > 80 || !word(name) ||
		!word(q.Partition) || !word(q.Region) || !word(q.Account) {
		return push.ARN{}, errors.New("deadLetterTargetArn is an invalid arn")
	}
	return q, nil
}

// word reports whether s is not empty and holds only ASCII letters, digits,
// hyphens and underscores.
func word(s string) bool {
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return s != ""
}
