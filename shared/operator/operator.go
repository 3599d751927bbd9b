package operator

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"postino/shared/pipeline"
	"postino/shared/push"
)

// Operator holds the verbs. All members are needed unless they say otherwise.
type Operator struct {
	Deliveries Deliveries
	// DeliveryLog may be nil: then only deliveries that failed at least once are
	// shown.
	DeliveryLog Log
	// LogsSome: the log has a share of the deliveries that succeed at once, so that
	// nothing follows of what it does not have.
	LogsSome  bool
	Queues    Queues
	Directory Directory
	Keys      Keys

	// Redriver sends dead letters again.
	Redriver Redriver
	// Open gives the message that a letter of FailedJobsQueue stands for, where a
	// schedule left its body elsewhere, and other letters as they are; nil where
	// bodies are always in their messages.
	Open func(ctx context.Context, r pipeline.Record) (pipeline.Record, error)

	// Publisher takes messages for topics.
	Publisher Publisher

	// Jobs takes the job of a test message.
	Jobs  pipeline.Queues
	Names pipeline.QueueNames

	// Region and Account complete bare topic and queue names to ARNs.
	Region, Account string
	// Aliases are further names of queues, and what they stand for: on a stack the
	// template's own, since CloudFormation gives its queues long ones.
	Aliases map[string]string

	Now func() time.Time
	// Random gives the bytes of message ids (crypto/rand.Reader).
	Random io.Reader
	// Log gets the causes that answers do not tell; nil for none.
	Log *slog.Logger
	// Explain words a fault of ours for a caller who is the one to put it right,
	// "" for those it does not know; nil tells callers that the log knows more.
	Explain func(error) string
}

// explain is what a caller is told of a fault of ours, "" for nothing of its own.
func (o *Operator) explain(err error) string {
	if errors.Is(err, context.Canceled) {
		return "Interrupted"
	}
	if o.Explain == nil {
		return ""
	}
	return o.Explain(err)
}

// topicARN completes a bare topic name; an ARN is itself.
func (o *Operator) topicARN(topic string) string {
	return push.ARNOf("sns", o.Region, o.Account, topic)
}

// queueARN completes a queue's name or alias; an ARN is itself.
func (o *Operator) queueARN(queue string) string {
	if known := o.Aliases[queue]; known != "" {
		queue = known
	}
	return push.ARNOf("sqs", o.Region, o.Account, queue)
}

// queueLabel is the shortest that queueARN makes the same ARN of.
func (o *Operator) queueLabel(arn string) string {
	for alias := range o.Aliases {
		if o.queueARN(alias) == arn {
			return alias
		}
	}
	a, err := push.ParseARN(arn)
	if err != nil || a.Region != o.Region || a.Account != o.Account {
		return arn
	}
	return a.Name()
}
