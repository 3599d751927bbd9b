package pipeline

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"postino/shared/envelope"
	"postino/shared/push"
)

// fakes are all ports in memory, for tests of one verb at a time. Its clock
// stands still unless a test moves it.
type fakes struct {
	mu     sync.Mutex
	now    time.Time
	topics map[string]push.Topic
	subs   map[string]push.Subscription
	// stale, when it has the subscription, is what a read that is not strong gives.
	stale    map[string]push.Subscription
	reads    int
	records  map[push.DeliveryKey]push.Delivery
	slots    map[string]time.Time
	reserved int
	sent     []sentMessage
	timers   map[string]sentMessage
	batches  [][]Outgoing
	pushed   []envelope.Request
	signed   []push.Message
	slept    []time.Duration
	events   []Event
	ids      int

	// What goes wrong, nil for nothing.
	directory error
	store     error
	slotsDown error
	signer    error
	refuse    func(queue string, e Outgoing) error
	answer    func(ctx context.Context) push.Result
}

type sentMessage struct {
	queue string
	at    time.Time
	Outgoing
}

const (
	topicA = "arn:aws:sns:eu-west-1:123456789012:a"
	ownDLQ = "arn:aws:sqs:eu-west-1:123456789012:own-dlq"
)

func subARN(topic string, i int) string {
	return fmt.Sprintf("%s:00000000-0000-4000-8000-%012d", topic, i)
}

// newFakes has topic A with n confirmed subscriptions and a quick retry policy.
func newFakes(n int) *fakes {
	f := &fakes{now: crashStart, topics: map[string]push.Topic{topicA: {ARN: topicA, Version: 1, CreatedAt: crashStart}},
		subs: map[string]push.Subscription{}, stale: map[string]push.Subscription{}, records: map[push.DeliveryKey]push.Delivery{},
		slots: map[string]time.Time{}, timers: map[string]sentMessage{}}
	for i := range n {
		arn := subARN(topicA, i)
		f.subs[arn] = push.Subscription{ARN: arn, TopicARN: topicA, Protocol: push.HTTPS, Endpoint: fmt.Sprintf("https://u:p@h%d.example.com/x?q=1", i), Confirmed: true}
	}
	return f
}

func (f *fakes) change(i int, with func(*push.Subscription)) {
	s := f.subs[subARN(topicA, i)]
	with(&s)
	f.subs[s.ARN] = s
}

func (f *fakes) publish() *Publish {
	return &Publish{Directory: f, Queues: f, Names: crashNames, Signer: f, Observer: f, Now: f.clock, NewID: f.newID, InlineLimit: 100}
}

func (f *fakes) fanout() *Fanout {
	return &Fanout{Directory: f, Queues: f, Names: crashNames, Observer: f, Now: f.clock}
}

func (f *fakes) redrive() *Redrive {
	return &Redrive{Directory: f, Queues: f, Names: crashNames, Observer: f, Now: f.clock, MaxRedrives: 1}
}

func (f *fakes) deliver() *Deliver {
	return &Deliver{Directory: f, Deliveries: f, Slots: f, Queues: f, Timer: f, Sender: fakeSender{f}, Signer: f, Observer: f, Health: &Health{},
		Names: crashNames, Links: envelope.Links{PublicURL: "https://push.example.com"}, Now: f.clock,
		Sleep: func(_ context.Context, d time.Duration) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.slept = append(f.slept, d)
			f.now = f.now.Add(d)
			return nil
		},
		Random: func() float64 { return 0 }, NewID: f.newID, RequestTimeout: 15 * time.Second}
}

func (f *fakes) clock() time.Time { f.mu.Lock(); defer f.mu.Unlock(); return f.now }

func (f *fakes) pass(d time.Duration) { f.mu.Lock(); defer f.mu.Unlock(); f.now = f.now.Add(d) }

func (f *fakes) newID() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ids++
	return fmt.Sprintf("00000000-0000-4000-9000-%012d", f.ids)
}

// job is the first job of a plain message to subscription i.
func (f *fakes) job(i int) push.Job {
	return push.Job{Kind: push.Notification, Subscription: subARN(topicA, i), Attempt: 1,
		Message: push.Message{ID: "m", TopicARN: topicA, Body: "hello", Timestamp: crashStart}}
}

func record(queue string, j push.Job) Record {
	return Record{ID: "r-" + j.Subscription, Body: j.Encode(), Queue: queue, ReceiveCount: 1}
}

// in gives what was sent to a queue.
func (f *fakes) in(queue string) (out []sentMessage) {
	for _, m := range f.sent {
		if m.queue == queue {
			out = append(out, m)
		}
	}
	return out
}

// onlyJob is the one message in a queue, which must be a job.
func (f *fakes) onlyJob(t *testing.T, queue string) (push.Job, sentMessage) {
	t.Helper()
	all := f.in(queue)
	if len(all) != 1 {
		t.Fatalf("%d messages in %s, want 1", len(all), queue)
	}
	j, err := push.DecodeJob(all[0].Body)
	if err != nil {
		t.Fatal(err)
	}
	return j, all[0]
}

func (f *fakes) kinds() string {
	var out []string
	for _, e := range f.events {
		out = append(out, string(e.Kind))
	}
	return strings.Join(out, " ")
}

