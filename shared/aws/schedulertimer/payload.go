package schedulertimer

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"postino/shared/pipeline"
	"postino/shared/push"
)

// A schedule sends its Input as the message's body and nothing else: no group
// and no attributes. A job needs neither: it is sent on with its group when it
// has come. What does not fit, or carries attributes, is kept as a payload, and
// the Input refers to it.

// maxInput is what is safely below Scheduler's 256 KB (EventBridge Scheduler
// quotas, payload size).
const maxInput = 256_000

// payloadOutlives is how long a payload is kept behind its due time: as long as
// a queue may keep the reference to it.
const payloadOutlives = 14 * 24 * time.Hour

// reference is the body of a message that stands for a payload.
type reference struct {
	Postino string `json:"postino"`
	V       int    `json:"v"`
	Name    string `json:"name"`
}

const referenceMark = "payload"

// parked is a payload: a whole queue message.
type parked struct {
	V          int              `json:"v"`
	Body       string           `json:"body"`
	Group      string           `json:"group,omitempty"`
	Attributes []push.Attribute `json:"attributes,omitempty"`
}

const payloadVersion = 1

// input is what the schedule carries.
func (t *Timer) input(ctx context.Context, name string, at time.Time, e pipeline.Outgoing) (string, error) {
	// Scheduler replaces keywords like <aws.scheduler.execution-id> in an Input.
	// Jobs hold none, their angle brackets are escaped.
	if len(e.Body) <= maxInput && len(e.Attributes) == 0 && !strings.Contains(e.Body, "<aws.scheduler.") {
		return e.Body, nil
	}
	p, err := json.Marshal(parked{payloadVersion, e.Body, e.Group, e.Attributes})
	if err != nil {
		return "", err
	}
	if err := t.Payloads.PutPayload(ctx, name, string(p), at.Add(payloadOutlives)); err != nil {
		return "", err
	}
	r, err := json.Marshal(reference{referenceMark, payloadVersion, name})
	return string(r), err
}

// referred reads a reference; false when body is something else.
func referred(body string) (name string, ok bool) {
	if len(body) > 200 || !strings.HasPrefix(body, `{"postino":"payload"`) {
		return "", false
	}
	var r reference
	if json.Unmarshal([]byte(body), &r) != nil || r.V < 1 || r.V > payloadVersion || r.Name == "" {
		return "", false
	}
	return r.Name, true
}

// Opener puts payloads in the place of references before Next sees a batch.
type Opener struct {
	Payloads Payloads
	// Trusted are the queues, by name or ARN, that hold jobs and nothing a
	// publisher wrote: the two lanes and FailedJobsQueue. Bodies of other queues
	// are never taken for references.
	Trusted []string
	// Next is the pipeline's Deliver or Redrive.
	Next interface {
		Handle(ctx context.Context, records []pipeline.Record) (failed []string)
	}
	// Observer may be nil.
	Observer pipeline.Observer
	Now      func() time.Time
}

// Handle returns the ids of the records that must come back: those whose payload
// cannot be read now, and Next's. A reference whose payload is gone stays as it
// is, and Next parks it as what it cannot read.
func (o *Opener) Handle(ctx context.Context, records []pipeline.Record) (failed []string) {
	open := make([]pipeline.Record, 0, len(records))
	for _, r := range records {
		opened, err := o.Open(ctx, r)
		if err != nil {
			failed = append(failed, r.ID)
			if o.Observer != nil {
				o.Observer.Observe(pipeline.Event{Kind: pipeline.EventFault, Time: o.Now(), Lane: r.Queue, Err: err,
					Reason: "the payload of a large job could not be read; the job comes back"})
			}
			continue
		}
		open = append(open, opened)
	}
	if len(open) == 0 {
		return failed
	}
	return append(failed, o.Next.Handle(ctx, open)...)
}

// Open gives the message that r refers to, and r itself where it refers to none or
// its payload is gone.
func (o *Opener) Open(ctx context.Context, r pipeline.Record) (pipeline.Record, error) {
	name, ok := referred(r.Body)
	if !ok || !o.trusts(r.Queue) {
		return r, nil
	}
	body, ok, err := o.Payloads.Payload(ctx, name)
	if err != nil || !ok {
		return r, err
	}
	var p parked
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		return r, fmt.Errorf("payload %s: %w", name, err)
	}
	if p.V < 1 || p.V > payloadVersion {
		return r, fmt.Errorf("payload %s has schema version %d, this build reads 1 to %d", name, p.V, payloadVersion)
	}
	r.Body, r.Group = p.Body, p.Group
	r.Attributes = append(r.Attributes, p.Attributes...)
	return r, nil
}

func (o *Opener) trusts(queue string) bool {
	for _, t := range o.Trusted {
		if push.QueueName(t) == push.QueueName(queue) {
			return true
		}
	}
	return false
}
