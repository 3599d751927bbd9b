package snsapi

import (
	"context"
	"errors"
	"math/rand"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"postino/shared/pipeline"
	"postino/shared/push"
)

var start = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)

// fakeDirectory keeps everything in maps and does what the port's comments say.
type fakeDirectory struct {
	mu     sync.Mutex
	topics map[string]push.Topic
	subs   map[string]push.Subscription
	// fail, when set, is answered by every method.
	fail error
}

func missing() error { return push.Errorf(push.CodeNotFound, "no such item in the fake") }

// under gives the live subscriptions below prefix, by ARN.
func (d *fakeDirectory) under(prefix string) (out []push.Subscription) {
	for arn, s := range d.subs {
		if strings.HasPrefix(arn, prefix) && !s.Deleted() {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b push.Subscription) int { return strings.Compare(a.ARN, b.ARN) })
	return out
}

func (d *fakeDirectory) counted(t push.Topic) push.Topic {
	t.Confirmed, t.Pending = 0, 0
	for _, s := range d.under(t.ARN + ":") {
		if s.Confirmed {
			t.Confirmed++
		} else {
			t.Pending++
		}
	}
	return t
}

func (d *fakeDirectory) Topic(_ context.Context, arn string) (push.Topic, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t, ok := d.topics[arn]
	if d.fail != nil || !ok {
		return push.Topic{}, cmpErr(d.fail, missing())
	}
	return d.counted(t), nil
}

func cmpErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func (d *fakeDirectory) CreateTopic(_ context.Context, t push.Topic) (push.Topic, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail != nil {
		return push.Topic{}, false, d.fail
	}
	if have, ok := d.topics[t.ARN]; ok {
		return d.counted(have), false, nil
	}
	d.topics[t.ARN] = t
	return t, true, nil
}

func (d *fakeDirectory) UpdateTopic(_ context.Context, arn string, change func(*push.Topic) error) (push.Topic, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t, ok := d.topics[arn]
	if d.fail != nil || !ok {
		return t, cmpErr(d.fail, missing())
	}
	twice := t // the port says that change may run more than once
	if err := change(&twice); err != nil {
		return t, err
	}
	if err := change(&t); err != nil {
		return t, err
	}
	t.Version++
	d.topics[arn] = t
	return t, nil
}

func (d *fakeDirectory) DeleteTopic(_ context.Context, arn string, now time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.under(arn + ":") {
		s.DeletedAt = now
		d.subs[s.ARN] = s
	}
	delete(d.topics, arn)
	return d.fail
}

func (d *fakeDirectory) Topics(_ context.Context, after string, limit int) ([]push.Topic, string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []push.Topic
	for _, t := range d.topics {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b push.Topic) int { return strings.Compare(a.ARN, b.ARN) })
	page, next := paged(all, after, limit, func(t push.Topic) string { return t.ARN })
	return page, next, d.fail
}

func paged[T any](all []T, after string, limit int, arn func(T) string) ([]T, string) {
	all = slices.DeleteFunc(all, func(t T) bool { return arn(t) <= after })
	if len(all) <= limit {
		return all, ""
	}
	return all[:limit], arn(all[limit-1])
}

func (d *fakeDirectory) Subscriptions(_ context.Context, topic, after string, limit int) ([]push.Subscription, string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	page, next := paged(d.under(topic+":"), after, limit, func(s push.Subscription) string { return s.ARN })
	return page, next, d.fail
}

func (d *fakeDirectory) AllSubscriptions(ctx context.Context, after string, limit int) ([]push.Subscription, string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	page, next := paged(d.under(""), after, limit, func(s push.Subscription) string { return s.ARN })
	return page, next, d.fail
}

func (d *fakeDirectory) Subscription(_ context.Context, arn string, _ bool) (push.Subscription, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, ok := d.subs[arn]
	if d.fail != nil || !ok {
		return s, cmpErr(d.fail, missing())
	}
	return s, nil
}

func (d *fakeDirectory) CreateSubscription(_ context.Context, s push.Subscription) (push.Subscription, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.topics[s.TopicARN]; !ok || d.fail != nil {
		return s, false, cmpErr(d.fail, missing())
	}
	for _, have := range d.under(s.TopicARN + ":") {
		if have.Protocol == s.Protocol && have.Endpoint == s.Endpoint {
			return have, false, nil
		}
	}
	d.subs[s.ARN] = s
	return s, true, nil
}

func (d *fakeDirectory) UpdateSubscription(_ context.Context, arn string, change func(*push.Subscription) error) (push.Subscription, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, ok := d.subs[arn]
	if d.fail != nil || !ok {
		return s, cmpErr(d.fail, missing())
	}
	twice := s
	if err := change(&twice); err != nil {
		return s, err
	}
	if err := change(&s); err != nil {
		return s, err
	}
	d.subs[arn] = s
	return s, nil
}

func (d *fakeDirectory) DeleteSubscription(_ context.Context, arn string, now time.Time) (push.Subscription, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, ok := d.subs[arn]
	if d.fail != nil || !ok {
		return s, cmpErr(d.fail, missing())
	}
	gone := s
	gone.DeletedAt = now
	d.subs[arn] = gone
	return s, nil
}

func (d *fakeDirectory) ByToken(_ context.Context, token string) (push.Subscription, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.subs {
		if s.Token == token && d.fail == nil {
			return s, nil
		}
	}
	return push.Subscription{}, cmpErr(d.fail, missing())
}

type announcement struct {
	Kind push.Kind
	Sub  push.Subscription
}

