//go:build integration

package main

import (
	"fmt"
	"net/http"
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
func invocation(mb int, base, push, callsOfOneJob float64) Usage {
	return Usage{Invoke: 1, GBSecond: float64(mb) / 1024 * (base + push + callsOfOneJob*callTime)}
}

// mapped is what the event source mapping is billed for one batch: a receive and
// a delete.
func mapped(bodies []string) Usage {
	size := 0
	for _, b := range bodies {
		size += len(b)
	}
	u := requests(size, true)
	u.Add(requests(0, true))
	return u
}

// A tally gathers a scenario's usage while it runs.
type tally struct {
	w     *world
	usage Usage
	calls map[string]float64
}

// begin forgets what came before.
func (w *world) begin() *tally {
	w.meter.Take()
	w.logged.take()
	w.endpoint.got.take()
	return &tally{w, Usage{}, map[string]float64{}}
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
	c.w.publish(body)
	c.usage.Add(invocation(otherMB, publishOverhead, 0, c.counted()))
}

// deliver takes n jobs of a queue in batches of fill, whose pushes take push
// seconds.
func (c *tally) deliver(queue string, n, fill int, push float64) {
	c.w.t.Helper()
	for done := 0; done < n; done += fill {
		k := min(fill, n-done)
		bodies := c.w.invoke(c.w.f.Deliver, queue, c.w.batch(queue, k))
		c.usage.Add(mapped(bodies))
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
	w.invoke(w.f.Deliver, w.c.Queues.Attempt, w.batch(w.c.Queues.Attempt, min(subscriptions, 10)))
	for rest := subscriptions - 10; rest > 0; rest -= 10 {
		w.invoke(w.f.Deliver, w.c.Queues.Attempt, w.batch(w.c.Queues.Attempt, min(rest, 10)))
	}
}

// firstAttempts is fan-out subscriptions, messages messages.
func firstAttempts(fanout, messages, fill int, body, name, title string) func(*testing.T) Counted {
	return func(t *testing.T) Counted {
		w := newWorld(t)
		w.subscribe(fanout, "")
		w.warm(fanout)
		c := w.begin()
		for range messages {
			c.publish(body)
		}
		c.deliver(w.c.Queues.Attempt, fanout*messages, fill, answerTime)
		return c.end(name, title, "deliveries", fanout*messages, fill)
	}
}

// later is attempts after the first, of messages that failed once.
func later(messages, fill, rounds, retries, status int, push float64, name, title, per string) func(*testing.T) Counted {
	return func(t *testing.T) Counted {
		w := newWorld(t)
		w.subscribe(1, immediate(retries))
		w.warm(1)
		w.endpoint.status.Store(http.StatusServiceUnavailable)
		for range messages {
			w.publish(small)
		}
		w.invoke(w.f.Deliver, w.c.Queues.Attempt, w.batch(w.c.Queues.Attempt, messages))
		w.endpoint.status.Store(int32(status))
		c := w.begin()
		for range rounds {
			c.deliver(w.c.Queues.Retry, messages, fill, push)
		}
		return c.end(name, title, per, messages*rounds, fill)
	}
}

func scheduled(t *testing.T) Counted {
	w := newWorld(t)
	w.subscribe(1, `{"healthyRetryPolicy":{"minDelayTarget":1800,"maxDelayTarget":1800,"numRetries":2}}`)
	w.warm(1)
	w.endpoint.status.Store(http.StatusServiceUnavailable)
	for range 10 {
		w.publish(small)
	}
	c := w.begin()
	c.deliver(w.c.Queues.Attempt, 10, 10, answerTime)
	return c.end("first-failed-scheduled", "First attempt that fails, the next more than 15 minutes later", "attempts", 10, 10)
}

func throttled(t *testing.T) Counted {
	w := newWorld(t)
	w.subscribe(1, `{"throttlePolicy":{"maxReceivesPerSecond":1}}`)
	w.warm(1)
	c := w.begin()
	for range 10 {
		c.publish(small)
	}
	c.deliver(w.c.Queues.Attempt, 10, 10, 2+answerTime)
	for {
		// What had no slot within two seconds waits in the queue with its own.
		in, err := w.looking.Receive(t.Context(), w.c.Queues.Retry, 10, time.Hour, 15*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if len(in) == 0 {
			break
		}
		bodies := w.invoke(w.f.Deliver, w.c.Queues.Retry, in)
		c.usage.Add(mapped(bodies))
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
	w.warmAll(n)
	c := w.begin()
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
			c.usage.Add(mapped(bodies))
			c.usage.Add(invocation(otherMB, overhead, 0, c.counted()))
		}
	}
}

func (w *world) warmAll(n int) {
	for ; n > 0; n -= 10 {
		w.invoke(w.f.Deliver, w.c.Queues.Attempt, w.batch(w.c.Queues.Attempt, min(n, 10)))
	}
}

// scenarios are the rows of docs/cost.md.
var scenarios = []func(*testing.T) Counted{
	firstAttempts(10, 5, 10, small, "first-10", "First attempt that succeeds, fan-out 10"),
	firstAttempts(10, 2, 1, small, "first-10-alone", "The same"),
	firstAttempts(1, 10, 10, small, "first-1", "First attempt that succeeds, fan-out 1"),
	firstAttempts(1, 3, 1, large, "first-large", "First attempt that succeeds, fan-out 1, 256 KiB"),
	paged,
	throttled,
	later(10, 10, 3, 50, http.StatusServiceUnavailable, answerTime, "retry", "Retry that fails", "attempts"),
	later(5, 1, 2, 50, http.StatusServiceUnavailable, answerTime, "retry-alone", "The same", "attempts"),
	later(10, 10, 2, 50, 0, hangTime, "hang", "Retry that hangs until its timeout", "attempts"),
	later(3, 1, 1, 50, 0, hangTime, "hang-alone", "The same", "attempts"),
	later(10, 10, 1, 50, http.StatusOK, answerTime, "recovered", "Retry that succeeds", "attempts"),
	later(10, 10, 1, 1, http.StatusServiceUnavailable, answerTime, "dead", "Last attempt: dead letter", "attempts"),
	scheduled,
}
