package pipeline

import (
	"context"
	"errors"
	"time"

	"postino/shared/envelope"
	"postino/shared/push"
)

// Directory is what the verbs read of topics and subscriptions. A missing one
// is an error with push.CodeNotFound; any other error is a failure on our side.
type Directory interface {
	// Topic is read strongly consistent, Version included.
	Topic(ctx context.Context, arn string) (push.Topic, error)
	// Subscriptions gives up to limit live subscriptions of a topic (tombstones
	// excluded), ordered by ARN, those behind the ARN after; next is "" at the end.
	Subscriptions(ctx context.Context, topicARN, after string, limit int) (page []push.Subscription, next string, err error)
	// Subscription may answer a tombstone (Deleted). strong asks for a read that
	// cannot be stale.
	Subscription(ctx context.Context, arn string, strong bool) (push.Subscription, error)
}

// Deliveries keeps retry state; every method is one conditional write.
// When the condition fails ok is false and current is the record that refused
// it. An error means that the write may or may not have happened.
type Deliveries interface {
	// Claim writes (d.Attempt, Claimed, d.Owner, d.LeaseEnd) when the record is
	// missing, or is (d.Attempt-1, Finished), or is (d.Attempt, Claimed) with a
	// lease that ended before now. It keeps history and creation time. current
	// is the record as written when ok.
	Claim(ctx context.Context, d push.Delivery, now time.Time) (current push.Delivery, ok bool, err error)
	// Create writes d when no record of its key exists.
	Create(ctx context.Context, d push.Delivery) (current push.Delivery, ok bool, err error)
	// Settle writes d when the record is still (d.Attempt, Claimed) by d.Owner.
	Settle(ctx context.Context, d push.Delivery) (current push.Delivery, ok bool, err error)
	// End sets State to the given end (Dead or Dropped), Target and Reason, when
	// the record's attempt is still the given one and it has not ended yet. A
	// missing record, another attempt or an end is no error and changes nothing.
	End(ctx context.Context, key push.DeliveryKey, attempt int, state push.State, target, reason string, now time.Time) error
}

// Slots reserves throttle slots.
type Slots interface {
	// Reserve takes the next n slots of a subscription at the given rate per
	// second and returns the time of the first; the others follow at 1/rate.
	// Slots never lie before now, and idle time is not saved up.
	Reserve(ctx context.Context, subscriptionARN string, rate float64, n int, now time.Time) (first time.Time, err error)
}

// Outgoing is a queue message on its way in.
type Outgoing struct {
	Body string
	// Delay is 0 to 900 s. Adapters that know only whole seconds round up.
	Delay time.Duration
	// Group is the MessageGroupId, by which queues keep tenants fair.
	Group string
	// Attributes become the queue message's attributes (ten at most).
	Attributes []push.Attribute
}

// MaxDelay is the longest delay a queue takes (SQS).
const MaxDelay = 900 * time.Second

// MaxBatch is the most entries one send takes (SQS).
const MaxBatch = 10

// Queues sends. Queue names are SQS names or ARNs.
type Queues interface {
	// Send stores up to MaxBatch entries and returns one error per entry, nil
	// where the entry is durable. An entry whose error is not nil may still have
	// been stored. A *RefusedError says that the queue will never take it.
	Send(ctx context.Context, queue string, entries []Outgoing) []error
}

// Incoming is a received queue message.
type Incoming struct {
	ID string
	// Receipt names this receive; it goes stale when the message reappears.
	Receipt      string
	Body         string
	Group        string
	Attributes   []push.Attribute
	ReceiveCount int
	Sent         time.Time
}

// RefusedError is a queue's final no: it is gone, denied, or the message is too
// large or malformed for it.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return "queue refuses: " + e.Reason }

// Refused reports whether err is a final no, and why.
func Refused(err error) (reason string, ok bool) {
	if r, is := errors.AsType[*RefusedError](err); is {
		return r.Reason, true
	}
	return "", false
}

// Timer sends a queue message at a time that lies beyond MaxDelay.
type Timer interface {
	// At arranges for e (its Delay ignored) to be sent to queue at or somewhat
	// before at, never lost. A second call with the same name succeeds and
	// changes nothing.
	At(ctx context.Context, name string, at time.Time, queue string, e Outgoing) error
}

// Sender makes one attempt. It never returns an error: every fault is a Result.
type Sender interface {
	Send(ctx context.Context, endpoint string, r envelope.Request) push.Result
}

// Signer signs canonical messages.
type Signer interface {
	// Sign fills m's signature for its kind with the given version, "1" or "2".
	Sign(kind push.Kind, m push.Message, version string) (push.Signature, error)
}

// Observer is told what happened; it must not block.
type Observer interface {
	Observe(Event)
}

// QueueNames are the five queues of an installation.
type QueueNames struct {
	Attempt, Retry, Fanout, DeadLetter, Failed string
}

// Working reports whether queue (a name or an ARN) is one that jobs and pages
// are believed from. No subscription may send its dead letters there: their
// bodies are publishers' words.
func (n QueueNames) Working(queue string) bool {
	for _, own := range []string{n.Attempt, n.Retry, n.Fanout, n.Failed} {
		if own != "" && push.QueueName(own) == push.QueueName(queue) {
			return true
		}
	}
	return false
}

// Lane says which of the five queue (a name or an ARN) is: attempt, retry, fanout,
// dead-letter, failed, or "" for none of them.
func (n QueueNames) Lane(queue string) string {
	if queue == "" {
		return ""
	}
	switch push.QueueName(queue) {
	case push.QueueName(n.Attempt):
		return "attempt"
	case push.QueueName(n.Retry):
		return "retry"
	case push.QueueName(n.Fanout):
		return "fanout"
	case push.QueueName(n.DeadLetter):
		return "dead-letter"
	case push.QueueName(n.Failed):
		return "failed"
	}
	return ""
}
