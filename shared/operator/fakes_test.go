package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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

func (f fakeLog) Logged(_ context.Context, q Filter) (out []push.Delivery, err error) {
	for _, d := range f {
		if matches(q, d) && len(out) < q.Limit {
			out = append(out, d)
		}
	}
	return out, nil
}

// fakeQueues keeps queues in memory. Taken letters are hidden until their
// visibility is changed to 0.
type fakeQueues struct {
	names   []string
	letters map[string][]*fakeLetter
	// deleteFails makes Delete fail.
	deleteFails error
}

type fakeLetter struct {
	Letter
	hidden bool
}

func (f *fakeQueues) put(queue string, l Letter) {
	if !slices.Contains(f.names, queue) {
		f.names = append(f.names, queue)
	}
	if f.letters == nil {
		f.letters = map[string][]*fakeLetter{}
	}
	f.letters[queue] = append(f.letters[queue], &fakeLetter{Letter: l})
}

func (f *fakeQueues) ids(queue string) (ids []string) {
	for _, l := range f.letters[queue] {
		ids = append(ids, l.ID)
	}
	return ids
}

func (f *fakeQueues) List(context.Context) (out []QueueInfo, err error) {
	for _, n := range f.names {
		q := QueueInfo{Name: n}
		for _, l := range f.letters[n] {
			if q.OldestSent.IsZero() {
				q.OldestSent = l.Sent
			}
			if l.hidden {
				q.InFlight++
			} else {
				q.Visible++
			}
		}
		out = append(out, q)
	}
	return out, nil
}

// Peek goes on behind after even when that message has been deleted, as real
// queues do: ids of the fake sort by age.
func (f *fakeQueues) Peek(_ context.Context, queue, after string, limit int) (page []Letter, next string, err error) {
	for _, l := range f.letters[queue] {
		if l.ID <= after {
			continue
		}
		if len(page) == limit {
			return page, page[len(page)-1].ID, nil
		}
		page = append(page, l.Letter)
	}
	return page, "", nil
}

func (f *fakeQueues) find(queue, id string) *fakeLetter {
	for _, l := range f.letters[queue] {
		if l.ID == id || "r-"+l.ID == id {
			return l
		}
	}
	return nil
}

func (f *fakeQueues) Take(_ context.Context, queue, id string, visibility time.Duration) (Letter, bool, error) {
	l := f.find(queue, id)
	if l == nil || l.hidden || visibility <= 0 {
		return Letter{}, false, nil
	}
	l.hidden = true
	l.ReceiveCount++
	l.Receipt = "r-" + id
	return l.Letter, true, nil
}

func (f *fakeQueues) Delete(_ context.Context, queue string, receipts []string) error {
	if f.deleteFails != nil {
		return f.deleteFails
	}
	f.letters[queue] = slices.DeleteFunc(f.letters[queue], func(l *fakeLetter) bool {
		return l.hidden && slices.Contains(receipts, l.Receipt)
	})
	return nil
}

func (f *fakeQueues) ChangeVisibility(_ context.Context, queue, receipt string, d time.Duration) error {
	if l := f.find(queue, receipt); l != nil && d == 0 {
		l.hidden = false
	}
	return nil
}

// fakeRedriver refuses the ids it has a reason for, unless forced.
type fakeRedriver struct {
	refuse map[string]error
	sent   []pipeline.Record
	// then runs after each letter that was sent.
	then func(pipeline.Record)
}

func (f *fakeRedriver) Send(_ context.Context, r pipeline.Record, force bool) error {
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
