package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"postino/shared/envelope"
	"postino/shared/push"
)

// The explorer visits every short schedule of one delivery; the city runs long
// ones of many, with time that passes (testing/synctest), batches, several
// processes with their caches, fan-out pages and users who change their minds.
// Its goroutines stop at every port call and wait to be told how it goes on.

// verdict is how a call goes on.
type verdict int

const (
	goesOn verdict = iota
	failsBefore
	failsAfter
	diesBefore
	diesAfter
)

// strand is a goroutine that waits at a port call.
type strand struct {
	task *task
	op   op
	name string // orders strands that came to wait at the same time
	key  push.DeliveryKey
	tell chan verdict
}

// task is one invocation of a function.
type task struct {
	verb string
	// process is which of the processes that deliver runs it.
	process  int
	began    time.Time
	records  []Record
	receipts []int
	keys     []push.DeliveryKey
	dead     bool
	done     bool
	failed   []string
	accepted func()
}

// city holds everything that is stored, behind one lock.
type city struct {
	mu       sync.Mutex
	dawn     time.Time
	waiting  []*strand
	tasks    []*task
	sleeping int
	over     chan struct{}

	topics  map[string]push.Topic
	subs    map[string]push.Subscription
	records map[push.DeliveryKey]push.Delivery
	slots   map[string]time.Time
	timers  map[string]*alarm
	queues  map[string][]*stored
	nextID  int

	// What the endpoints answer, and what happened.
	answer   func() (push.Class, time.Duration)
	pushes   map[push.DeliveryKey]int // by subscription and message
	success  map[push.DeliveryKey]time.Time
	letters  map[push.DeliveryKey]time.Time
	first    map[push.DeliveryKey]int // how often a first job was queued
	redriven map[push.DeliveryKey]int
	burned   map[push.DeliveryKey]int
	broken   []string
}

// stored is a message in a queue.
type stored struct {
	record  Record
	visible time.Time
	receipt int
}

type alarm struct {
	at    time.Time
	queue string
	out   Outgoing
	rung  bool
}

func newCity() *city {
	return &city{dawn: time.Now(), over: make(chan struct{}), topics: map[string]push.Topic{}, subs: map[string]push.Subscription{},
		records: map[push.DeliveryKey]push.Delivery{}, slots: map[string]time.Time{}, timers: map[string]*alarm{}, queues: map[string][]*stored{},
		pushes: map[push.DeliveryKey]int{}, success: map[push.DeliveryKey]time.Time{},
		letters: map[push.DeliveryKey]time.Time{}, first: map[push.DeliveryKey]int{}, burned: map[push.DeliveryKey]int{}, redriven: map[push.DeliveryKey]int{}}
}

func (c *city) fail(format string, args ...any) {
	c.broken = append(c.broken, fmt.Sprintf("%s: ", time.Since(c.dawn))+fmt.Sprintf(format, args...))
}

// delivery is a key without its generation: pushes are told apart no further.
func delivery(k push.DeliveryKey) push.DeliveryKey { k.Generation = ""; return k }

// ports are the ports of every process; whose call it is stands in the context.
type ports struct{ *city }

type taskKey struct{}

func taskOf(ctx context.Context) *task { return ctx.Value(taskKey{}).(*task) }

// pause waits to be told how a call goes on; the strand may end here.
func (p ports) pause(ctx context.Context, o op, key push.DeliveryKey, name string) verdict {
	s := &strand{task: taskOf(ctx), op: o, key: key, name: name, tell: make(chan verdict)}
	p.mu.Lock()
	dead := s.task.dead
	if !dead {
		p.waiting = append(p.waiting, s)
	}
	p.mu.Unlock()
	if dead {
		runtime.Goexit()
	}
	select {
	case v := <-s.tell:
		if v == diesBefore {
			runtime.Goexit()
		}
		return v
	case <-p.over:
		runtime.Goexit()
		panic("unreachable")
	}
}

// call pauses, does the effect under the lock, and fails or dies as told.
func (p ports) call(ctx context.Context, o op, key push.DeliveryKey, name string, effect func()) error {
	v := p.pause(ctx, o, key, name)
	if v == failsBefore {
		return errFault
	}
	p.mu.Lock()
	effect()
	p.mu.Unlock()
	switch v {
	case failsAfter:
		return errFault
	case diesAfter:
		runtime.Goexit()
	}
	return nil
}

