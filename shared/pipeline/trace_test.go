package pipeline

import (
	"net/http"
	"testing"

	"postino/shared/push"
)

var traced = push.Trace{Parent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", State: "rojo=1,t@dt=<&>"}

func tracedEntry() []push.Publication { return []push.Publication{{Message: "hello", Trace: traced}} }

// One message on the longest way there is: a page, a first attempt, a retry
// through a queue, one through a timer, the dead-letter queue, and again.
func TestATraceGoesAllTheWayFromPublishToEveryPush(t *testing.T) {
	for _, raw := range []bool{false, true} {
		f := newFakes(1)
		f.change(0, func(s *push.Subscription) {
			s.Raw = raw
			s.DeliveryPolicy = `{"healthyRetryPolicy":{"numRetries":2,"minDelayTarget":600,"maxDelayTarget":1800,"backoffFunction":"linear"}}`
			s.RedrivePolicy = `{"deadLetterTargetArn":"` + ownDLQ + `"}`
		})
		f.answer = always(unavailable)
		p := f.publish()
		p.Trace, p.InlineLimit = true, 0
		if _, err := p.Publish(t.Context(), PublishRequest{TopicARN: topicA, Entries: tracedEntry()}); err != nil {
			t.Fatal(err)
		}
		page := f.sent[0]
		f.sent = nil
		if failed := f.fanout().Handle(t.Context(), []Record{{ID: "p", Body: page.Body, Queue: page.queue}}); failed != nil {
			t.Fatal("the page comes back")
		}
		d := f.deliver()
		for f.run(t, d); len(f.timers) > 0; f.run(t, d) {
			for name, m := range f.timers {
				f.sent = append(f.sent, m)
				delete(f.timers, name)
			}
		}
		letters := f.in(ownDLQ)
		if len(letters) != 1 || len(f.pushed) != 3 {
			t.Fatalf("%d letters after %d pushes", len(letters), len(f.pushed))
		}
		f.sent, f.answer = nil, nil
		if failed := f.redrive().Handle(t.Context(), []Record{{ID: "l", Body: letters[0].Body, Attributes: letters[0].Attributes, Queue: ownDLQ}}); failed != nil {
			t.Fatal("the letter stays")
		}
		f.run(t, d)
		if len(f.pushed) != 4 {
			t.Fatalf("%d pushes", len(f.pushed))
		}
		for i, r := range f.pushed {
			wantTrace(t, i, r.Header, traced)
		}
		for _, e := range f.events {
			if e.TraceID != "4bf92f3577b34da6a3ce929d0e0e4736" {
				t.Errorf("%s has the trace %q", e.Kind, e.TraceID)
			}
		}
		if f.kinds() != "accepted retry retry dead redriven delivered" {
			t.Errorf("events %s", f.kinds())
		}
	}
}

func wantTrace(t *testing.T, push int, h http.Header, want push.Trace) {
	t.Helper()
	header := func(name string) []string { return h[name] } // in lower case
	parent, state := header("traceparent"), header("tracestate")
	switch {
	case want.Parent == "":
		if parent != nil || state != nil {
			t.Errorf("push %d has traceparent %q and tracestate %q", push, parent, state)
		}
	case len(parent) != 1 || parent[0] != want.Parent || len(state) != 1 || state[0] != want.State:
		t.Errorf("push %d has traceparent %q and tracestate %q", push, parent, state)
	}
}

func TestATraceIsDroppedUnlessAskedFor(t *testing.T) {
	f := newFakes(1)
	if _, err := f.publish().Publish(t.Context(), PublishRequest{TopicARN: topicA, Entries: tracedEntry()}); err != nil {
		t.Fatal(err)
	}
	f.run(t, f.deliver())
	wantTrace(t, 0, f.pushed[0].Header, push.Trace{})
	if f.events[0].TraceID != "" {
		t.Errorf("the event has the trace %q", f.events[0].TraceID)
	}
}

func TestAMessageKeepsItsIDWhateverItsTrace(t *testing.T) {
	f := newFakes(1)
	p := f.publish()
	p.Trace = true
	ids := map[string]bool{}
	for _, e := range [][]push.Publication{tracedEntry(), one("hello")} {
		results, err := p.Publish(t.Context(), PublishRequest{TopicARN: topicA, Invocation: "call", Entries: e})
		if err != nil {
			t.Fatal(err)
		}
		ids[results[0].MessageID] = true
	}
	if len(ids) != 1 {
		t.Errorf("a client that tries its call again, in another span, publishes another message: %v", ids)
	}
}
