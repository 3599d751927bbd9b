package conformance

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

// QueueHarness runs ExerciseQueue.
type QueueHarness struct {
	Harness[Queue]
	// Redrive gives queue a dead-letter queue that messages move to after
	// maxReceive receives.
	Redrive func(t *testing.T, q Queue, queue, deadLetter string, maxReceive int)
}

// queueName is the queue the suite works on; every test opens a fresh adapter.
const queueName = "postino-conformance"

// hidden is a visibility timeout that does not lapse within a test.
const hidden = time.Hour

// ExerciseQueue checks the promises of Queue and pipeline.Queues.
func ExerciseQueue(t *testing.T, h QueueHarness) {
	s := queueSuite{h}
	h.test(t, "a message arrives with its body, group, attributes and count", s.arrives)
	h.test(t, "a queue answers to its name and its ARN", s.answersToARN)
	h.test(t, "a batch of ten is stored and one of eleven refused", s.batches)
	h.test(t, "what SQS does not take is refused entry by entry", s.refuses)
	h.test(t, "a receive of an empty queue ends with its wait or its context", s.emptyReceive)
	h.test(t, "a waiting receive is woken by a send", s.woken)
	h.test(t, "a received message is hidden until its visibility timeout and comes back counted", s.visibility)
	h.test(t, "a deleted message does not come back", s.deleted)
	h.test(t, "a receipt goes stale when the message is received again", s.staleReceipt)
	h.test(t, "changing the visibility brings a message back sooner or later", s.changeVisibility)
	h.test(t, "a delayed message is never early and comes when due", s.delay)
	h.test(t, "messages due at different times come in the order they are due", s.delayOrder)
	h.test(t, "concurrent senders and receivers lose nothing and get nothing twice", s.concurrent)
	if h.Redrive != nil {
		h.test(t, "a message received too often moves to the dead-letter queue", s.redrive)
	}
	if h.Reopen != nil {
		h.test(t, "a restart keeps what was sent and not what was deleted", s.restart)
		h.test(t, "a restart keeps due times", s.restartDelayed)
	}
}

type queueSuite struct{ QueueHarness }

func send(t *testing.T, q Queue, queue string, entries ...pipeline.Outgoing) {
	t.Helper()
	for i, err := range q.Send(t.Context(), queue, entries) {
		if err != nil {
			t.Fatalf("entry %d: %v", i, err)
		}
	}
}

// receive gets up to limit messages, hidden for long.
func (s queueSuite) receive(t *testing.T, q Queue, queue string, limit int, visibility time.Duration) []pipeline.Incoming {
	t.Helper()
	in, err := q.Receive(t.Context(), queue, limit, visibility, s.Late)
	must(t, err)
	return in
}

// one receives exactly one message.
func (s queueSuite) one(t *testing.T, q Queue, visibility time.Duration) pipeline.Incoming {
	t.Helper()
	in := s.receive(t, q, queueName, 1, visibility)
	if len(in) != 1 {
		t.Fatalf("received %d messages, want 1", len(in))
	}
	return in[0]
}

// none checks that nothing is visible now.
func none(t *testing.T, q Queue, queue string) {
	t.Helper()
	in, err := q.Receive(t.Context(), queue, 10, hidden, 0)
	must(t, err)
	if len(in) > 0 {
		t.Fatalf("received %d messages, want none: %+v", len(in), in)
	}
}

// drain receives and deletes until nothing more comes, and gives the bodies.
func (s queueSuite) drain(t *testing.T, q Queue, queue string) (bodies []string) {
	t.Helper()
	for {
		in := s.receive(t, q, queue, 10, hidden)
		if len(in) == 0 {
			slices.Sort(bodies)
			return bodies
		}
		for _, m := range in {
			bodies = append(bodies, m.Body)
			must(t, q.Delete(t.Context(), queue, []string{m.Receipt}))
		}
	}
}

