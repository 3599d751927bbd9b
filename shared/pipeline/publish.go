package pipeline

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"postino/shared/envelope"
	"postino/shared/push"
)

// Publish accepts messages: it answers only when every matching subscription
// has a durable job, or a durable fan-out page covers it.
type Publish struct {
	Directory Directory
	Queues    Queues
	Names     QueueNames
	// Signer may be nil: Deliver signs what comes to it unsigned.
	Signer Signer
	// Health, when the process also delivers, sends the first attempts of
	// sick subscriptions straight to the retry lane. May be nil.
	Health   *Health
	Observer Observer
	Now      func() time.Time
	// NewID makes a random UUID.
	NewID func() string
	// Admit, when not nil, holds publishers back while deliveries are behind. It
	// returns early only with ctx's error.
	Admit func(ctx context.Context) error
	// InlineLimit is how many subscriptions get their jobs before the answer;
	// larger topics go through the fan-out queue in pages.
	InlineLimit int
	// Trace keeps the trace contexts of publications; off, they are dropped.
	Trace bool

	lists subscriptionLists
}

// Publish answers one result per entry, in order. The error is for the call as
// a whole: the topic is missing, or the batch is too long.
func (p *Publish) Publish(ctx context.Context, r PublishRequest) ([]PublishResult, error) {
	if p.Admit != nil {
		if err := p.Admit(ctx); err != nil {
			return nil, err
		}
	}
	topic, err := p.Directory.Topic(ctx, r.TopicARN)
	if push.IsNotFound(err) {
		return nil, push.Errorf(push.CodeNotFound, "Topic does not exist")
	}
	if err != nil {
		return nil, err
	}
	if len(r.Entries) > 1 && totalSize(r.Entries) > push.MaxPublication { // SNS API reference, PublishBatch: 256 KiB in all
		return nil, push.Errorf(push.CodeBatchTooLong, "The length of all the messages put together is more than the limit.")
	}
	subs, err := p.lists.get(ctx, p.Directory, topic)
	if err != nil {
		return nil, err
	}
	now := p.Now()
	results := make([]PublishResult, len(r.Entries))
	out := make([]addressed, 0, len(r.Entries)*min(len(subs), p.InlineLimit))
	for i, e := range r.Entries {
		results[i] = PublishResult{EntryID: e.EntryID}
		if err := e.Validate(); err != nil {
			results[i].Err = err
			continue
		}
		results[i].MessageID = p.messageID(r, e)
		v, err := p.variants(topic, subs, e, results[i].MessageID, now)
		if err != nil {
			return nil, err
		}
		out = append(out, p.address(topic, subs, v, i, now)...)
	}
	for i, err := range p.store(ctx, topic, out, len(r.Entries)) {
		if err != nil && results[i].Err == nil {
			results[i] = PublishResult{EntryID: results[i].EntryID, Err: &push.Error{
				Code: push.CodeInternalError, Text: "The message could not be stored. Publish it again.", Cause: err}}
		}
	}
	p.observe(r.Entries, results, topic, len(subs), now)
	return results, nil
}

func (p *Publish) observe(entries []push.Publication, results []PublishResult, topic push.Topic, subs int, now time.Time) {
	if p.Observer == nil {
		return
	}
	for i, r := range results {
		e := Event{Kind: EventAccepted, Time: now, TopicARN: topic.ARN, MessageID: r.MessageID, Deliveries: subs, TraceID: p.trace(entries[i]).ID()}
		if r.Err != nil {
			if push.CodeOf(r.Err) != push.CodeInternalError {
				continue // refused: the caller's business
			}
			e.Kind, e.Err, e.Reason = EventFault, r.Err, "a message could not be stored and was not accepted"
		}
		p.Observer.Observe(e)
	}
}

func (p *Publish) trace(e push.Publication) push.Trace {
	if !p.Trace {
		return push.Trace{}
	}
	return e.Trace
}

func totalSize(entries []push.Publication) (n int) {
	for _, e := range entries {
		n += e.Size()
	}
	return n
}

// messageID is the same for a client's own retries of one call: derived from
// the call's invocation id, the entry and, unless it is an event, its content.
func (p *Publish) messageID(r PublishRequest, e push.Publication) string {
	if r.Invocation == "" {
		return p.NewID()
	}
	sum := sha256.New()
	parts := []string{r.TopicARN, r.Invocation, e.EntryID, e.Message, e.Structure}
	if r.Event {
		parts = parts[:3]
	}
	if e.Subject != nil {
		parts = append(parts, "subject", *e.Subject)
	}
	for _, a := range e.Attributes {
		parts = append(parts, a.Name, a.Type, a.Value)
	}
	for _, s := range parts {
		fmt.Fprintf(sum, "%d:%s", len(s), s)
	}
	var id uuid.UUID
	copy(id[:], sum.Sum(nil))
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // version 8, RFC 9562
	return id.String()
}

// variant is a message as subscribers of one protocol get it, encoded once.
type variant struct {
	id      string
	encoded push.EncodedMessage
}

