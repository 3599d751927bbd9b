package pipeline

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"postino/shared/envelope"
	"postino/shared/push"
)

// The crash tests treat the verbs as what they are: functions of the record in
// hand and of the answers their ports give. A `code` learns that function by
// running the real Handle over scripted ports, up to the first call that has no
// answer yet; each such point is a node. The explorer in crash_explore_test.go
// then walks every interleaving of nodes, crashing workers and failing calls in
// between, without ever running the same stretch of code twice.

var (
	errFault = errors.New("injected fault")

	crashTopic = "arn:aws:sns:eu-west-1:123456789012:orders"
	crashSub   = crashTopic + ":5f0c0b6e-2f0b-4c53-a3f4-0d5e6f1a2b3c"
	crashDLQ   = "arn:aws:sqs:eu-west-1:123456789012:orders-dead"
	crashNames = QueueNames{Attempt: "Attempt", Retry: "Retry", Fanout: "Fanout", DeadLetter: "DeadLetter", Failed: "Failed"}
	crashStart = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

const (
	// attemptsApart is how far job(n+1)'s clock is ahead of job(n)'s: any time
	// beyond the retry's delay. Within a handling only a push takes time, and
	// all pushes of one attempt end at the same time past the hour, so like
	// histories make equal messages and points stay few.
	attemptsApart = time.Hour
	pushEnds      = 10 * time.Minute
	slotWait      = 5 * time.Second
	arrivesEarly  = 30 * time.Second
)

// op is a port's method.
type op string

const (
	opSubscription op = "read subscription"
	opTopic        op = "read topic"
	opReserve      op = "reserve slot"
	opClaim        op = "claim"
	opCreate       op = "create record"
	opSettle       op = "settle record"
	opEnd          op = "end record"
	opSend         op = "send"
	opPush         op = "push"
)

// call is what the code asks of a port.
type call struct {
	op       op
	delivery push.Delivery // claim, create, settle
	key      push.DeliveryKey
	attempt  int
	state    push.State
	target   string
	reason   string
	queue    string
	out      Outgoing
	at       time.Time // of a push: when it started
	now      time.Time // of a send: when it was asked for
}

// answer is what the port says; comparable, so that it can be an edge.
type answer struct {
	failed  bool
	ok      bool
	current int           // interned record of a refused or granted write
	wait    time.Duration // reserve: until the slot
	paused  bool
	class   push.Class
	stopped bool // push: the handler was told to stop meanwhile
}

// node is a point in the code: a record in hand and all answers so far.
type node struct {
	root    *root
	parent  *node
	via     answer
	pending call
	// done: Handle has returned; acked says whether the record may go.
	done, acked bool
	next        map[answer]*node

	// What the explorer notes of it: a number, whether its own job was sent
	// again on the way, whether its push would come too soon, and whether a
	// crash here is worth trying.
	id       int16
	replaced bool
	early    string
	idle     bool
	// What its call stores, by number.
	sends  int16
	stored map[int16]int16
}

// root is where a handling starts: a queue message and the time it arrives.
type root struct {
	record Record
	now    time.Time
}

// code is the verbs under test with everything learned of them so far.
type code struct {
	policy  string
	records []push.Delivery // interned, 0 is "none"
	ids     map[string]int
	nodes   int
	// handle runs the verb that the record's queue belongs to; wrong variants
	// wrap it.
	handle func(ctx context.Context, s *script, r Record) (acked bool)
}

func newCode(policy string) *code {
	c := &code{policy: policy, records: make([]push.Delivery, 1), ids: map[string]int{}}
	c.handle = c.right
	return c
}

func (c *code) right(ctx context.Context, s *script, r Record) bool {
	if r.Queue == crashDLQ {
		return len(c.redrive(s, s).Handle(ctx, []Record{r})) == 0
	}
	return len(c.deliver(s, s, s).Handle(ctx, []Record{r})) == 0
}

func (c *code) deliver(s *script, store Deliveries, queues Queues) *Deliver {
	return &Deliver{Directory: s, Deliveries: store, Slots: s, Queues: queues, Timer: s, Sender: pusher{s}, Signer: s,
		Names: crashNames, Links: envelope.Links{PublicURL: "https://push.example.com"}, Now: func() time.Time { return s.now },
		Sleep:  func(context.Context, time.Duration) error { return nil },
		Random: func() float64 { return 0.5 }, NewID: func() string { return "me" }, RequestTimeout: 15 * time.Second}
}

func (c *code) redrive(s *script, queues Queues) *Redrive {
	return &Redrive{Directory: s, Queues: queues, Names: crashNames, Now: func() time.Time { return s.now }, MaxRedrives: 1}
}

// intern names a record by what decides of it. Owners and leases are the
// explorer's business, and times of writing decide nothing.
func (c *code) intern(d push.Delivery) int {
	d.Owner, d.LeaseEnd, d.CreatedAt, d.UpdatedAt, d.Expires = "", time.Time{}, time.Time{}, time.Time{}, time.Time{}
	d.Attempts = append([]push.Attempt(nil), d.Attempts...)
	for i := range d.Attempts {
		d.Attempts[i].Started = time.Time{}
	}
	name := fmt.Sprintf("%+v", d)
	if id, ok := c.ids[name]; ok {
		return id
	}
	c.records = append(c.records, d)
	c.ids[name] = len(c.records) - 1
	return c.ids[name]
}

// start is the node at which a record has just been received.
func (c *code) start(r root) *node { return c.learn(&node{root: &r}) }

// after is the node behind n when its pending call is answered with a.
func (c *code) after(n *node, a answer) *node {
	next, ok := n.next[a]
	if !ok {
		next = c.learn(&node{root: n.root, parent: n, via: a})
		if n.next == nil {
			n.next = map[answer]*node{}
		}
		n.next[a] = next
	}
	return next
}

// learn runs the real code up to n.
func (c *code) learn(n *node) *node {
	c.nodes++
	var answers []answer
	for at := n; at.parent != nil; at = at.parent {
		answers = append(answers, at.via)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := &script{code: c, answers: answers, now: n.root.now, cancel: cancel}
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		acked := c.handle(ctx, s, n.root.record)
		n.done, n.acked = true, acked
	}()
	<-finished
	n.pending = s.pending
	return n
}

// script plays all of the ports: the answers it was given, last first, and then
// it ends the goroutine that asks for more.
type script struct {
	code    *code
	answers []answer
	now     time.Time
	cancel  func()
	pending call
}

func (s *script) ask(c call) answer {
	if len(s.answers) == 0 {
		s.pending = c
		runtime.Goexit()
	}
	a := s.answers[len(s.answers)-1]
	s.answers = s.answers[:len(s.answers)-1]
	return a
}

func (s *script) err(a answer) error {
	if a.failed {
		return errFault
	}
	return nil
}

func (s *script) Topic(context.Context, string) (push.Topic, error) {
	a := s.ask(call{op: opTopic})
	return push.Topic{ARN: crashTopic}, s.err(a)
}

func (s *script) Subscriptions(context.Context, string, string, int) ([]push.Subscription, string, error) {
	panic("deliver and redrive list no subscriptions")
}

func (s *script) Subscription(context.Context, string, bool) (push.Subscription, error) {
	a := s.ask(call{op: opSubscription})
	return push.Subscription{ARN: crashSub, TopicARN: crashTopic, Protocol: push.HTTPS, Endpoint: "https://a.example.com/", Confirmed: true,
		Paused: a.paused, DeliveryPolicy: s.code.policy, RedrivePolicy: `{"deadLetterTargetArn":"` + crashDLQ + `"}`}, s.err(a)
}

func (s *script) Reserve(_ context.Context, _ string, _ float64, _ int, now time.Time) (time.Time, error) {
	a := s.ask(call{op: opReserve})
	return now.Add(a.wait), s.err(a)
}

func (s *script) write(c call) (push.Delivery, bool, error) {
	a := s.ask(c)
	if a.failed {
		return push.Delivery{}, false, errFault
	}
	current := s.code.records[a.current]
	current.Attempts = append([]push.Attempt(nil), current.Attempts...)
	if current.State == push.Claimed {
		current.Owner, current.LeaseEnd = "me", s.now.Add(30*time.Second) // a refused one is somebody else's; only the lease counts
	}
	return current, a.ok, nil
}

func (s *script) Claim(_ context.Context, d push.Delivery, now time.Time) (push.Delivery, bool, error) {
	return s.write(call{op: opClaim, delivery: d, now: now})
}

func (s *script) Create(_ context.Context, d push.Delivery) (push.Delivery, bool, error) {
	return s.write(call{op: opCreate, delivery: d})
}

func (s *script) Settle(_ context.Context, d push.Delivery) (push.Delivery, bool, error) {
	return s.write(call{op: opSettle, delivery: d})
}

func (s *script) End(_ context.Context, key push.DeliveryKey, attempt int, state push.State, target, reason string, now time.Time) error {
	return s.err(s.ask(call{op: opEnd, key: key, attempt: attempt, state: state, target: target, reason: reason, now: now}))
}

func (s *script) Send(_ context.Context, queue string, entries []Outgoing) []error {
	return []error{s.err(s.ask(call{op: opSend, queue: queue, out: entries[0], now: s.now}))}
}

func (s *script) At(_ context.Context, _ string, at time.Time, queue string, e Outgoing) error {
	e.Delay = at.Sub(s.now)
	return s.err(s.ask(call{op: opSend, queue: queue, out: e, now: s.now}))
}

func (s *script) Sign(push.Kind, push.Message, string) (push.Signature, error) {
	return push.Signature{Version: "1", Value: "c2ln", CertURL: "https://push.example.com/cert.pem"}, nil
}

// pusher gives the script the Sender's method, whose name Send is taken.
type pusher struct{ *script }

func (p pusher) Send(context.Context, string, envelope.Request) push.Result {
	s := p.script
	a := s.ask(call{op: opPush, at: s.now})
	s.now = s.now.Truncate(attemptsApart).Add(pushEnds)
	if a.stopped {
		s.cancel()
		return push.Result{Class: push.Retryable, Detail: "stopped", Connected: true}
	}
	status := map[push.Class]int{push.Success: 200, push.Retryable: 503, push.Permanent: 404}[a.class]
	return push.Result{Class: a.class, Status: status, Connected: true}
}