func (s queueSuite) arrives(t *testing.T, q Queue) {
	sent := time.Now()
	out := pipeline.Outgoing{
		Body: "line one\nline two\t\u00fc \U0001F4EC", Group: "tenant-1",
		Attributes: []push.Attribute{{Name: "colour", Type: "String", Value: "red"}, {Name: "bytes", Type: "Binary", Value: "AAEC"}, {Name: "n", Type: "Number.price", Value: "1.50"}},
	}
	send(t, q, queueName, out, out)
	in := slices.Concat(s.receive(t, q, queueName, 1, hidden), s.receive(t, q, queueName, 1, hidden))
	if len(in) != 2 {
		t.Fatalf("received %d messages, want 2", len(in))
	}
	byName := func(a, b push.Attribute) int { return strings.Compare(a.Name, b.Name) }
	want := slices.SortedFunc(slices.Values(out.Attributes), byName)
	for _, m := range in {
		equal(t, "body", m.Body, out.Body)
		equal(t, "group", m.Group, out.Group)
		equal(t, "attributes", slices.SortedFunc(slices.Values(m.Attributes), byName), want)
		equal(t, "receive count", m.ReceiveCount, 1)
		if d := m.Sent.Sub(sent); d < -time.Second || d > s.Late+time.Second {
			t.Errorf("sent %v after it was", d)
		}
	}
	if in[0].ID == in[1].ID || in[0].Receipt == in[1].Receipt || in[0].ID == "" || in[0].Receipt == "" {
		t.Errorf("two messages share an id or a receipt: %+v", in)
	}
}

func (s queueSuite) answersToARN(t *testing.T, q Queue) {
	send(t, q, "arn:aws:sqs:us-east-1:000000000000:"+queueName, pipeline.Outgoing{Body: "by ARN"})
	equal(t, "body", s.one(t, q, hidden).Body, "by ARN")
}

func (s queueSuite) batches(t *testing.T, q Queue) {
	entries := make([]pipeline.Outgoing, pipeline.MaxBatch)
	want := make([]string, len(entries))
	for i := range entries {
		want[i] = fmt.Sprintf("entry %d", i)
		entries[i] = pipeline.Outgoing{Body: want[i]}
	}
	send(t, q, queueName, entries...)
	equal(t, "bodies", s.drain(t, q, queueName), want)

	errs := q.Send(t.Context(), queueName, append(entries, pipeline.Outgoing{Body: "one too many"}))
	if len(errs) != len(entries)+1 {
		t.Fatalf("%d answers to %d entries", len(errs), len(entries)+1)
	}
	for i, err := range errs {
		if _, ok := pipeline.Refused(err); !ok {
			t.Errorf("entry %d of eleven: %v, want a refusal", i, err)
		}
	}
	none(t, q, queueName)
}

