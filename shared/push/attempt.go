package push

import "time"

// Class is what an attempt's result means for the delivery.
type Class string

// The three classes (SNS developer guide, message delivery retries).
const (
	// Success: the endpoint took the message.
	Success Class = "success"
	// Retryable: a server-side fault; the schedule goes on.
	Retryable Class = "retryable"
	// Permanent: a client-side fault; no retry, straight to the dead-letter queue.
	Permanent Class = "permanent"
)

// LocalFault is the Fault of a push that this host had no means to make; it
// says nothing of the endpoint and counts as no attempt.
const LocalFault = "local"

// Result is what came of one push.
type Result struct {
	Class Class
	// Status is the HTTP status, 0 where no answer came.
	Status int
	// Fault is "" or the kind of connection-level fault: timeout, dns, refused,
	// reset, unreachable, tls, blocked, protocol.
	Fault string
	// Detail is one line that is safe to show: no credentials, no body.
	Detail string
	// Connected is false when no connection to the endpoint was had.
	Connected bool
}

// Attempt is one push as history keeps it.
type Attempt struct {
	Number int `json:"n"`
	// Phase names the part of the schedule that made this attempt: initial,
	// immediate, pre-backoff, backoff, post-backoff.
	Phase   string    `json:"phase"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
	Class   Class     `json:"class"`
	Status  int       `json:"status,omitempty"`
	Fault   string    `json:"fault,omitempty"`
	Detail  string    `json:"detail,omitempty"`
	// Reason says what was decided next and why, in a sentence.
	Reason string `json:"reason,omitempty"`
}

// State is where a delivery's chain of attempts stands.
type State string

// States of a delivery. Claimed and Finished are live, the rest are ends.
const (
	// Claimed: an attempt is under way under a lease.
	Claimed State = "claimed"
	// Finished: the last attempt failed and Next says what follows.
	Finished State = "finished"
	// Delivered: the endpoint took it.
	Delivered State = "delivered"
	// Dead: it is in a dead-letter queue.
	Dead State = "dead"
	// Dropped: a user's act (unsubscribe, delete topic) ended it.
	Dropped State = "dropped"
)

// Ended reports whether no attempt will follow.
func (s State) Ended() bool { return s == Delivered || s == Dead || s == Dropped }

// DeliveryKey names one delivery: a message on its way to one subscription.
// Generation is "" at first and a hash of the dead-letter message's id after a
// redrive, so that an ended chain does not swallow the new one.
type DeliveryKey struct {
	Subscription string // ARN
	MessageID    string
	Generation   string
}

// Delivery is the retry state of one key, kept from the first failure on.
type Delivery struct {
	Key DeliveryKey
	// Kind is what is pushed, "" for a notification.
	Kind Kind
	// Attempt is the number of the latest attempt, from 1.
	Attempt int
	State   State
	// Owner is the claim's fresh random name, LeaseEnd when it lapses.
	Owner    string
	LeaseEnd time.Time
	// NextAt is when attempt Attempt+1 may start; zero when the attempt was the
	// last and the message goes to a dead-letter queue.
	NextAt time.Time
	// NextPhase is the phase of attempt Attempt+1.
	NextPhase string
	// Reason is the last decision in a sentence.
	Reason string
	// Target is the dead-letter queue's ARN or name once Dead.
	Target string
	// Attempts is the bounded history, oldest first (see HistoryKept).
	Attempts  []Attempt
	CreatedAt time.Time
	UpdatedAt time.Time
	// Expires is when the record may be forgotten.
	Expires time.Time
}

// HistoryKept is how many attempts a Delivery remembers: the latest ones.
const HistoryKept = 20

// Remember appends a to the history and forgets the oldest beyond HistoryKept.
func (d *Delivery) Remember(a Attempt) {
	d.Attempts = append(d.Attempts, a)
	if n := len(d.Attempts) - HistoryKept; n > 0 {
		d.Attempts = append([]Attempt(nil), d.Attempts[n:]...)
	}
}
