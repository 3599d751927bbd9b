package operator

import (
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
	Queues      Queues
	Directory   Directory
	Keys        Keys

	// Redriver sends dead letters again.
	Redriver Redriver

	// Publisher takes messages for topics.
	Publisher Publisher

	// Jobs takes the job of a test message.
	Jobs  pipeline.Queues
	Names pipeline.QueueNames

	// Region and Account complete bare topic and queue names to ARNs.
	Region, Account string

	Now func() time.Time
	// Random gives the bytes of message ids (crypto/rand.Reader).
	Random io.Reader
	// Log gets the causes that answers do not tell; nil for none.
	Log *slog.Logger
}

// topicARN completes a bare topic name; an ARN is itself.
func (o *Operator) topicARN(topic string) string {
	return push.ARNOf("sns", o.Region, o.Account, topic)
}

// queueARN completes a bare queue name; an ARN is itself.
func (o *Operator) queueARN(queue string) string {
	return push.ARNOf("sqs", o.Region, o.Account, queue)
}

// queueName is the opposite of queueARN: queues are kept by name.
func queueName(queue string) string {
	if a, err := push.ParseARN(queue); err == nil {
		return a.Name()
	}
	return queue
}