func (p ports) Topic(ctx context.Context, arn string) (t push.Topic, err error) {
	if err := p.call(ctx, opTopic, push.DeliveryKey{}, arn, func() { t = p.topics[arn] }); err != nil {
		return t, err
	}
	return t, nil
}

func (p ports) Subscription(ctx context.Context, arn string, strong bool) (s push.Subscription, err error) {
	err = p.call(ctx, opSubscription, push.DeliveryKey{Subscription: arn}, arn, func() { s = p.subs[arn] })
	return s, err
}

func (p ports) Subscriptions(ctx context.Context, topic, after string, limit int) (page []push.Subscription, next string, err error) {
	err = p.call(ctx, opTopic, push.DeliveryKey{}, topic, func() {
		for _, arn := range slices.Sorted(maps.Keys(p.subs)) {
			if s := p.subs[arn]; arn > after && s.TopicARN == topic && !s.Deleted() {
				if limit = min(limit, 2); len(page) == limit { // small pages, many steps
					next = page[limit-1].ARN
					return
				}
				page = append(page, s)
			}
		}
	})
	return page, next, err
}

func (p ports) Reserve(_ context.Context, arn string, rate float64, n int, now time.Time) (first time.Time, err error) {
	// The throttle holds a lock meanwhile, so this call must not wait.
	p.mu.Lock()
	defer p.mu.Unlock()
	first = p.slots[arn]
	if first.Before(now) {
		first = now
	}
	p.slots[arn] = first.Add(time.Duration(float64(n) / rate * float64(time.Second)))
	return first, nil
}

// put writes a record that may not go backwards.
func (p ports) put(old, d push.Delivery) push.Delivery {
	rank := map[push.State]int{push.Claimed: 1, push.Finished: 2, push.Delivered: 3, push.Dead: 3, push.Dropped: 3}
	if d.Attempt < old.Attempt || d.Attempt == old.Attempt && rank[d.State] < rank[old.State] {
		p.fail("promise 2: the record goes back from (%d, %s) to (%d, %s)", old.Attempt, old.State, d.Attempt, d.State)
	}
	d.Attempts = slices.Clone(d.Attempts)
	p.records[d.Key] = d
	return d
}

func (p ports) Claim(ctx context.Context, d push.Delivery, now time.Time) (current push.Delivery, ok bool, err error) {
	err = p.call(ctx, opClaim, d.Key, d.Key.Subscription, func() {
		old, found := p.records[d.Key]
		due := old.Attempt == d.Attempt-1 && old.State == push.Finished
		if due && now.Before(old.NextAt) {
			p.fail("promise 4: attempt %d is claimed %s early", d.Attempt, old.NextAt.Sub(now))
		}
		if ok = !found || due || old.Attempt == d.Attempt && old.State == push.Claimed && old.LeaseEnd.Before(now); !ok {
			current = old
			return
		}
		d.Attempts = old.Attempts
		if found {
			d.CreatedAt = old.CreatedAt
		}
		current = p.put(old, d)
	})
	return current, ok, err
}

func (p ports) Create(ctx context.Context, d push.Delivery) (current push.Delivery, ok bool, err error) {
	err = p.call(ctx, opCreate, d.Key, d.Key.Subscription, func() {
		if current, ok = p.records[d.Key]; ok {
			ok = false
			return
		}
		p.judge(d)
		current, ok = p.put(push.Delivery{}, d), true
	})
	return current, ok, err
}

func (p ports) Settle(ctx context.Context, d push.Delivery) (current push.Delivery, ok bool, err error) {
	err = p.call(ctx, opSettle, d.Key, d.Key.Subscription, func() {
		current = p.records[d.Key]
		if ok = current.Attempt == d.Attempt && current.State == push.Claimed && current.Owner == d.Owner; ok {
			p.judge(d)
			current = p.put(current, d)
		}
	})
	return current, ok, err
}

// judge checks the plan in a finished record: the delay counts from the end of
// the push, and jitter adds a tenth at most.
func (p ports) judge(d push.Delivery) {
	last := d.Attempts[len(d.Attempts)-1]
	if last.Number != d.Attempt {
		p.fail("promise 3: record of attempt %d ends with attempt %d", d.Attempt, last.Number)
	}
	if d.State != push.Finished || d.NextAt.IsZero() {
		return
	}
	delay := cityDelay(d.Key.Subscription)
	if after := d.NextAt.Sub(last.Ended); after < delay || after > delay+delay/10+time.Millisecond {
		p.fail("promise 4: attempt %d is planned %s after the one before, the delay is %s", d.Attempt+1, after, delay)
	}
}

