package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"postino/shared/pipeline"
	"postino/shared/push"
)

const (
	orders = "arn:aws:sns:eu-west-1:111122223333:orders"
	subA   = orders + ":aaaa1111-0000-4000-8000-000000000001"
	subB   = orders + ":aaaa2222-0000-4000-8000-000000000002"
	subC   = orders + ":cccc3333-0000-4000-8000-000000000003"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// fakeDeliveries gives pages of at most two records, whatever is asked for.
type fakeDeliveries struct {
	records []push.Delivery
	err     error
}

func (f *fakeDeliveries) ListDeliveries(_ context.Context, q Filter) (page []push.Delivery, next string, err error) {
	if f.err != nil {
		return nil, "", f.err
	}
	start := 0
	if q.After != "" {
		if _, err := fmt.Sscan(q.After, &start); err != nil {
			return nil, "", err
		}
	}
	for i := start; i < len(f.records); i++ {
		if len(page) == min(2, q.Limit) {
			return page, fmt.Sprint(i), nil
		}
		if matches(q, f.records[i]) {
			page = append(page, f.records[i])
		}
	}
	return page, "", nil
}

func matches(q Filter, d push.Delivery) bool {
	return (q.Subscription == "" || d.Key.Subscription == q.Subscription) &&
		(q.TopicARN == "" || push.TopicOf(d.Key.Subscription) == q.TopicARN) &&
		(q.MessageID == "" || d.Key.MessageID == q.MessageID) &&
		(len(q.States) == 0 || slices.Contains(q.States, d.State))
}

// fakeLog is a delivery log in memory, newest first.
type fakeLog []push.Delivery

func (f fakeLog) Logged(_ context.Context, q Filter) (out []push.Delivery, back time.Time, err error) {
	for _, d := range f {
		if matches(q, d) && len(out) < q.Limit {
			out = append(out, d)
		}
	}
	return out, back, nil
}

// fakeQueues keeps queues in memory, by ARN.
type fakeQueues struct {
	names   []string
	letters map[string][]*fakeLetter
	// denied are queues that may not be looked into.
	denied []string
	// left is what every sweep does not come to.
	left int
	// deleteFails makes Take fail once it deletes.
	deleteFails error
}

type fakeLetter struct {
	Letter
	hidden bool
}

func queueARN(name string) string { return "arn:aws:sqs:eu-west-1:111122223333:" + name }

func (f *fakeQueues) put(queue string, l Letter) {
	queue = queueARN(queue)
	if !slices.Contains(f.names, queue) {
		f.names = append(f.names, queue)
	}
	if f.letters == nil {
		f.letters = map[string][]*fakeLetter{}
	}
	l.Bytes = len(l.Body)
	f.letters[queue] = append(f.letters[queue], &fakeLetter{Letter: l})
}

func (f *fakeQueues) ids(queue string) (ids []string) {
	for _, l := range f.letters[queueARN(queue)] {
		ids = append(ids, l.ID)
	}
	return ids
}

func (f *fakeQueues) List(context.Context) ([]string, error) { return f.names, nil }

func (f *fakeQueues) Info(_ context.Context, queue string) (q QueueInfo, err error) {
	switch {
	case slices.Contains(f.denied, queue):
		return q, &pipeline.RefusedError{Reason: "sqs:GetQueueAttributes is missing"}
	case !slices.Contains(f.names, queue):
		return q, push.Errorf(push.CodeNotFound, "There is no such queue")
	}
	for _, l := range f.letters[queue] {
		if q.OldestSent.IsZero() {
			q.OldestSent = l.Sent
		}
		if l.hidden {
			q.InFlight++
		} else {
			q.Visible++
		}
	}
	return q, nil
}

// wanted goes on behind After even when that message has been deleted, as real
// queues do: ids of the fake sort by age.
func (f *fakeQueues) wanted(queue string, s Sweep) (page []*fakeLetter, swept Swept) {
	for _, l := range f.letters[queue] {
		switch {
		case len(s.IDs) > 0 && !slices.Contains(s.IDs, l.ID), l.ID <= s.After, !s.Before.IsZero() && l.Sent.After(s.Before):
		case s.Max > 0 && len(page) == s.Max:
			return page, Swept{Next: page[s.Max-1].ID, Left: f.left}
		default:
			page = append(page, l)
		}
	}
	return page, Swept{Left: f.left}
}

func (f *fakeQueues) Look(_ context.Context, queue string, s Sweep, see func(Letter)) (Swept, error) {
	page, swept := f.wanted(queue, s)
	for _, l := range page {
		see(l.Letter)
	}
	return swept, nil
}

// Take hands over batches of two.
func (f *fakeQueues) Take(_ context.Context, queue string, s Sweep, take func([]Letter) ([]bool, error)) (Swept, error) {
	page, swept := f.wanted(queue, s)
	for part := range slices.Chunk(slices.DeleteFunc(page, func(l *fakeLetter) bool { return l.hidden }), 2) {
		var batch []Letter
		for _, l := range part {
			l.ReceiveCount++
			batch = append(batch, l.Letter)
		}
		done, err := take(batch)
		if err == nil {
			err = f.deleteFails
		}
		if err != nil {
			return Swept{}, err
		}
		f.letters[queue] = slices.DeleteFunc(f.letters[queue], func(l *fakeLetter) bool {
			i := slices.Index(part, l)
			return i >= 0 && done[i]
		})
	}
	return swept, nil
}

func (f *fakeQueues) find(queue, id string) *fakeLetter {
	for _, l := range f.letters[queueARN(queue)] {
		if l.ID == id {
			return l
		}
	}
	return nil
}

// fakeRedriver refuses the ids it has a reason for, unless forced.
type fakeRedriver struct {
	refuse map[string]error
	// then runs after each letter that was sent.
	then func(pipeline.Record)

	mu   sync.Mutex
	sent []pipeline.Record
}

func (f *fakeRedriver) Send(_ context.Context, r pipeline.Record, force bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Body == "panics" {
		panic("a strange letter")
	}
	if err := f.refuse[r.ID]; err != nil && !force {
		return err
	}
	f.sent = append(f.sent, r)
	if f.then != nil {
		f.then(r)
	}
	return nil
}

// fakeDirectory keeps subscriptions in a slice ordered by ARN.
type fakeDirectory struct{ subs []push.Subscription }

func (f *fakeDirectory) Subscription(_ context.Context, arn string, _ bool) (push.Subscription, error) {
	for _, s := range f.subs {
		if s.ARN == arn {
			return s, nil
		}
	}
	return push.Subscription{}, push.Errorf(push.CodeNotFound, "Subscription does not exist")
}

func (f *fakeDirectory) Topic(_ context.Context, arn string) (push.Topic, error) {
	if arn != orders {
		return push.Topic{}, push.Errorf(push.CodeNotFound, "Topic does not exist")
	}
	return push.Topic{ARN: arn}, nil
}

func (f *fakeDirectory) AllSubscriptions(_ context.Context, after string, limit int) (page []push.Subscription, next string, err error) {
	for _, s := range f.subs {
		switch {
		case s.Deleted() || s.ARN <= after:
		case len(page) == min(limit, 1): // pages of one, so that every lookup pages
			return page, page[0].ARN, nil
		default:
			page = append(page, s)
		}
	}
	return page, "", nil
}

func (f *fakeDirectory) UpdateSubscription(ctx context.Context, arn string, change func(*push.Subscription) error) (push.Subscription, error) {
	for i := range f.subs {
		if f.subs[i].ARN == arn {
			s := f.subs[i]
			if err := change(&s); err != nil {
				return push.Subscription{}, err
			}
			f.subs[i] = s
			return s, nil
		}
	}
	return f.Subscription(ctx, arn, true)
}

// fakeJobs records what is sent.
type fakeJobs struct {
	queue string
	sent  []pipeline.Outgoing
	err   error
}

func (f *fakeJobs) Send(_ context.Context, queue string, entries []pipeline.Outgoing) []error {
	f.queue = queue
	f.sent = append(f.sent, entries...)
	return slices.Repeat([]error{f.err}, len(entries))
}

// fakePublisher knows one topic, and answers with numbers for ids.
type fakePublisher struct {
	got   []pipeline.PublishRequest
	fails error
	mute  bool
}

func (f *fakePublisher) Publish(_ context.Context, r pipeline.PublishRequest) ([]pipeline.PublishResult, error) {
	f.got = append(f.got, r)
	switch {
	case r.TopicARN != orders:
		return nil, push.Errorf(push.CodeNotFound, "Topic does not exist")
	case f.mute:
		return nil, nil
	case f.fails != nil:
		return []pipeline.PublishResult{{Err: f.fails}}, nil //nolint:nilerr // the entry failed, not the call
	}
	return []pipeline.PublishResult{{MessageID: fmt.Sprint("published-", len(f.got))}}, nil
}

// world is an Operator over fakes.
type world struct {
	*Operator
	deliveries *fakeDeliveries
	queues     *fakeQueues
	redriver   *fakeRedriver
	directory  *fakeDirectory
	jobs       *fakeJobs
	publisher  *fakePublisher
}

func newWorld() world {
	w := world{
		deliveries: &fakeDeliveries{}, queues: &fakeQueues{}, redriver: &fakeRedriver{}, jobs: &fakeJobs{}, publisher: &fakePublisher{},
		directory: &fakeDirectory{subs: []push.Subscription{
			{ARN: subA, TopicARN: orders, Protocol: push.HTTPS, Endpoint: "https://user:secret@a.example/hook?key=secret", Confirmed: true},
			{ARN: subB, TopicARN: orders, Protocol: push.HTTPS, Endpoint: "https://b.example/hook"},
			{ARN: subC, TopicARN: orders, Protocol: push.HTTPS, Endpoint: "https://c.example/hook", Confirmed: true, DeletedAt: noon},
		}},
	}
	w.Operator = &Operator{
		Deliveries: w.deliveries, Queues: w.queues, Directory: w.directory, Redriver: w.redriver, Jobs: w.jobs, Publisher: w.publisher,
		Names:  pipeline.QueueNames{Attempt: "attempt", Retry: "retry", Fanout: "fanout", DeadLetter: "dead", Failed: "failed"},
		Region: "eu-west-1", Account: "111122223333",
		Now: func() time.Time { return noon }, Random: strings.NewReader(strings.Repeat("0123456789abcdef", 4)),
	}
	return w
}

// refusal checks that err is a *push.Error with the code and a text that says
// what is wanted.
func refusal(t *testing.T, err error, code push.Code, says string) {
	t.Helper()
	e, ok := errors.AsType[*push.Error](err)
	if !ok || e.Code != code || !strings.Contains(e.Text, says) {
		t.Errorf("got error %v, want %s that says %q", err, code, says)
	}
}
