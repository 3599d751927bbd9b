package pipeline

import (
	"time"

	"postino/shared/push"
)

// EventKind says what an Event reports.
type EventKind string

// Kinds of event.
const (
	// EventAccepted: a message was accepted for Deliveries subscriptions.
	EventAccepted EventKind = "accepted"
	// EventDelivered: an attempt succeeded; the delivery has ended.
	EventDelivered EventKind = "delivered"
	// EventRetry: an attempt failed and the next is planned at At.
	EventRetry EventKind = "retry"
	// EventDead: the message went to the dead-letter queue Target.
	EventDead EventKind = "dead"
	// EventDropped: a user's act ended the delivery, or an exhausted
	// confirmation was given up.
	EventDropped EventKind = "dropped"
	// EventWait: the job was put back without an attempt until At.
	EventWait EventKind = "wait"
	// EventFault: a failure on our side; the job comes back.
	EventFault EventKind = "fault"
	// EventPoison: a queue message that is no job went to FailedJobsQueue.
	EventPoison EventKind = "poison"
	// EventRedriven: a dead letter was sent again.
	EventRedriven EventKind = "redriven"
)

// Event is one thing that happened in the pipeline, wide enough for a log line,
// a metric and a terminal. It never holds a body or a secret.
type Event struct {
	Kind         EventKind
	Time         time.Time
	Subscription string
	TopicARN     string
	MessageID    string
	Generation   string
	Push         push.Kind
	// TraceID is the id of the message's trace, "" where it has none.
	TraceID string
	// Endpoint is the URL without user-info and query.
	Endpoint string
	// Lane is the queue the job came from.
	Lane string
	// Attempt is zero-valued unless an attempt was made.
	Attempt push.Attempt
	// Accepted is when the message was published.
	Accepted time.Time
	// Due is when the attempt was due (NotBefore or slot), zero for at once.
	Due time.Time
	// At is when the next attempt, or the return of a waiting job, is due.
	At     time.Time
	Target string
	// Refused says on EventDead why the subscription's own queue did not take the
	// letter, "" where it did or there is none.
	Refused string
	// Throttled: on EventWait, the job waits until At for its throttle slot.
	Throttled bool
	// SampleRate is the percent of successes that the topic wants recorded, 0 to
	// 100, "" where it says nothing.
	SampleRate string
	// Reason is a sentence for people.
	Reason string
	// Deliveries counts jobs on EventAccepted.
	Deliveries int
	Err        error
}

// Attempted reports whether e is about an attempt that was made.
func (e *Event) Attempted() bool { return e.Attempt.Number > 0 }

// Lateness is how long after its due time an attempt began; ok is false where
// none was made or none was due.
func (e *Event) Lateness() (d time.Duration, ok bool) {
	if !e.Attempted() || e.Due.IsZero() {
		return 0, false
	}
	return e.Attempt.Started.Sub(e.Due), true
}
