package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"postino/shared/envelope"
	"postino/shared/push"
	"postino/shared/redrivepolicy"
)

// Redrive sends dead letters again: to the same subscription, as a new
// generation of the delivery.
type Redrive struct {
	Directory Directory
	Queues    Queues
	Names     QueueNames
	Observer  Observer
	Now       func() time.Time
	// MaxRedrives is how often one message is sent again without force.
	MaxRedrives int
	// Republisher takes what FailedJobsQueue holds beside jobs and pages: failed
	// invocations of the publish function. May be nil.
	Republisher Republisher
}

// Republisher publishes what a failed invocation was to publish, under the ids it
// would have had. An *UnsendableError says that the record never will be.
type Republisher interface {
	Republish(ctx context.Context, r Record) error
}

// UnsendableError says why a letter cannot be sent again as it is.
type UnsendableError struct{ Reason string }

func (e *UnsendableError) Error() string { return e.Reason }

// Handle is the event-source form: letters that cannot be sent again move to
// DeadLetterQueue with the reason, or stay where they are if they came from
// there. It returns the ids of the records that must come back.
func (v *Redrive) Handle(ctx context.Context, records []Record) (failed []string) {
	for _, r := range records {
		err := v.Send(ctx, r, false)
		if u, ok := errors.AsType[*UnsendableError](err); ok && push.QueueName(r.Queue) != push.QueueName(v.Names.DeadLetter) {
			out := Outgoing{Body: r.Body, Attributes: withReason(r.Attributes, u.Reason)}
			err = v.Queues.Send(ctx, v.Names.DeadLetter, []Outgoing{out})[0]
		}
		if err != nil {
			v.observe(Event{Kind: EventFault, Lane: r.Queue, Err: err, Reason: "a dead letter was not sent again and stays"})
			failed = append(failed, r.ID)
		}
	}
	return failed
}

// RefusalAttribute says on a letter in DeadLetterQueue why it could not be sent
// again.
const RefusalAttribute = "PostinoRefusal"

func withReason(attributes []push.Attribute, reason string) []push.Attribute {
	if len(attributes) >= maxQueueAttributes {
		return attributes
	}
	return append(append([]push.Attribute(nil), attributes...), push.Attribute{Name: RefusalAttribute, Type: "String", Value: reason})
}

// Send sends one letter again. An *UnsendableError is final; force lifts the
// limit of redrives. After nil the letter may be acknowledged.
func (v *Redrive) Send(ctx context.Context, r Record, force bool) error {
	if push.QueueName(r.Queue) == push.QueueName(v.Names.Failed) {
		return v.again(ctx, r)
	}
	j, err := v.job(r)
	if err != nil {
		return err
	}
	if j.Redrives > v.MaxRedrives && !force {
		return &UnsendableError{fmt.Sprintf("it was sent again before (%d of %d allowed); --force sends it all the same, and POSTINO_MAX_REDRIVES sets how often is allowed", j.Redrives-1, v.MaxRedrives)}
	}
	sub, err := v.Directory.Subscription(ctx, j.Subscription, true)
	if push.IsNotFound(err) || err == nil && sub.Deleted() {
		return &UnsendableError{"its subscription no longer exists"}
	}
	if err != nil {
		return err
	}
	if !force && !v.mayCome(r.Queue, sub) {
		return &UnsendableError{"it names a subscription whose RedrivePolicy names another queue, so that anybody may have put it here; --force sends it all the same"}
	}
	if err := v.Queues.Send(ctx, v.Names.Retry, []Outgoing{{Body: j.Encode(), Group: groupOf(j.Subscription)}})[0]; err != nil {
		return err
	}
	v.observe(Event{Kind: EventRedriven, Subscription: j.Subscription, TopicARN: j.Message.TopicARN, MessageID: j.Message.ID,
		Generation: j.Generation, Push: j.Kind, TraceID: j.Message.Trace.ID(), Lane: r.Queue, Reason: "a dead letter was sent again"})
	return nil
}

