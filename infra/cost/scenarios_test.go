//go:build integration

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"postino/shared/push"
)

// small is a message of an ordinary size, large the largest SNS takes.
var (
	small = strings.Repeat("0123456789abcdef", 16)
	large = strings.Repeat("0123456789abcdef", 16<<10)
)

// immediate retries at once, n times.
func immediate(n int) string {
	return fmt.Sprintf(`{"healthyRetryPolicy":{"minDelayTarget":1,"maxDelayTarget":1,"numRetries":%d,"numNoDelayRetries":%[1]d}}`, n)
}

func (w *world) subscribe(n int, policy string) {
	w.t.Helper()
	for i := range n {
		s := push.Subscription{ARN: fmt.Sprintf("%s:11111111-0000-4000-8000-%012d", topicARN, i), TopicARN: topicARN, Protocol: push.HTTP,
			Endpoint: fmt.Sprintf("%s/%d", w.endpoint.url, i), Confirmed: true, DeliveryPolicy: policy}
		if _, _, err := w.seed.CreateSubscription(w.t.Context(), s); err != nil {
			w.t.Fatal(err)
		}
	}
}

// invocation is one Lambda request: jobs of a batch run side by side, so that it
// lasts as long as one of them, whose calls follow each other.
func invocation(mb int, base, push time.Duration, callsOfOneJob float64) Usage {
	lasts := (base + push).Seconds() + callsOfOneJob*callTime.Seconds()
	return Usage{Invoke: 1, GBSecond: float64(mb) / 1024 * lasts}
}

// mapped is what the event source mapping is billed for one batch: a receive and
// a delete.
func mapped(bodies []string, fair bool) Usage {
	size := 0
	for _, b := range bodies {
		size += len(b)
	}
	u := requests(size, fair)
	u.Add(requests(0, fair))
	return u
}

// A tally gathers a scenario's usage while it runs.
type tally struct {
	w     *world
	usage Usage
	calls map[string]float64
	// cold: every invocation finds its caches empty, as what comes alone does.
	cold bool
}

// forget leaves out what came before.
func (w *world) forget() {
	w.meter.Take()
	w.logged.take()
	w.endpoint.got.take()
}

// begin counts from now on.
func (w *world) begin(cold bool) *tally {
	w.forget()
	return &tally{w, Usage{}, map[string]float64{}, cold}
}

func (c *tally) counted() (calls float64) {
	used, made := c.w.meter.Take()
	c.usage.Add(used)
	for name, n := range made {
		c.calls[name] += float64(n)
		calls += float64(n)
	}
	c.usage[LogByte] += c.w.logged.take()
	c.usage[EgressByte] += c.w.endpoint.got.take()
	return calls
}

func (c *tally) publish(body string) {
	c.w.t.Helper()
	if c.cold { // the caller's key, which there is none of here: billed alike
		if _, err := c.w.key(c.w.t.Context(), "AKIAPOSTINO"); !push.IsNotFound(err) {
			c.w.t.Fatal(err)
		}
	}
	c.w.publish(body)
	c.usage.Add(invocation(otherMB, publishOverhead, 0, c.counted()))
}

// deliver takes n jobs of a queue in batches of fill, each of whose pushes takes
// push.
func (c *tally) deliver(queue string, n, fill int, push time.Duration) {
	c.w.t.Helper()
	for done := 0; done < n; done += fill {
		k := min(fill, n-done)
		if c.cold {
			c.w.cool()
		}
		in := c.w.batch(queue, k)
		bodies := c.w.invoke(c.w.f.Deliver, queue, in)
		c.usage.Add(mapped(bodies, in[0].Group != ""))
		c.usage.Add(invocation(deliverMB, overhead, push, c.counted()/float64(k)))
	}
}

// end gives the scenario per one of n.
func (c *tally) end(name, title, per string, n, fill int) Counted {
	calls := map[string]float64{}
	for op, k := range c.calls {
		calls[op] = k / float64(n)
	}
	return Counted{Name: name, Title: title, Per: per, Fill: fill, Usage: c.usage.Per(n), Calls: calls}
}

// warm makes the reads that caches spare later.
func (w *world) warm(subscriptions int) {
	w.t.Helper()
	w.publish(small)
	w.warmDeliver(subscriptions)
}

