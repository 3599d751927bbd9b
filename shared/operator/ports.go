package operator

import (
	"context"
	"time"

	"postino/shared/pipeline"
	"postino/shared/push"
)

// Filter narrows a listing of deliveries; zero members match everything.
type Filter struct {
	// Subscription and TopicARN are whole ARNs.
	Subscription, TopicARN string
	MessageID              string
	// States lists the states wanted; empty means all.
	States []push.State
	// Limit is the most to return; the reader may return fewer on one page.
	Limit int
	// After is a previous page's next, "" for the first page.
	After string
}

// Deliveries reads retry state: what has failed at least once.
type Deliveries interface {
	// ListDeliveries gives those that match, newest first: ended ones by their
	// end, others by their first failure or their latest change, as the store
	// keeps them; next is "" at the end.
	ListDeliveries(ctx context.Context, f Filter) (page []push.Delivery, next string, err error)
}

// Log reads the delivery log, where deliveries that succeeded at their first
// attempt are found and nowhere else.
type Log interface {
	// Logged gives ended deliveries that match, newest first, at most f.Limit.
	// After is ignored: the log has one page.
	Logged(ctx context.Context, f Filter) ([]push.Delivery, error)
}

// QueueInfo is a queue at a glance.
type QueueInfo struct {
	Name string `json:"name"`
	// Visible can be received now, InFlight is received and not acknowledged,
	// Delayed is not due yet.
	Visible  int `json:"visible"`
	InFlight int `json:"inFlight"`
	Delayed  int `json:"delayed"`
	// OldestSent is when the oldest message was sent, zero for an empty queue.
	OldestSent time.Time `json:"oldestSent,omitzero"`
}

// Letter is one message of a queue.
type Letter struct {
	ID string
	// Receipt names the receive, "" where the letter was only looked at.
	Receipt      string
	Body         string
	Group        string
	Attributes   []push.Attribute
	ReceiveCount int
	Sent         time.Time
}

// Queues looks into queues and takes single messages out of them. A queue that
// does not exist is empty.
type Queues interface {
	List(ctx context.Context) ([]QueueInfo, error)
	// Peek gives messages in the order they were sent, those behind the message
	// id after, without receiving them; next is "" at the end.
	Peek(ctx context.Context, queue, after string, limit int) (page []Letter, next string, err error)
	// Take receives one given message for the visibility timeout. It answers
	// false when the message is gone or received by someone else.
	Take(ctx context.Context, queue, id string, visibility time.Duration) (Letter, bool, error)
	// Delete acknowledges by receipt.
	Delete(ctx context.Context, queue string, receipts []string) error
	// ChangeVisibility makes a received message reappear after d.
	ChangeVisibility(ctx context.Context, queue, receipt string, d time.Duration) error
}

// Redriver is the pipeline's Redrive verb for one letter; after nil the letter
// may be deleted. A *pipeline.UnsendableError is final, force lifts the limit of
// redrives.
type Redriver interface {
	Send(ctx context.Context, r pipeline.Record, force bool) error
}

// Publisher is the pipeline's Publish verb: one result per entry, in order.
type Publisher interface {
	Publish(ctx context.Context, r pipeline.PublishRequest) ([]pipeline.PublishResult, error)
}

// Directory is what the verbs read and change of topics and subscriptions;
// snsapi.Directory has these methods.
type Directory interface {
	Topic(ctx context.Context, arn string) (push.Topic, error)
	Subscription(ctx context.Context, arn string, strong bool) (push.Subscription, error)
	AllSubscriptions(ctx context.Context, after string, limit int) (page []push.Subscription, next string, err error)
	UpdateSubscription(ctx context.Context, arn string, change func(*push.Subscription) error) (push.Subscription, error)
}