func (s queueSuite) refuses(t *testing.T, q Queue) {
	many := make([]push.Attribute, 11)
	for i := range many {
		many[i] = push.Attribute{Name: fmt.Sprintf("a%d", i), Type: "String", Value: "v"}
	}
	bad := map[string]pipeline.Outgoing{
		"a body over 1 MiB":                  {Body: strings.Repeat("x", 1<<20+1)},
		"body and attributes over 1 MiB":     {Body: strings.Repeat("x", 1<<20-4), Attributes: []push.Attribute{{Name: "a", Type: "String", Value: "v"}}},
		"an empty body":                      {},
		"eleven attributes":                  {Body: "b", Attributes: many},
		"an attribute without value":         {Body: "b", Attributes: []push.Attribute{{Name: "a", Type: "String"}}},
		"an attribute of unknown type":       {Body: "b", Attributes: []push.Attribute{{Name: "a", Type: "Colour", Value: "red"}}},
		"a delay below 0":                    {Body: "b", Delay: -time.Second},
		"a delay above 900 s":                {Body: "b", Delay: pipeline.MaxDelay + time.Second},
		"a control character":                {Body: "b\x01"},
		"a null character":                   {Body: "b\x00"},
		"bytes that are not UTF-8":           {Body: "b\xff"},
		"the noncharacter FFFE":              {Body: "b\ufffe"},
		"the noncharacter FFFF":              {Body: "b\uffff"},
		"a control character in a value":     {Body: "b", Attributes: []push.Attribute{{Name: "a", Type: "String", Value: "\x02"}}},
		"a message group of 129 characters":  {Body: "b", Group: strings.Repeat("g", 129)},
		"two attributes with the same name":  {Body: "b", Attributes: []push.Attribute{{Name: "a", Type: "String", Value: "1"}, {Name: "a", Type: "String", Value: "2"}}},
		"an attribute name with a space":     {Body: "b", Attributes: []push.Attribute{{Name: "a b", Type: "String", Value: "1"}}},
		"an attribute name with two periods": {Body: "b", Attributes: []push.Attribute{{Name: "a..b", Type: "String", Value: "1"}}},
	}
	for name, e := range bad {
		errs := q.Send(t.Context(), queueName, []pipeline.Outgoing{{Body: "good"}, e})
		if errs[0] != nil {
			t.Errorf("%s: its neighbour is refused too: %v", name, errs[0])
		}
		if _, ok := pipeline.Refused(errs[1]); !ok {
			t.Errorf("%s: %v, want a refusal", name, errs[1])
		}
	}
	equal(t, "bodies", s.drain(t, q, queueName), slices.Repeat([]string{"good"}, len(bad)))
	for _, e := range []pipeline.Outgoing{
		{Body: strings.Repeat("x", 1<<20)},
		{Body: "\t\n\r \u0085 \ud7ff \ue000 \ufffd \U00010000 \U0010ffff"},
		{Body: "b", Attributes: many[:10]},
	} {
		send(t, q, queueName, e)
		equal(t, "body at the limit", s.drain(t, q, queueName), []string{e.Body})
	}
	send(t, q, queueName, pipeline.Outgoing{Body: "b", Delay: pipeline.MaxDelay})
}

func (s queueSuite) emptyReceive(t *testing.T, q Queue) {
	start := time.Now()
	in, err := q.Receive(t.Context(), queueName, 10, hidden, time.Second)
	if err != nil || len(in) > 0 {
		t.Errorf("received %v, %v", in, err)
	}
	if took := time.Since(start); took < time.Second || took > time.Second+s.Late {
		t.Errorf("a wait of 1 s took %v", took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := q.Receive(ctx, queueName, 10, hidden, 20*time.Second); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a receive whose context ended answers %v", err)
	}
}

func (s queueSuite) woken(t *testing.T, q Queue) {
	got := make(chan []pipeline.Incoming, 1)
	go func() {
		in, err := q.Receive(t.Context(), queueName, 10, hidden, 20*time.Second)
		if err != nil {
			t.Error(err)
		}
		got <- in
	}()
	time.Sleep(time.Second)
	start := time.Now()
	send(t, q, queueName, pipeline.Outgoing{Body: "wake up"})
	if in := <-got; len(in) != 1 || in[0].Body != "wake up" {
		t.Fatalf("received %v", in)
	}
	if took := time.Since(start); took > s.Late {
		t.Errorf("woken after %v", took)
	}
}

func (s queueSuite) concurrent(t *testing.T, q Queue) {
	const senders, each, batch = 8, 10, 5
	var wg sync.WaitGroup
	for sender := range senders {
		wg.Go(func() {
			for n := range each {
				entries := make([]pipeline.Outgoing, batch)
				for i := range entries {
					entries[i] = pipeline.Outgoing{Body: fmt.Sprintf("%d/%d/%d", sender, n, i), Group: fmt.Sprint(sender)}
				}
				for _, err := range q.Send(t.Context(), queueName, entries) {
					if err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	var mu sync.Mutex
	times := map[string]int{}
	for range 4 {
		wg.Go(func() {
			for {
				in, err := q.Receive(t.Context(), queueName, 7, hidden, s.Late)
				if err != nil {
					t.Error(err)
				}
				if len(in) == 0 {
					return
				}
				receipts := make([]string, len(in))
				mu.Lock()
				for i, m := range in {
					receipts[i] = m.Receipt
					times[m.Body]++
				}
				mu.Unlock()
				if err := q.Delete(t.Context(), queueName, receipts); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	equal(t, "number of messages", len(times), senders*each*batch)
	for body, n := range times {
		if n != 1 {
			t.Errorf("message %s came %d times", body, n)
		}
	}
}