// fakePublisher judges as the pipeline does and remembers what it was given.
type fakePublisher struct {
	directory *fakeDirectory
	mu        sync.Mutex
	published []pipeline.PublishRequest
	announced []announcement
	// fail is answered by both methods, failEntry for the entry of that id.
	fail      error
	failEntry map[string]error
	// deliver, when set, is told of everything as well.
	deliver func(push.Kind, push.Subscription, string)
}

func (p *fakePublisher) Publish(ctx context.Context, r pipeline.PublishRequest) ([]pipeline.PublishResult, error) {
	if _, err := p.directory.Topic(ctx, r.TopicARN); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	total := 0
	for _, e := range r.Entries {
		total += e.Size()
	}
	if len(r.Entries) > 1 && total > push.MaxPublication {
		return nil, push.Errorf(push.CodeBatchTooLong, "The length of all the messages put together is more than the limit.")
	}
	p.published = append(p.published, r)
	out := make([]pipeline.PublishResult, len(r.Entries))
	for i, e := range r.Entries {
		out[i] = pipeline.PublishResult{EntryID: e.EntryID, MessageID: "00000000-0000-4000-8000-00000000000" + strconv.Itoa(i)}
		if err := cmpErr(p.failEntry[e.EntryID], e.Validate()); err != nil {
			out[i] = pipeline.PublishResult{EntryID: e.EntryID, Err: err}
			continue
		}
		if p.deliver != nil {
			subs, _, _ := p.directory.Subscriptions(ctx, r.TopicARN, "", 1000)
			for _, s := range subs {
				if s.Confirmed {
					p.deliver(push.Notification, s, e.BodyFor(s.Protocol))
				}
			}
		}
	}
	return out, p.fail
}

func (p *fakePublisher) Announce(_ context.Context, kind push.Kind, s push.Subscription) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.announced = append(p.announced, announcement{kind, s})
	if p.deliver != nil {
		p.deliver(kind, s, "")
	}
	return p.fail
}

// lockedRandom makes the same tokens and ids in every run.
type lockedRandom struct {
	mu sync.Mutex
	*rand.Rand
}

func (r *lockedRandom) Read(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Rand.Read(b)
}

var errBroken = errors.New("the disk at /secret/path is on fire")

// bench is an API over fakes with a clock that tests move.
type bench struct {
	*API
	t         *testing.T
	directory *fakeDirectory
	publisher *fakePublisher
	clock     time.Time
}

func newBench(t *testing.T) *bench {
	d := &fakeDirectory{topics: map[string]push.Topic{}, subs: map[string]push.Subscription{}}
	p := &fakePublisher{directory: d}
	b := &bench{t: t, directory: d, publisher: p, clock: start}
	b.API = &API{Directory: d, Publisher: p, Region: "us-east-1", Account: "000000000000",
		Now: func() time.Time { return b.clock }, Random: &lockedRandom{Rand: rand.New(rand.NewSource(1))}}
	return b
}

const signature = "AWS4-HMAC-SHA256 Credential=x, SignedHeaders=host, Signature=y"

// post sends a signed POST; pairs are parameter names and values.
func (b *bench) post(pairs ...string) Response {
	return b.Serve(context.Background(), Request{Method: "POST", Path: "/", Body: []byte(form(pairs...)),
		Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded; charset=utf-8"}, "Authorization": {signature}}})
}

// get follows a link, unsigned.
func (b *bench) get(pairs ...string) Response {
	return b.Serve(context.Background(), Request{Method: "GET", Path: "/", RawQuery: form(pairs...)})
}

func form(pairs ...string) string {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Add(pairs[i], pairs[i+1])
	}
	return v.Encode()
}

// ok posts and wants a 200; it answers the body.
func (b *bench) ok(pairs ...string) string {
	b.t.Helper()
	return b.served(b.post(pairs...))
}

func (b *bench) served(r Response) string {
	b.t.Helper()
	if r.Status != 200 {
		b.t.Fatalf("status %d: %s", r.Status, r.Body)
	}
	return string(r.Body)
}

// between cuts the text of the first element of that name out of a body, and
// undoes the escapes that these tests meet.
func between(body, element string) string {
	_, rest, _ := strings.Cut(body, "<"+element+">")
	text, _, _ := strings.Cut(rest, "</"+element+">")
	return strings.NewReplacer("&#34;", `"`, "&#39;", "'", "&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(text)
}

// attribute gives a map entry's value, "" when it is missing.
func attribute(body, key string) string {
	_, rest, ok := strings.Cut(body, "<key>"+key+"</key>")
	if !ok {
		return ""
	}
	return between(rest, "value")
}

// topic creates one and answers its ARN.
func (b *bench) newTopic(name string, more ...string) string {
	b.t.Helper()
	return between(b.ok(append([]string{"Action", "CreateTopic", "Name", name}, more...)...), "TopicArn")
}

// pending subscribes an endpoint and answers its ARN.
func (b *bench) pending(topic, endpoint string, more ...string) string {
	b.t.Helper()
	scheme, _, _ := strings.Cut(endpoint, ":")
	return between(b.ok(append([]string{"Action", "Subscribe", "TopicArn", topic, "Protocol", scheme, "Endpoint", endpoint,
		"ReturnSubscriptionArn", "true"}, more...)...), "SubscriptionArn")
}

// confirmed subscribes an endpoint and confirms it.
func (b *bench) confirmed(topic, endpoint string, more ...string) string {
	b.t.Helper()
	arn := b.pending(topic, endpoint, more...)
	b.ok("Action", "ConfirmSubscription", "TopicArn", topic, "Token", b.token(arn))
	return arn
}

func (b *bench) token(arn string) string {
	b.directory.mu.Lock()
	defer b.directory.mu.Unlock()
	return b.directory.subs[arn].Token
}
