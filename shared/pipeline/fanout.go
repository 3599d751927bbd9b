package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"postino/shared/push"
)

// FanoutPage is a queue message that covers the subscriptions of a topic that
// lie behind After: each still needs its job.
type FanoutPage struct {
	V     int    `json:"v"`
	Topic string `json:"topic"`
	// After is the ARN of the last subscription done, "" at the start.
	After string `json:"after,omitempty"`
	// Only, when set, names the subscriptions instead.
	Only []string `json:"only,omitempty"`
	// Messages is the encoded message for each protocol.
	Messages map[push.Protocol]json.RawMessage `json:"msg"`
}

func rawMessages(v map[push.Protocol]variant) map[push.Protocol]json.RawMessage {
	out := make(map[push.Protocol]json.RawMessage, len(v))
	for protocol, x := range v {
		out[protocol] = json.RawMessage(x.encoded)
	}
	return out
}

func (f FanoutPage) outgoing() Outgoing {
	f.V = push.JobVersion
	b, err := json.Marshal(f)
	if err != nil { // strings and valid JSON only
		panic(err)
	}
	return Outgoing{Body: string(b)}
}

func decodePage(body string) (FanoutPage, error) {
	var f FanoutPage
	if err := json.Unmarshal([]byte(body), &f); err != nil {
		return f, fmt.Errorf("not a fan-out page: %w", err)
	}
	if f.V < 1 || f.V > push.JobVersion {
		return f, fmt.Errorf("fan-out page has schema version %d, this build reads 1 to %d", f.V, push.JobVersion)
	}
	if f.Topic == "" || len(f.Messages) == 0 {
		return f, fmt.Errorf("fan-out page names no topic or no message")
	}
	return f, nil
}

// Fanout turns pages into first jobs.
type Fanout struct {
	Directory Directory
	Queues    Queues
	Names     QueueNames
	Observer  Observer
	Now       func() time.Time
}

// fanoutPage is how many subscriptions one step covers; a page in hand is
// worked off in such steps until the deadline is near.
const fanoutPage = 100

// fanoutSlack is the time a step may take.
const fanoutSlack = 10 * time.Second

// fanoutPause is how long the rest of a page waits after a failure on our side.
const fanoutPause = 5 * time.Second

// Handle works off pages and returns the ids of the records that must come back.
func (f *Fanout) Handle(ctx context.Context, records []Record) (failed []string) {
	for _, r := range records {
		if !f.one(ctx, r) {
			failed = append(failed, r.ID)
		}
	}
	return failed
}

func (f *Fanout) one(ctx context.Context, r Record) bool {
	page, err := decodePage(r.Body)
	if err != nil {
		return park(ctx, f.Queues, f.Names.Failed, r, err, f.observe)
	}
	for start := page.After; ; {
		subs, next, err := f.page(ctx, page)
		if push.IsNotFound(err) {
			return true // the topic was deleted: a user's act
		}
		if err == nil {
			err = f.store(ctx, f.jobs(page, subs))
		}
		if err != nil && page.After != start {
			// What is done need not be done again.
			rest := page.outgoing()
			rest.Delay = fanoutPause
			if f.Queues.Send(ctx, f.Names.Fanout, []Outgoing{rest})[0] == nil {
				f.observe(Event{Kind: EventFault, Err: err, Reason: "the rest of a fan-out page is tried again"})
				return true
			}
		}
		if err != nil {
			// The page comes back whole: some jobs repeat, none is lost.
			return f.fault(err)
		}
		if next == "" {
			return true
		}
		page.After = next
		if deadline, ok := ctx.Deadline(); ok && deadline.Sub(f.Now()) < fanoutSlack {
			if err := f.Queues.Send(ctx, f.Names.Fanout, []Outgoing{page.outgoing()})[0]; err != nil {
				return f.fault(err)
			}
			return true
		}
	}
}

// store sends jobs, and once more what a queue did not take.
func (f *Fanout) store(ctx context.Context, jobs []addressed) error {
	failed := send(ctx, f.Queues, jobs)
	if len(failed) > 0 {
		failed = send(ctx, f.Queues, justAddressed(failed))
	}
	if len(failed) > 0 {
		return failed[0].err
	}
	return nil
}

func (f *Fanout) page(ctx context.Context, p FanoutPage) ([]push.Subscription, string, error) {
	if p.Only == nil {
		return f.Directory.Subscriptions(ctx, p.Topic, p.After, fanoutPage)
	}
	var subs []push.Subscription
	for _, arn := range p.Only {
		s, err := f.Directory.Subscription(ctx, arn, true)
		if push.IsNotFound(err) || err == nil && s.Deleted() {
			continue
		}
		if err != nil {
			return nil, "", err
		}
		subs = append(subs, s)
	}
	return subs, "", nil
}

func (f *Fanout) jobs(p FanoutPage, subs []push.Subscription) []addressed {
	out := make([]addressed, 0, len(subs))
	for _, s := range subs {
		m, ok := p.Messages[s.Protocol]
		if !s.Confirmed || !ok {
			continue
		}
		out = append(out, addressed{queue: f.Names.Attempt, out: firstJob(s, variant{encoded: push.EncodedMessage(m)})})
	}
	return out
}

func (f *Fanout) fault(err error) bool {
	f.observe(Event{Kind: EventFault, Err: err, Reason: "a fan-out page comes back"})
	return false
}

func (f *Fanout) observe(e Event) {
	if f.Observer != nil {
		e.Time = f.Now()
		e.Lane = f.Names.Fanout
		f.Observer.Observe(e)
	}
}

// park puts a queue message that no build can read into FailedJobsQueue with
// the reason, and says whether it may be acknowledged.
func park(ctx context.Context, q Queues, failedQueue string, r Record, why error, observe func(Event)) bool {
	out := Outgoing{Body: r.Body, Group: r.Group, Attributes: []push.Attribute{{Name: "Reason", Type: "String", Value: why.Error()}}}
	if err := q.Send(ctx, failedQueue, []Outgoing{out})[0]; err != nil {
		observe(Event{Kind: EventFault, Err: err, Reason: "a message that cannot be read could not be parked and comes back"})
		return false
	}
	observe(Event{Kind: EventPoison, Target: failedQueue, Reason: why.Error()})
	return true
}
