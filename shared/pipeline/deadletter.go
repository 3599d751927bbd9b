package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"postino/shared/envelope"
	"postino/shared/push"
	"postino/shared/redrivepolicy"
)

// DeadLetterAttribute is the name of the one attribute of ours on a dead
// letter; the rest of the message is exactly what would have been delivered.
const DeadLetterAttribute = "Postino"

// DeadLetterNote is the JSON value of that attribute: what one needs to
// understand the letter and to send it again.
type DeadLetterNote struct {
	V            int    `json:"v"`
	Subscription string `json:"subscription"`
	Topic        string `json:"topic"`
	MessageID    string `json:"messageId"`
	Attempts     int    `json:"attempts"`
	Status       int    `json:"status,omitempty"`
	Fault        string `json:"fault,omitempty"`
	Detail       string `json:"detail,omitempty"`
	// Reason says why it is here; Refused why the subscription's own queue did
	// not take it.
	Reason  string `json:"reason"`
	Refused string `json:"refused,omitempty"`
	// Raw: the body is the message itself, not an SNS envelope.
	Raw       bool      `json:"raw,omitempty"`
	Published time.Time `json:"published"`
	Redrives  int       `json:"redrives,omitempty"`
	// Subject is kept for raw letters, whose body has no place for it.
	Subject string `json:"subject,omitempty"`
	// AttributesDropped is how many message attributes a raw letter would have
	// carried: more than a queue takes, so it carries none of them.
	AttributesDropped int `json:"attributesDropped,omitempty"`
	// TraceParent and TraceState are the publisher's trace context.
	TraceParent string `json:"traceparent,omitempty"`
	TraceState  string `json:"tracestate,omitempty"`
}

// maxQueueAttributes is SQS's limit of attributes on a message.
const maxQueueAttributes = 10

// bury sends the dead letter, marks the record and lets the job go.
// Confirmations carry a token and are never dead-lettered.
func (d *Deliver) bury(ctx context.Context, r run, rec push.Delivery, a *push.Attempt) bool {
	state, target, refused := push.Dropped, "", ""
	if r.job.Kind == push.Notification {
		var err error
		state = push.Dead
		if target, refused, err = d.deadLetter(ctx, r, rec); err != nil {
			return d.stumble(ctx, r, err)
		}
	}
	if err := d.Deliveries.End(ctx, rec.Key, rec.Attempt, state, target, rec.Reason, d.Now()); err != nil {
		return d.stumble(ctx, r, err)
	}
	kind := EventDead
	if state == push.Dropped {
		kind = EventDropped
	}
	if a == nil && len(rec.Attempts) > 0 {
		a = &rec.Attempts[len(rec.Attempts)-1]
	}
	if a != nil {
		e := d.attempted(kind, r, *a, time.Time{})
		e.Target, e.Refused = target, refused
		d.observe(e)
	}
	return true
}

// deadLetter sends to the subscription's own queue, or where there is none or
// it refuses for good, which refused then says, to the installation's
// DeadLetterQueue.
func (d *Deliver) deadLetter(ctx context.Context, r run, rec push.Delivery) (target, refused string, err error) {
	m := r.job.Message
	if m.Signature.Value == "" && !r.target.sub.Raw {
		if m.Signature, err = d.Signer.Sign(r.job.Kind, m, r.target.topic.Signature()); err != nil {
			return "", "", err
		}
	}
	body, attributes := envelope.DeadLetter(m, r.target.sub, d.Links)
	note := DeadLetterNote{V: 1, Subscription: r.job.Subscription, Topic: m.TopicARN, MessageID: m.ID, Attempts: rec.Attempt,
		Reason: rec.Reason, Raw: r.target.sub.Raw, Published: m.Timestamp, Redrives: r.job.Redrives,
		TraceParent: m.Trace.Parent, TraceState: m.Trace.State}
	if n := len(rec.Attempts); n > 0 {
		last := rec.Attempts[n-1]
		note.Status, note.Fault, note.Detail = last.Status, last.Fault, last.Detail
	}
	if note.Raw {
		note.Subject = m.Subject
	}
	if own := r.target.sub.RedrivePolicy; own != "" {
		p, err := redrivepolicy.Parse(own)
		if err != nil {
			return "", "", err
		}
		if d.Names.Working(p.DeadLetterTargetARN) {
			err = &RefusedError{Reason: "it is one of Postino's working queues"}
		} else {
			err = d.sendLetter(ctx, p.DeadLetterTargetARN, body, attributes, note)
		}
		if err == nil {
			return p.DeadLetterTargetARN, "", nil
		}
		reason, final := Refused(err)
		if !final {
			return "", "", err
		}
		note.Refused = reason
	}
	err = d.sendLetter(ctx, d.Names.DeadLetter, body, attributes, note)
	if reason, final := Refused(err); final {
		// Escaping can make an envelope larger than any queue takes. The job
		// itself always fits, and redrive reads it there.
		reason = fmt.Sprintf("%s; %s refused the letter: %s", note.Reason, d.Names.DeadLetter, reason)
		return d.Names.Failed, note.Refused, d.fail(ctx, r, rec.Attempt, reason)
	}
	return d.Names.DeadLetter, note.Refused, err
}

// fail keeps the job itself in FailedJobsQueue, for a chain that has ended.
func (d *Deliver) fail(ctx context.Context, r run, attempt int, reason string) error {
	j := r.job
	j.Attempt, j.Phase, j.NotBefore, j.Slot = 1, "", time.Time{}, time.Time{}
	j.Generation = generation(fmt.Sprintf("%s|%d", r.job.Generation, attempt))
	out := Outgoing{Body: j.Encode(), Group: groupOf(j.Subscription), Attributes: []push.Attribute{{Name: "Reason", Type: "String", Value: reason}}}
	return d.Queues.Send(ctx, d.Names.Failed, []Outgoing{out})[0]
}

// sendLetter sends the letter with its note. Ten attributes of the message's own
// leave no room for the note; more than ten fit no queue, and then the note goes
// alone, so that the letter is kept and can be sent again.
func (d *Deliver) sendLetter(ctx context.Context, queue, body string, attributes []push.Attribute, note DeadLetterNote) error {
	// The name is ours: a publisher's attribute of that name would pass for a note.
	own := slices.DeleteFunc(slices.Clone(attributes), func(a push.Attribute) bool { return a.Name == DeadLetterAttribute })
	if len(own) > maxQueueAttributes {
		note.AttributesDropped, own = len(own), nil
	}
	out := Outgoing{Body: body, Attributes: own}
	if len(own) < maxQueueAttributes {
		b, err := json.Marshal(note)
		if err != nil {
			return err
		}
		out.Attributes = append(out.Attributes, push.Attribute{Name: DeadLetterAttribute, Type: "String", Value: string(b)})
	}
	return d.Queues.Send(ctx, queue, []Outgoing{out})[0]
}