// mayCome reports whether a letter for sub may lie in a queue: in DeadLetterQueue,
// where Deliver alone sends, or in the subscription's own. Whoever may send to the
// queue of one subscription must not reach the endpoint of another.
func (v *Redrive) mayCome(queue string, sub push.Subscription) bool {
	if push.QueueName(queue) == push.QueueName(v.Names.DeadLetter) {
		return true
	}
	p, err := redrivepolicy.Parse(sub.RedrivePolicy)
	return err == nil && p.DeadLetterTargetARN == queue
}

// again returns a message of FailedJobsQueue to the queue it failed on: our own
// failure, not an endpoint's, so the same attempt and the same page. Only that
// queue is trusted to hold jobs, and only where nothing but our own reason is
// attached: the body of a dead letter is a publisher's, wherever a queue's own
// redrive policy may have moved it, and always has attributes.
func (v *Redrive) again(ctx context.Context, r Record) error {
	if slices.ContainsFunc(r.Attributes, func(a push.Attribute) bool { return a.Name == DeadLetterAttribute || a.Name == RefusalAttribute }) ||
		len(r.Attributes) >= maxQueueAttributes {
		return &UnsendableError{"it is a dead letter and not one of Postino's own messages"}
	}
	j, err := push.DecodeJob(r.Body)
	if err == nil {
		j.Stumbles = 1 // it was in hand before, so even a first attempt is claimed
		return v.Queues.Send(ctx, v.Names.Retry, []Outgoing{{Body: j.Encode(), Group: groupOf(j.Subscription)}})[0]
	}
	page, pageErr := decodePage(r.Body)
	if pageErr == nil {
		return v.Queues.Send(ctx, v.Names.Fanout, []Outgoing{page.outgoing()})[0]
	}
	if v.Republisher != nil {
		return v.Republisher.Republish(ctx, r)
	}
	return &UnsendableError{"it is neither a job nor a fan-out page that this build reads: " + err.Error()}
}

// job makes the new generation's first job of a dead letter.
func (v *Redrive) job(r Record) (push.Job, error) {
	note, noted := noteOf(r.Attributes)
	if !noted {
		// A body alone must not choose a subscription: it may be a publisher's.
		return push.Job{}, &UnsendableError{"it carries no note of its subscription"}
	}
	m, err := envelope.Parse(r.Body)
	switch {
	case note.Raw:
		m = push.Message{ID: note.MessageID, TopicARN: note.Topic, Subject: note.Subject, Body: r.Body, Timestamp: note.Published.UTC()}
		for _, a := range r.Attributes {
			if a.Name != DeadLetterAttribute && a.Name != RefusalAttribute {
				m.Attributes = append(m.Attributes, a)
			}
		}
	case err != nil:
		return push.Job{}, &UnsendableError{"it is no SNS envelope, though its note says so"}
	}
	m.Trace = push.ParseTrace(note.TraceParent, note.TraceState)
	if push.TopicOf(note.Subscription) == "" {
		return push.Job{}, &UnsendableError{"it does not say which subscription it was for"}
	}
	if m.TopicARN != push.TopicOf(note.Subscription) || note.Redrives < 0 {
		return push.Job{}, &UnsendableError{"its note is not one that Postino wrote"}
	}
	if m.ID == "" {
		return push.Job{}, &UnsendableError{"it does not say which message it was"}
	}
	return push.Job{Kind: push.Notification, Subscription: note.Subscription, Generation: generation(r.ID), Attempt: 1,
		Redrives: note.Redrives + 1, Message: m}, nil
}

// generation names the chain that starts with the dead letter of the given
// queue message id.
func generation(messageID string) string {
	sum := sha256.Sum256([]byte(messageID))
	return hex.EncodeToString(sum[:8])
}

func noteOf(attributes []push.Attribute) (DeadLetterNote, bool) {
	for _, a := range attributes {
		if a.Name != DeadLetterAttribute {
			continue
		}
		var n DeadLetterNote
		if json.Unmarshal([]byte(a.Value), &n) == nil && n.V == 1 {
			return n, true
		}
	}
	return DeadLetterNote{}, false
}

func (v *Redrive) observe(e Event) {
	if v.Observer != nil {
		e.Time = v.Now()
		v.Observer.Observe(e)
	}
}
