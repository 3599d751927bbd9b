package operator

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"postino/shared/pipeline"
	"postino/shared/push"
)

// DeadLetter is one message of a dead-letter queue.
type DeadLetter struct {
	ID    string    `json:"id"`
	Queue string    `json:"queue"`
	Sent  time.Time `json:"sent"`
	// Receives counts how often it was received, by anyone.
	Receives int `json:"receives"`
	// Bytes is the body's length; Body is left out of listings.
	Bytes      int         `json:"bytes"`
	Body       string      `json:"body,omitempty"`
	Attributes []Attribute `json:"attributes,omitempty"`
	// Note is what the attribute "Postino" tells, nil where it is missing.
	Note *pipeline.DeadLetterNote `json:"note,omitempty"`
	// Job is set when the message is a job of Postino's own, as those of
	// FailedJobsQueue are; its body is then base64 inside JSON.
	Job *Job `json:"job,omitempty"`
}

// Attribute is a queue message's attribute. Binary values are base64.
type Attribute struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Value string `json:"value"`
}

// DeadLetterPage is one page of a queue.
type DeadLetterPage struct {
	DeadLetters []DeadLetter `json:"deadLetters"`
	// Next asks for the page behind this one, "" at the end.
	Next string `json:"next,omitempty"`
	// Left is about how many messages were not looked at, besides those behind
	// Next.
	Left int `json:"left,omitempty"`
}

// Job is what there is to know of a job that failed on our side.
type Job struct {
	Kind         push.Kind `json:"kind"`
	Subscription string    `json:"subscription"`
	MessageID    string    `json:"messageId"`
	// Attempt is the one that is still to be made.
	Attempt int `json:"attempt"`
}

// ListDeadLetters gives a page of a queue, oldest first, without taking its
// messages out. limit is 1 to MaxList, 0 for DefaultList.
func (o *Operator) ListDeadLetters(ctx context.Context, queue, after string, limit int) (DeadLetterPage, error) {
	limit, err := listLimit(limit)
	if err != nil {
		return DeadLetterPage{}, err
	}
	arn, err := o.deadLetterQueue(ctx, queue)
	if err != nil {
		return DeadLetterPage{}, err
	}
	page := DeadLetterPage{DeadLetters: []DeadLetter{}}
	swept, err := o.Queues.Look(ctx, arn, Sweep{After: after, Max: limit, Brief: true}, func(l Letter) {
		d := o.deadLetter(ctx, arn, l)
		d.Body, d.Attributes = "", nil
		page.DeadLetters = append(page.DeadLetters, d)
	})
	if err != nil {
		return DeadLetterPage{}, err
	}
	slices.SortStableFunc(page.DeadLetters, func(a, b DeadLetter) int { return a.Sent.Compare(b.Sent) })
	page.Next, page.Left = swept.Next, swept.Left
	return page, nil
}

// ShowDeadLetter gives one message whole, without taking it out.
func (o *Operator) ShowDeadLetter(ctx context.Context, queue, id string) (DeadLetter, error) {
	arn, err := o.deadLetterQueue(ctx, queue)
	if err != nil {
		return DeadLetter{}, err
	}
	var found *DeadLetter
	swept, err := o.Queues.Look(ctx, arn, Sweep{IDs: []string{id}}, func(l Letter) {
		d := o.deadLetter(ctx, arn, l)
		found = &d
	})
	switch {
	case found != nil:
		return *found, nil // whatever happened behind it
	case err != nil:
		return DeadLetter{}, err
	case swept.Left > 0:
		return DeadLetter{}, push.Errorf(push.CodeNotFound,
			"Message %q was not met in queue %s, but about %d others were not looked at: try again in a minute", push.Clip(id), o.queueLabel(arn), swept.Left)
	}
	return DeadLetter{}, push.Errorf(push.CodeNotFound,
		"Queue %s has no message %q: `postino dlq list %[1]s` shows those it has", o.queueLabel(arn), push.Clip(id))
}

func (o *Operator) deadLetter(ctx context.Context, arn string, l Letter) DeadLetter {
	if r, err := o.recordOf(ctx, arn, l); err == nil && r.Body != l.Body { // else it is shown as it lies there
		l.Body, l.Attributes, l.Bytes = r.Body, r.Attributes, len(r.Body)
	}
	d := DeadLetter{ID: l.ID, Queue: o.queueLabel(arn), Sent: l.Sent, Receives: l.ReceiveCount, Bytes: l.Bytes, Body: l.Body}
	for _, a := range l.Attributes {
		d.Attributes = append(d.Attributes, Attribute(a))
		if a.Name == pipeline.DeadLetterAttribute {
			d.Note = readNote(a.Value)
		}
	}
	if j, err := push.DecodeJob(l.Body); err == nil {
		d.Job = &Job{Kind: j.Kind, Subscription: j.Subscription, MessageID: j.Message.ID, Attempt: j.Attempt}
	}
	return d
}

// recordOf is what the Redrive verb gets of a letter.
func (o *Operator) recordOf(ctx context.Context, queue string, l Letter) (pipeline.Record, error) {
	r := pipeline.Record{ID: l.ID, Body: l.Body, Group: l.Group, Attributes: l.Attributes, ReceiveCount: l.ReceiveCount, Queue: queue}
	if o.Open == nil {
		return r, nil
	}
	return o.Open(ctx, r)
}

// readNote answers nil for a value that is not the pipeline's: a queue may hold
// messages of other senders.
func readNote(value string) *pipeline.DeadLetterNote {
	var n pipeline.DeadLetterNote
	if json.Unmarshal([]byte(value), &n) != nil || n.V != 1 {
		return nil
	}
	return &n
}

// NoteAttribute is the name of the attribute that DeadLetter.Note is read from.
const NoteAttribute = pipeline.DeadLetterAttribute
