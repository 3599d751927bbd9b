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
	// Since lets the log, which only ends are in, look no further back than to it;
	// zero for all of the log.
	Since time.Time
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
	// After is ignored: the log has one page. back is how far back a log was read
	// that is too large, zero for all of it.
	Logged(ctx context.Context, f Filter) (found []push.Delivery, back time.Time, err error)
}

// QueueInfo is a queue at a glance.
type QueueInfo struct {
	// Name is what commands call it, ARN what AWS does.
	Name string `json:"name"`
	ARN  string `json:"arn,omitempty"`
	// Visible can be received now, InFlight is received and not acknowledged,
	// Delayed is not due yet.
	Visible  int `json:"visible"`
	InFlight int `json:"inFlight"`
	Delayed  int `json:"delayed"`
	// OldestSent is when the oldest message was sent, zero for an empty queue, or
	// one that does not tell.
	OldestSent time.Time `json:"oldestSent,omitzero"`
	// MovesAfter is after how many receives, a look being one, the queue moves a
	// message to a dead-letter queue of its own; 0 where looks move nothing.
	MovesAfter int `json:"movesAfter,omitempty"`
	// Problem says why there is nothing to tell of a queue that a subscription
	// names: it is gone, denied, or in another region.
	Problem string `json:"problem,omitempty"`
}

// Letter is one message of a queue; Receipt is "" where it was only looked at.
type Letter struct {
	pipeline.Incoming
	// Bytes is the body's length, also where a Brief sweep left Body out.
	Bytes int
}

// Sweep says which letters of a queue are wanted.
type Sweep struct {
	// IDs are those wanted; empty means all.
	IDs []string
	// After is an earlier Swept's Next, "" for the beginning.
	After string
	// Before leaves letters alone that were sent after it; zero leaves none.
	Before time.Time
	// Max is the most letters to hand over, 0 for any number.
	Max int
	// Brief allows the body of a letter to be left out that carries its note.
	Brief bool
}

// Swept says how far a sweep came.
type Swept struct {
	// Next is where another sweep goes on. It is "" at the end, and always on a
	// queue that has no order to go on in, as those of SQS.
	Next string
	// Left is about how many letters the sweep did not come to, besides those
	// behind Next: others are receiving them, or they are too many for one sweep.
	Left int
}

// Queues looks into queues and takes letters out of them; conformance.ExerciseLetters
// says what it promises. Queues are named by ARN.
type Queues interface {
	// List gives the names or ARNs of the queues there are to look into without
	// being told of them.
	List(ctx context.Context) ([]string, error)
	// Info tells a queue's sizes. A *pipeline.RefusedError says why that is not
	// possible from here, a NotFound that a queue which would be made on first use
	// has not been made.
	Info(ctx context.Context, queue string) (QueueInfo, error)
	// Look shows letters to see without taking them out: after it, and after an
	// interrupted one, everything is there as before.
	Look(ctx context.Context, queue string, s Sweep, see func(Letter)) (Swept, error)
	// Take hands letters over, each once, up to pipeline.MaxBatch at a time, while
	// nobody else receives them. take says which of a batch are done with; those
	// are deleted, and the others are there again once the sweep has ended. take's
	// error ends the sweep. Where Next cannot say where to go on, a Take goes on to
	// the queue's end, whatever Max says.
	Take(ctx context.Context, queue string, s Sweep, take func(batch []Letter) (done []bool, err error)) (Swept, error)
}

// Redriver is the pipeline's Redrive verb for one letter; after nil the letter
// may be deleted. A *pipeline.UnsendableError is final, force lifts the limit of
// redrives. Several letters are sent at once.
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