func (p ports) End(ctx context.Context, key push.DeliveryKey, attempt int, state push.State, target, reason string, _ time.Time) error {
	return p.call(ctx, opEnd, key, key.Subscription, func() {
		if d, ok := p.records[key]; ok && d.Attempt == attempt && !d.State.Ended() {
			d.State, d.Target, d.Reason = state, target, reason
			p.put(p.records[key], d)
		}
	})
}

func (p ports) Send(ctx context.Context, queue string, entries []Outgoing) []error {
	errs := make([]error, len(entries))
	var key push.DeliveryKey
	if j, err := push.DecodeJob(entries[0].Body); err == nil {
		key = j.Key()
	}
	err := p.call(ctx, opSend, key, queue+entries[0].Group, func() {
		for _, e := range entries {
			p.enqueue(queue, e, taskOf(ctx).verb)
		}
	})
	for i := range errs {
		errs[i] = err
	}
	return errs
}

func (c *city) enqueue(queue string, e Outgoing, by string) {
	c.nextID++
	delay := (e.Delay + time.Second - 1).Truncate(time.Second) // whole seconds, as SQS
	c.queues[queue] = append(c.queues[queue], &stored{visible: time.Now().Add(delay),
		record: Record{ID: fmt.Sprintf("m%04d", c.nextID), Body: e.Body, Group: e.Group, Attributes: e.Attributes, Queue: queue}})
	if j, err := push.DecodeJob(e.Body); err == nil {
		if by == "publish" || by == "fanout" {
			c.first[delivery(j.Key())]++
		}
		if by == "redrive" {
			c.redriven[delivery(j.Key())]++
		}
		return
	}
	if note, ok := noteOf(e.Attributes); ok {
		c.letters[push.DeliveryKey{Subscription: note.Subscription, MessageID: note.MessageID}] = time.Now()
	}
}

func (p ports) At(ctx context.Context, name string, at time.Time, queue string, e Outgoing) error {
	j, _ := push.DecodeJob(e.Body)
	return p.call(ctx, opSend, j.Key(), queue+e.Group, func() {
		if p.timers[name] == nil {
			p.timers[name] = &alarm{at: at, queue: queue, out: e}
		}
	})
}

// posting is the Sender's side of ports.
type posting struct{ ports }

func (p posting) Send(ctx context.Context, endpoint string, r envelope.Request) push.Result {
	key := push.DeliveryKey{Subscription: endpoint, MessageID: lower(r.Header, "x-amz-sns-message-id")}
	v := p.pause(ctx, opPush, key, endpoint)
	p.mu.Lock()
	p.pushes[key]++
	class, takes := p.answer()
	p.sleeping++
	p.mu.Unlock()
	timer := time.NewTimer(takes)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		class = push.Retryable
	case <-p.over:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sleeping--
	if class == push.Success {
		p.success[key] = time.Now()
	}
	if taskOf(ctx).dead || v == diesAfter {
		runtime.Goexit()
	}
	status := map[push.Class]int{push.Success: 200, push.Retryable: 503, push.Permanent: 404}[class]
	return push.Result{Class: class, Status: status, Connected: true}
}

// lower reads a header whose key is not in canonical form.
func lower(h http.Header, key string) string { return h[key][0] }

func (p ports) Sign(push.Kind, push.Message, string) (push.Signature, error) {
	return push.Signature{Version: "1", Value: "c2ln"}, nil
}

// byAge orders messages as they were sent.
func byAge(a, b *stored) int { return cmp.Compare(a.record.ID, b.record.ID) }

// describe says what is left, for a day that does not end.
func (c *city) describe() string {
	var b strings.Builder
	for _, t := range c.tasks {
		fmt.Fprintf(&b, "%s of %d records; ", t.verb, len(t.records))
	}
	fmt.Fprintf(&b, "%d strands wait, %d sleep", len(c.waiting), c.sleeping)
	for queue, messages := range c.queues {
		for _, s := range messages {
			j, _ := push.DecodeJob(s.record.Body)
			fmt.Fprintf(&b, "\n%s in %s: job %d of %s, received %d times, record %+v", queue, time.Until(s.visible), j.Attempt, j.Subscription,
				s.record.ReceiveCount, c.records[j.Key()])
		}
	}
	return b.String()
}
