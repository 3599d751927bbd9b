package conformance

import (
	"slices"
	"testing"
	"time"

	"postino/shared/pipeline"
	"postino/shared/push"
)

func (s queueSuite) redrive(t *testing.T, q Queue) {
	const deadLetters = queueName + "-dead"
	s.Redrive(t, q, queueName, deadLetters, 2)
	out := pipeline.Outgoing{Body: "poison", Group: "g", Attributes: []push.Attribute{{Name: "a", Type: "String", Value: "v"}}}
	send(t, q, queueName, out)
	first := s.one(t, q, time.Second)
	time.Sleep(time.Second + s.Late)
	s.one(t, q, time.Second)
	time.Sleep(time.Second + s.Late)
	none(t, q, queueName)
	in := s.receive(t, q, deadLetters, 10, hidden)
	if len(in) != 1 {
		t.Fatalf("%d messages in the dead-letter queue, want 1", len(in))
	}
	equal(t, "id", in[0].ID, first.ID)
	equal(t, "body", in[0].Body, out.Body)
	equal(t, "attributes", in[0].Attributes, out.Attributes)
	must(t, q.Delete(t.Context(), deadLetters, []string{in[0].Receipt}))
	none(t, q, queueName)
	none(t, q, deadLetters)
}

func (s queueSuite) restart(t *testing.T, q Queue) {
	attributes := []push.Attribute{{Name: "a", Type: "String", Value: "v"}}
	send(t, q, queueName, pipeline.Outgoing{Body: "waiting", Group: "g", Attributes: attributes})
	waiting := s.one(t, q, 2*time.Second)
	send(t, q, queueName, pipeline.Outgoing{Body: "deleted"}, pipeline.Outgoing{Body: "deleted"})
	for _, m := range slices.Concat(s.receive(t, q, queueName, 1, hidden), s.receive(t, q, queueName, 1, hidden)) {
		must(t, q.Delete(t.Context(), queueName, []string{m.Receipt}))
	}
	q = s.Reopen(t, q)
	in, err := q.Receive(t.Context(), queueName, 10, hidden, 2*time.Second+s.Late)
	must(t, err)
	if len(in) != 1 {
		t.Fatalf("%d messages after a restart, want the one that was in flight: %+v", len(in), in)
	}
	equal(t, "id", in[0].ID, waiting.ID)
	equal(t, "body", in[0].Body, "waiting")
	equal(t, "group", in[0].Group, "g")
	equal(t, "attributes", in[0].Attributes, attributes)
	equal(t, "sent", in[0].Sent, waiting.Sent)
	must(t, q.Delete(t.Context(), queueName, []string{in[0].Receipt}))
	send(t, q, queueName, pipeline.Outgoing{Body: "new"})
	if fresh := s.one(t, q, hidden); fresh.ID == waiting.ID || fresh.Body != "new" {
		t.Errorf("after a restart %+v shares the id of %+v", fresh, waiting)
	}
}

func (s queueSuite) restartDelayed(t *testing.T, q Queue) {
	const delay = 5 * time.Second
	start := time.Now()
	send(t, q, queueName, pipeline.Outgoing{Body: "later", Delay: delay})
	q = s.Reopen(t, q)
	none(t, q, queueName)
	in, err := q.Receive(t.Context(), queueName, 10, hidden, delay+s.Late)
	must(t, err)
	if len(in) != 1 || in[0].Body != "later" {
		t.Fatalf("received %+v", in)
	}
	if after := time.Since(start); after < delay || after > delay+s.Late {
		t.Errorf("came after %v, want %v", after, delay)
	}
}
