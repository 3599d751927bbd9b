package conformance

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"postino/shared/pipeline"
)

func (s queueSuite) visibility(t *testing.T, q Queue) {
	const timeout = 2 * time.Second
	send(t, q, queueName, pipeline.Outgoing{Body: "b", Group: "g"})
	first := s.one(t, q, timeout)
	hiddenAt := time.Now()
	for count := 2; count <= 4; count++ {
		none(t, q, queueName)
		in, err := q.Receive(t.Context(), queueName, 10, timeout, timeout+s.Late)
		must(t, err)
		if len(in) != 1 {
			t.Fatalf("received %d messages, want 1", len(in))
		}
		if was := time.Since(hiddenAt); was < timeout-timeMargin(s) || was > timeout+s.Late {
			t.Errorf("hidden for %v, want %v", was, timeout)
		}
		hiddenAt = time.Now()
		again := in[0]
		if again.ID != first.ID || again.Receipt == first.Receipt {
			t.Errorf("came back as %+v, was %+v", again, first)
		}
		equal(t, "receive count", again.ReceiveCount, count)
		equal(t, "body", again.Body, "b")
		equal(t, "group", again.Group, "g")
		equal(t, "sent", again.Sent, first.Sent)
	}
}

// timeMargin is what a remote queue's answer may have been under way: its
// timeouts begin before its client looks at the clock.
func timeMargin(s queueSuite) time.Duration {
	if s.Longest == 0 {
		return 0
	}
	return s.Late
}

func (s queueSuite) deleted(t *testing.T, q Queue) {
	send(t, q, queueName, pipeline.Outgoing{Body: "deleted"}, pipeline.Outgoing{Body: "kept"})
	for _, m := range slices.Concat(s.receive(t, q, queueName, 1, 2*time.Second), s.receive(t, q, queueName, 1, 2*time.Second)) {
		if m.Body == "deleted" {
			must(t, q.Delete(t.Context(), queueName, []string{m.Receipt}))
			must(t, q.Delete(t.Context(), queueName, []string{m.Receipt})) // twice is once
		}
	}
	time.Sleep(2*time.Second + s.Late)
	equal(t, "bodies", s.drain(t, q, queueName), []string{"kept"})
}

func (s queueSuite) staleReceipt(t *testing.T, q Queue) {
	send(t, q, queueName, pipeline.Outgoing{Body: "b"})
	first := s.one(t, q, time.Second)
	time.Sleep(time.Second + s.Late)
	second := s.one(t, q, 2*time.Second)
	must(t, q.Delete(t.Context(), queueName, []string{first.Receipt}))
	_ = q.ChangeVisibility(t.Context(), queueName, first.Receipt, hidden) // an error or nothing
	time.Sleep(2*time.Second + s.Late)
	third := s.one(t, q, time.Second)
	equal(t, "id", third.ID, second.ID)
	must(t, q.Delete(t.Context(), queueName, []string{third.Receipt}))
	time.Sleep(time.Second + s.Late)
	none(t, q, queueName)
}

func (s queueSuite) changeVisibility(t *testing.T, q Queue) {
	send(t, q, queueName, pipeline.Outgoing{Body: "b"})
	must(t, q.ChangeVisibility(t.Context(), queueName, s.one(t, q, hidden).Receipt, 0))
	m := s.one(t, q, hidden) // back at once
	equal(t, "receive count", m.ReceiveCount, 2)
	must(t, q.ChangeVisibility(t.Context(), queueName, m.Receipt, time.Second))
	none(t, q, queueName)
	time.Sleep(time.Second)
	m = s.one(t, q, time.Second) // sooner
	must(t, q.ChangeVisibility(t.Context(), queueName, m.Receipt, 3*time.Second))
	time.Sleep(time.Second + min(s.Late, time.Second))
	none(t, q, queueName) // later
	time.Sleep(2 * time.Second)
	equal(t, "receive count", s.one(t, q, hidden).ReceiveCount, 4)
}

func (s queueSuite) delay(t *testing.T, q Queue) {
	const delay = 2 * time.Second
	start := time.Now()
	send(t, q, queueName, pipeline.Outgoing{Body: "later", Delay: delay}, pipeline.Outgoing{Body: "now"})
	equal(t, "body", s.one(t, q, hidden).Body, "now")
	none(t, q, queueName)
	in, err := q.Receive(t.Context(), queueName, 10, hidden, delay+s.Late)
	must(t, err)
	if len(in) != 1 || in[0].Body != "later" {
		t.Fatalf("received %+v", in)
	}
	if after := time.Since(start); after < delay || after > delay+s.Late {
		t.Errorf("came after %v, want %v", after, delay)
	}
	equal(t, "receive count", in[0].ReceiveCount, 1)
}

func (s queueSuite) delayOrder(t *testing.T, q Queue) {
	for _, n := range []int{3, 1, 4, 2, 5} {
		send(t, q, queueName, pipeline.Outgoing{Body: fmt.Sprint(n), Delay: time.Duration(n) * time.Second})
	}
	for n := 1; n <= 5; n++ {
		in, err := q.Receive(t.Context(), queueName, 1, hidden, time.Second+s.Late)
		must(t, err)
		if len(in) != 1 || in[0].Body != fmt.Sprint(n) {
			t.Fatalf("after %d s received %+v", n, in)
		}
	}
}