// warmDeliver delivers n jobs that wait, uncounted.
func (w *world) warmDeliver(n int) {
	w.t.Helper()
	for ; n > 0; n -= 10 {
		w.invoke(w.f.Deliver, w.c.Queues.Attempt, w.batch(w.c.Queues.Attempt, min(n, 10)))
	}
}

// first is messages to fanout subscriptions whose first attempts succeed.
type first struct {
	fanout, messages, fill int
	cold                   bool
	body                   string
}

func (f first) row(name, title string) func(*testing.T) Counted {
	return func(t *testing.T) Counted {
		w := newWorld(t)
		w.subscribe(f.fanout, "")
		w.warm(f.fanout)
		c := w.begin(f.cold)
		for range f.messages {
			c.publish(f.body)
		}
		c.deliver(w.c.Queues.Attempt, f.fanout*f.messages, f.fill, answerTime)
		return c.end(name, title, "deliveries", f.fanout*f.messages, f.fill)
	}
}

// later is attempts after the first, of messages that have failed.
type later struct {
	messages, fill int
	// before is how many retries fail uncounted, rounds how many are counted then,
	// retries how many there are at most.
	before, rounds, retries int
	cold                    bool
	// status is the endpoint's, 0 hangs; push is how long it takes on AWS.
	status int
	push   time.Duration
}

func (l later) row(name, title string) func(*testing.T) Counted {
	return func(t *testing.T) Counted {
		w := failing(t, l.messages, immediate(l.retries), unavailable)
		w.invoke(w.f.Deliver, w.c.Queues.Attempt, w.batch(w.c.Queues.Attempt, l.messages))
		for range l.before {
			w.invoke(w.f.Deliver, w.c.Queues.Retry, w.batch(w.c.Queues.Retry, l.messages))
		}
		w.endpoint.status.Store(int32(l.status))
		c := w.begin(l.cold)
		for range l.rounds {
			c.deliver(w.c.Queues.Retry, l.messages, l.fill, l.push)
		}
		return c.end(name, title, "attempts", l.messages*l.rounds, l.fill)
	}
}

func throttled(t *testing.T) Counted {
	w := newWorld(t)
	w.subscribe(1, `{"throttlePolicy":{"maxReceivesPerSecond":1}}`)
	w.publish(small)
	before := w.batch(w.c.Queues.Attempt, 1)
	c := w.begin(false)
	for range 10 {
		c.publish(small)
	}
	// It fills the caches and has a slot, right before the others: so two of them
	// have theirs within two seconds, however slow the machine is.
	w.invoke(w.f.Deliver, w.c.Queues.Attempt, before)
	w.forget()
	c.deliver(w.c.Queues.Attempt, 10, 10, 2*time.Second+answerTime)
	for {
		// What had no slot within two seconds waits in the queue with its own.
		in, err := w.looking.Receive(t.Context(), w.c.Queues.Retry, 1, time.Hour, 15*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if len(in) == 0 {
			break
		}
		bodies := w.invoke(w.f.Deliver, w.c.Queues.Retry, in)
		c.usage.Add(mapped(bodies, true))
		c.usage.Add(invocation(deliverMB, overhead, answerTime, c.counted()/float64(len(in))))
	}
	return c.end("throttled", "Delivery that waits for a throttle slot (1 a second, 10 at once)", "deliveries", 10, 10)
}

func paged(t *testing.T) Counted {
	const n = 300
	w := newWorld(t)
	w.subscribe(n, "")
	w.publish(small) // reads the list, which is kept
	w.drainPages(nil)
	w.warmDeliver(n)
	c := w.begin(false)
	c.publish(small)
	w.drainPages(c)
	c.deliver(w.c.Queues.Attempt, n, 10, answerTime)
	return c.end("first-fanout-300", "First attempt that succeeds, fan-out 300 through FanoutQueue", "deliveries", n, 10)
}

// drainPages lets Fanout work until no page is left.
func (w *world) drainPages(c *tally) {
	for {
		in, err := w.looking.Receive(w.t.Context(), w.c.Queues.Fanout, 1, time.Hour, 2*time.Second)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(in) == 0 {
			return
		}
		bodies := w.invoke(w.f.Fanout, w.c.Queues.Fanout, in)
		if c != nil {
			c.usage.Add(mapped(bodies, true))
			c.usage.Add(invocation(otherMB, overhead, 0, c.counted()))
		}
	}
}
