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
}

// Job is what there is to know of a job that failed on our side.
type Job struct {
	Kind         push.Kind `json:"kind"`
	Subscription string    `json:"subscription"`
	MessageID    string    `json:"messageId"`
	// Attempt is the one that is still to be made.
	Attempt int `json:"attempt"`
}

// ListQueues lists the queues that dead letters are in: every queue but those
// that carry deliveries on their way.
func (o *Operator) ListQueues(ctx context.Context) ([]QueueInfo, error) {
	all, err := o.Queues.List(ctx)
	if err != nil {
		return nil, err
	}
	dead := []QueueInfo{}
	for _, q := range all {
		if !o.working(q.Name) {
			dead = append(dead, q)
		}
	}
	slices.SortFunc(dead, func(a, b QueueInfo) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return dead, nil
}

// working reports whether a queue carries deliveries on their way.
func (o *Operator) working(queue string) bool {
	return slices.ContainsFunc([]string{o.Names.Attempt, o.Names.Retry, o.Names.Fanout},
		func(name string) bool { return queueName(name) == queue })
}

// ListDeadLetters gives a page of a queue, oldest first, without receiving its
// messages. limit is 1 to MaxList, 0 for DefaultList.
func (o *Operator) ListDeadLetters(ctx context.Context, queue, after string, limit int) (DeadLetterPage, error) {
	limit, err := listLimit(limit)
	if err != nil {
		return DeadLetterPage{}, err
	}
	name, err := o.deadLetterQueue(ctx, queue)
	if err != nil {
		return DeadLetterPage{}, err
	}
	letters, next, err := o.Queues.Peek(ctx, name, after, limit)
	if err != nil {
		return DeadLetterPage{}, err
	}
	page := DeadLetterPage{DeadLetters: []DeadLetter{}, Next: next}
	for _, l := range letters {
		d := deadLetter(name, l)
		d.Body, d.Attributes = "", nil
		page.DeadLetters = append(page.DeadLetters, d)
	}
	return page, nil
}

// ShowDeadLetter gives one message whole, without receiving it.
func (o *Operator) ShowDeadLetter(ctx context.Context, queue, id string) (DeadLetter, error) {
	name, err := o.deadLetterQueue(ctx, queue)
	if err != nil {
		return DeadLetter{}, err
	}
	for after := ""; ; {
		letters, next, err := o.Queues.Peek(ctx, name, after, MaxList)
		if err != nil {
			return DeadLetter{}, err
		}
		for _, l := range letters {
			if l.ID == id {
				return deadLetter(name, l), nil
			}
		}
		if next == "" {
			return DeadLetter{}, push.Errorf(push.CodeNotFound,
				"Queue %s has no message %q: `postino dlq list %[1]s` shows those it has", name, shorten(id))
		}
		after = next
	}
}

// deadLetterQueue is the plain name of a queue, which must exist and must not
// be one that carries deliveries on their way.
func (o *Operator) deadLetterQueue(ctx context.Context, queue string) (string, error) {
	name := queueName(queue)
	if o.working(name) {
		return "", push.Errorf(push.CodeInvalidParameter,
			"Queue %s carries deliveries on their way and is no dead-letter queue", name)
	}
	all, err := o.Queues.List(ctx)
	if err != nil {
		return "", err
	}
	if !slices.ContainsFunc(all, func(q QueueInfo) bool { return q.Name == name }) {
		return "", push.Errorf(push.CodeNotFound,
			"There is no queue %q: `postino dlq list` shows those there are", shorten(name))
	}
	return name, nil
}

func deadLetter(queue string, l Letter) DeadLetter {
	d := DeadLetter{
		ID: l.ID, Queue: queue, Sent: l.Sent, Receives: l.ReceiveCount, Bytes: len(l.Body), Body: l.Body,
	}
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

// record is what the Redrive verb gets of a letter.
func (o *Operator) record(queue string, l Letter) pipeline.Record {
	return pipeline.Record{
		ID: l.ID, Body: l.Body, Group: l.Group, Attributes: l.Attributes,
		ReceiveCount: l.ReceiveCount, Queue: o.queueARN(queue),
	}
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