// variants makes the message for each protocol among subs. It is signed once
// per distinct body, and only where some subscription is not raw.
func (p *Publish) variants(topic push.Topic, subs []push.Subscription, e push.Publication, id string, now time.Time) (map[push.Protocol]variant, error) {
	needed := map[push.Protocol]bool{} // protocol → signed
	for _, s := range subs {
		needed[s.Protocol] = p.Signer != nil && (needed[s.Protocol] || !s.Raw)
	}
	byBody := map[string]push.Signature{}
	out := make(map[push.Protocol]variant, len(needed))
	for protocol, signed := range needed {
		m := push.Message{ID: id, TopicARN: topic.ARN, Body: e.BodyFor(protocol), Attributes: e.Attributes, Timestamp: now.UTC().Truncate(time.Millisecond), Trace: p.trace(e)}
		if e.Subject != nil {
			m.Subject = *e.Subject
		}
		if signed {
			sig, made := byBody[m.Body]
			if !made {
				var err error
				if sig, err = p.Signer.Sign(push.Notification, m, topic.Signature()); err != nil {
					return nil, err
				}
				byBody[m.Body] = sig
			}
			m.Signature = sig
		}
		out[protocol] = variant{id, m.Encode()}
	}
	return out, nil
}

// address makes the queue messages of one accepted entry.
func (p *Publish) address(topic push.Topic, subs []push.Subscription, v map[push.Protocol]variant, entry int, now time.Time) []addressed {
	if len(subs) > p.InlineLimit {
		page := FanoutPage{Topic: topic.ARN, Messages: rawMessages(v)}
		return []addressed{{entry: entry, queue: p.Names.Fanout, out: page.outgoing()}}
	}
	out := make([]addressed, 0, len(subs))
	for _, s := range subs {
		queue := p.Names.Attempt
		if p.Health.Sick(s.ARN, now) {
			queue = p.Names.Retry
		}
		out = append(out, addressed{entry: entry, queue: queue, sub: s.ARN, protocol: s.Protocol, v: v, out: firstJob(s, v[s.Protocol])})
	}
	return out
}

func firstJob(s push.Subscription, v variant) Outgoing {
	j := push.Job{Kind: push.Notification, Subscription: s.ARN, Attempt: 1}
	return Outgoing{Body: j.EncodeWith(v.encoded), Group: s.ID()}
}

// Announce queues a confirmation of the given kind to s's endpoint.
func (p *Publish) Announce(ctx context.Context, kind push.Kind, s push.Subscription) error {
	topic, err := p.Directory.Topic(ctx, s.TopicARN)
	if push.IsNotFound(err) {
		topic, err = push.Topic{ARN: s.TopicARN}, nil
	}
	if err != nil {
		return err
	}
	subject := s.TopicARN
	if kind == push.UnsubscribeConfirmation {
		subject = s.ARN
	}
	m := push.Message{ID: p.NewID(), TopicARN: s.TopicARN, Body: envelope.ConfirmationText(kind, subject),
		Timestamp: p.Now().UTC().Truncate(time.Millisecond), Token: s.Token}
	if m.Signature, err = p.Signer.Sign(kind, m, topic.Signature()); err != nil {
		return err
	}
	j := push.Job{Kind: kind, Subscription: s.ARN, Attempt: 1, Message: m}
	return p.Queues.Send(ctx, p.Names.Attempt, []Outgoing{{Body: j.Encode(), Group: s.ID()}})[0]
}

// subscriptionLists keeps the confirmed subscriptions of topics under the
// version they were read at; every change bumps the version.
type subscriptionLists struct {
	mu     sync.Mutex
	topics map[string]subscriptionList
	// kept is how many subscriptions the lists hold in all.
	kept int
}

type subscriptionList struct {
	version int64
	// created tells a topic from an earlier one of the same name.
	created time.Time
	subs    []push.Subscription
}

// What is kept is dropped as a whole at either bound: 1000 topics, 200,000
// subscriptions. A topic that alone has more is kept by itself.
const (
	listsKept       = 1000
	subscribersKept = 200_000
)

func (l *subscriptionLists) get(ctx context.Context, d Directory, topic push.Topic) ([]push.Subscription, error) {
	l.mu.Lock()
	have, ok := l.topics[topic.ARN]
	l.mu.Unlock()
	if ok && have.version == topic.Version && have.created.Equal(topic.CreatedAt) {
		return have.subs, nil
	}
	var subs []push.Subscription
	for after := ""; ; {
		page, next, err := d.Subscriptions(ctx, topic.ARN, after, 500)
		if err != nil {
			return nil, err
		}
		subs = append(subs, slices.DeleteFunc(page, func(s push.Subscription) bool { return !s.Confirmed })...)
		if next == "" {
			break
		}
		after = next
	}
	l.keep(topic, subs)
	return subs, nil
}

func (l *subscriptionLists) keep(topic push.Topic, subs []push.Subscription) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept -= len(l.topics[topic.ARN].subs)
	delete(l.topics, topic.ARN)
	if l.topics == nil || len(l.topics) >= listsKept || l.kept+len(subs) > subscribersKept {
		l.topics, l.kept = map[string]subscriptionList{}, 0
	}
	l.topics[topic.ARN] = subscriptionList{topic.Version, topic.CreatedAt, subs}
	l.kept += len(subs)
}