func (f *fakes) Observe(e Event) { f.mu.Lock(); defer f.mu.Unlock(); f.events = append(f.events, e) }

func (f *fakes) Topic(_ context.Context, arn string) (push.Topic, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t, ok := f.topics[arn]; ok && f.directory == nil {
		return t, nil
	}
	return push.Topic{}, f.missing()
}

func (f *fakes) missing() error {
	if f.directory != nil {
		return f.directory
	}
	return push.Errorf(push.CodeNotFound, "missing")
}

func (f *fakes) Subscriptions(_ context.Context, topic, after string, limit int) (page []push.Subscription, next string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	if _, ok := f.topics[topic]; !ok || f.directory != nil {
		return nil, "", f.missing()
	}
	for _, arn := range slices.Sorted(maps.Keys(f.subs)) {
		if s := f.subs[arn]; arn > after && s.TopicARN == topic && !s.Deleted() {
			if len(page) == limit {
				return page, page[limit-1].ARN, nil
			}
			page = append(page, s)
		}
	}
	return page, "", nil
}

func (f *fakes) Subscription(_ context.Context, arn string, strong bool) (push.Subscription, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	if f.directory != nil {
		return push.Subscription{}, f.directory
	}
	if s, ok := f.stale[arn]; ok && !strong {
		if s.ARN == "" {
			return s, f.missing()
		}
		return s, nil
	}
	if s, ok := f.subs[arn]; ok {
		return s, nil
	}
	return push.Subscription{}, f.missing()
}

func (f *fakes) Claim(_ context.Context, d push.Delivery, now time.Time) (push.Delivery, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	old, found := f.records[d.Key]
	switch {
	case f.store != nil:
		return push.Delivery{}, false, f.store
	case !found, old.Attempt == d.Attempt-1 && old.State == push.Finished, old.Attempt == d.Attempt && old.State == push.Claimed && old.LeaseEnd.Before(now):
		d.Attempts = slices.Clone(old.Attempts)
		f.records[d.Key] = d
		return d, true, nil
	}
	return old, false, nil
}

func (f *fakes) Create(_ context.Context, d push.Delivery) (push.Delivery, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.store != nil {
		return push.Delivery{}, false, f.store
	}
	if old, found := f.records[d.Key]; found {
		return old, false, nil
	}
	f.records[d.Key] = d
	return d, true, nil
}

func (f *fakes) Settle(_ context.Context, d push.Delivery) (push.Delivery, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.store != nil {
		return push.Delivery{}, false, f.store
	}
	if old := f.records[d.Key]; old.Attempt != d.Attempt || old.State != push.Claimed || old.Owner != d.Owner {
		return old, false, nil
	}
	f.records[d.Key] = d
	return d, true, nil
}

func (f *fakes) End(_ context.Context, key push.DeliveryKey, attempt int, state push.State, target, reason string, now time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.store != nil {
		return f.store
	}
	if d, ok := f.records[key]; ok && d.Attempt == attempt {
		d.State, d.Target, d.Reason = state, target, reason
		f.records[key] = d
	}
	return nil
}

func (f *fakes) Reserve(_ context.Context, arn string, rate float64, n int, now time.Time) (time.Time, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.slotsDown != nil {
		return time.Time{}, f.slotsDown
	}
	f.reserved++
	first := f.slots[arn]
	if first.Before(now) {
		first = now
	}
	f.slots[arn] = first.Add(time.Duration(float64(n) / rate * float64(time.Second)))
	return first, nil
}

func (f *fakes) Send(_ context.Context, queue string, entries []Outgoing) []error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.batches = append(f.batches, entries)
	errs := make([]error, len(entries))
	for i, e := range entries {
		if f.refuse != nil {
			errs[i] = f.refuse(queue, e)
		}
		if errs[i] == nil {
			f.sent = append(f.sent, sentMessage{queue, f.now.Add(e.Delay), e})
		}
	}
	return errs
}

func (f *fakes) At(_ context.Context, name string, at time.Time, queue string, e Outgoing) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.timers[name]; !ok {
		f.timers[name] = sentMessage{queue, at, e}
	}
	return nil
}

func (f *fakes) Sign(_ push.Kind, m push.Message, version string) (push.Signature, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.signed = append(f.signed, m)
	return push.Signature{Version: version, Value: "c2ln", CertURL: "https://push.example.com/cert.pem"}, f.signer
}

type fakeSender struct{ *fakes }

func (s fakeSender) Send(ctx context.Context, _ string, r envelope.Request) push.Result {
	s.mu.Lock()
	s.pushed = append(s.pushed, r)
	answer := s.answer
	s.mu.Unlock()
	if answer == nil {
		return push.Result{Class: push.Success, Status: 200, Connected: true}
	}
	return answer(ctx)
}

func always(r push.Result) func(context.Context) push.Result {
	return func(context.Context) push.Result { return r }
}

var (
	unavailable = push.Result{Class: push.Retryable, Status: 503, Connected: true}
	gone        = push.Result{Class: push.Permanent, Status: 410, Connected: true}
	hung        = push.Result{Class: push.Retryable, Fault: "timeout", Connected: true}
)
