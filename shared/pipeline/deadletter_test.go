package pipeline

import (
	"encoding/json"
	"fmt"
	"testing"

	"postino/shared/envelope"
	"postino/shared/push"
)

func attributes(n int) (out []push.Attribute) {
	for i := range n {
		out = append(out, push.Attribute{Name: fmt.Sprintf("a%d", i), Type: "String", Value: "v"})
	}
	return out
}

// dies lets the only attempt of a message fail for good.
func dies(t *testing.T, f *fakes, change func(*push.Subscription), m func(*push.Message)) {
	t.Helper()
	f.change(0, change)
	f.answer = always(gone)
	j := f.job(0)
	m(&j.Message)
	f.start(j)
	f.run(t, f.deliver())
}

func TestTheDeadLetterIsWhatWouldHaveBeenDeliveredWithANote(t *testing.T) {
	for _, raw := range []bool{false, true} {
		f := newFakes(1)
		dies(t, f, func(s *push.Subscription) { s.Raw, s.RedrivePolicy = raw, `{"deadLetterTargetArn":"`+ownDLQ+`"}` },
			func(m *push.Message) { m.Subject, m.Attributes = "about", attributes(2) })
		letters := f.in(ownDLQ)
		if len(letters) != 1 || len(f.sent) != 1 {
			t.Fatalf("sent %+v", f.sent)
		}
		l := letters[0]
		note, ok := noteOf(l.Attributes)
		if !ok || note.Subscription != subARN(topicA, 0) || note.Topic != topicA || note.MessageID != "m" || note.Attempts != 1 || note.Status != 410 ||
			note.Raw != raw || note.Reason == "" || note.Refused != "" || !note.Published.Equal(crashStart) || note.Redrives != 0 {
			t.Errorf("note %+v", note)
		}
		if raw && (l.Body != "hello" || len(l.Attributes) != 3 || note.Subject != "about") {
			t.Errorf("raw letter %+v", l)
		}
		if !raw && (l.Body != string(f.pushed[0].Body) || len(l.Attributes) != 1) {
			t.Errorf("letter %q with %d attributes, pushed %q", l.Body, len(l.Attributes), f.pushed[0].Body)
		}
		if d := f.records[f.job(0).Key()]; d.State != push.Dead || d.Target != ownDLQ {
			t.Errorf("record %+v", d)
		}
		if f.kinds() != "dead" || f.events[0].Target != ownDLQ {
			t.Errorf("events %+v", f.events)
		}
	}
}

func TestWithoutAQueueOfItsOwnADeadLetterGoesToTheInstallations(t *testing.T) {
	f := newFakes(1)
	dies(t, f, func(*push.Subscription) {}, func(*push.Message) {})
	if letters := f.in(crashNames.DeadLetter); len(letters) != 1 || len(f.sent) != 1 {
		t.Errorf("sent %+v", f.sent)
	}
}

func TestAQueueThatRefusesForGoodIsReplacedWithTheReason(t *testing.T) {
	f := newFakes(1)
	f.refuse = func(queue string, _ Outgoing) error {
		if queue == ownDLQ {
			return fmt.Errorf("send: %w", &RefusedError{"the queue does not exist"})
		}
		return nil
	}
	dies(t, f, func(s *push.Subscription) { s.RedrivePolicy = `{"deadLetterTargetArn":"` + ownDLQ + `"}` }, func(*push.Message) {})
	letters := f.in(crashNames.DeadLetter)
	if len(letters) != 1 {
		t.Fatalf("sent %+v", f.sent)
	}
	if note, _ := noteOf(letters[0].Attributes); note.Refused != "the queue does not exist" {
		t.Errorf("note %+v", note)
	}
	if d := f.records[f.job(0).Key()]; d.Target != crashNames.DeadLetter {
		t.Errorf("record %+v", d)
	}
	if e := f.events[0]; e.Kind != EventDead || e.Refused != "the queue does not exist" || e.Target != crashNames.DeadLetter {
		t.Errorf("event %+v", e)
	}
}

func TestAQueueThatIsDownIsTriedAgainWithoutAnotherPush(t *testing.T) {
	f := newFakes(1)
	tries := 0
	f.refuse = func(queue string, _ Outgoing) error {
		if queue == ownDLQ {
			if tries++; tries < 5 {
				return errDown
			}
		}
		return nil
	}
	dies(t, f, func(s *push.Subscription) { s.RedrivePolicy = `{"deadLetterTargetArn":"` + ownDLQ + `"}` }, func(*push.Message) {})
	if len(f.in(ownDLQ)) != 1 || len(f.in(crashNames.DeadLetter)) != 0 || tries != 5 {
		t.Errorf("after %d tries: %+v", tries, f.sent)
	}
	if len(f.pushed) != 1 {
		t.Errorf("%d pushes: a failure on our side burns no attempt", len(f.pushed))
	}
}

func TestTenAttributesLeaveNoRoomForTheNoteAndMoreThanTenStayBehind(t *testing.T) {
	for n, want := range map[int]struct {
		noted          bool
		inAll, dropped int
	}{9: {true, 10, 0}, 10: {false, 10, 0}, 11: {true, 1, 11}, 50: {true, 1, 50}} {
		f := newFakes(1)
		f.refuse = func(_ string, e Outgoing) error {
			if len(e.Attributes) > maxQueueAttributes {
				return &RefusedError{"too many attributes"}
			}
			return nil
		}
		dies(t, f, func(s *push.Subscription) { s.Raw, s.RedrivePolicy = true, `{"deadLetterTargetArn":"`+ownDLQ+`"}` }, func(m *push.Message) { m.Attributes = attributes(n) })
		letters := f.in(ownDLQ)
		if len(letters) != 1 || len(f.sent) != 1 || letters[0].Body != "hello" {
			t.Fatalf("%d attributes of its own: sent %+v", n, f.sent)
		}
		note, noted := noteOf(letters[0].Attributes)
		if noted != want.noted || len(letters[0].Attributes) != want.inAll || note.AttributesDropped != want.dropped {
			t.Errorf("%d attributes of its own: %d in all, note %+v", n, len(letters[0].Attributes), note)
		}
	}
}

func TestALetterWithMoreAttributesThanAQueueTakesCanBeSentAgain(t *testing.T) {
	f := newFakes(1)
	dies(t, f, func(s *push.Subscription) { s.Raw = true }, func(m *push.Message) { m.Attributes = attributes(11) })
	l := f.in(crashNames.DeadLetter)[0]
	f.sent, f.answer = nil, nil
	if err := f.redrive().Send(t.Context(), Record{ID: "1", Body: l.Body, Attributes: l.Attributes, Queue: l.queue}, false); err != nil {
		t.Fatal(err)
	}
	f.run(t, f.deliver())
	if len(f.pushed) != 2 || string(f.pushed[1].Body) != "hello" || f.kinds() != "dead redriven delivered" {
		t.Errorf("%d pushes, events %q", len(f.pushed), f.kinds())
	}
}

func TestALetterThatBothQueuesRefuseIsDeliveredWhenItIsSentAgain(t *testing.T) {
	f := newFakes(1)
	f.change(0, func(s *push.Subscription) { s.DeliveryPolicy = twoRetries })
	f.refuse = func(queue string, _ Outgoing) error {
		if queue == ownDLQ || queue == crashNames.DeadLetter {
			return &RefusedError{"the message is too large"}
		}
		return nil
	}
	dies(t, f, func(s *push.Subscription) { s.RedrivePolicy = `{"deadLetterTargetArn":"` + ownDLQ + `"}` }, func(*push.Message) {})
	kept := f.in(crashNames.Failed)
	if len(kept) != 1 || len(f.sent) != 1 || len(kept[0].Attributes) != 1 || kept[0].Attributes[0].Name != "Reason" {
		t.Fatalf("sent %+v", f.sent)
	}
	if d := f.records[f.job(0).Key()]; d.State != push.Dead || d.Target != crashNames.Failed {
		t.Fatalf("record %+v", d)
	}
	f.sent, f.answer = nil, nil
	if err := f.redrive().Send(t.Context(), Record{ID: "1", Body: kept[0].Body, Queue: crashNames.Failed}, false); err != nil {
		t.Fatal(err)
	}
	f.run(t, f.deliver())
	if len(f.pushed) != 2 || f.kinds() != "dead delivered" {
		t.Errorf("%d pushes, events %q: the chain that ended must not swallow the new one", len(f.pushed), f.kinds())
	}
}

func TestAPublishersAttributeCannotPassForTheNote(t *testing.T) {
	forged, _ := json.Marshal(DeadLetterNote{V: 1, Subscription: subARN(topicA, 7), Raw: true})
	for _, n := range []int{0, 8, 9} {
		f := newFakes(1)
		dies(t, f, func(s *push.Subscription) { s.Raw = true }, func(m *push.Message) {
			m.Attributes = append(attributes(n), push.Attribute{Name: DeadLetterAttribute, Type: "String", Value: string(forged)})
		})
		l := f.in(crashNames.DeadLetter)[0]
		notes := 0
		for _, a := range l.Attributes {
			if a.Name == DeadLetterAttribute {
				notes++
			}
		}
		if note, ok := noteOf(l.Attributes); notes != 1 || !ok || note.Subscription != subARN(topicA, 0) {
			t.Errorf("with %d others: %d notes, the first %+v", n, notes, note)
		}
	}
}

func TestAnExhaustedConfirmationIsDroppedAndItsTokenGoesNowhere(t *testing.T) {
	f := newFakes(1)
	f.change(0, func(s *push.Subscription) { s.Confirmed, s.Token, s.DeliveryPolicy = false, "secret", twoRetries })
	f.answer = always(unavailable)
	j := f.job(0)
	j.Kind, j.Message.Token = push.SubscriptionConfirm, "secret"
	f.start(j)
	f.run(t, f.deliver())
	if len(f.pushed) != 3 || len(f.sent) != 0 || f.kinds() != "retry retry dropped" || f.records[j.Key()].State != push.Dropped {
		t.Errorf("%d pushes, left %+v, events %q, record %+v", len(f.pushed), f.sent, f.kinds(), f.records[j.Key()])
	}
}

func TestALetterOfAMessageSignedByNobodyIsSigned(t *testing.T) {
	f := newFakes(1)
	dies(t, f, func(*push.Subscription) {}, func(*push.Message) {})
	m, err := envelope.Parse(f.in(crashNames.DeadLetter)[0].Body)
	if err != nil || m.Signature.Value == "" {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestADeadLetterNeverGoesToAQueueThatJobsAreBelievedFrom(t *testing.T) {
	for _, queue := range []string{crashNames.Attempt, crashNames.Retry, crashNames.Fanout, crashNames.Failed} {
		f := newFakes(1)
		forged := f.job(0).Encode()
		own := "arn:aws:sqs:us-east-1:123456789012:" + push.QueueName(queue)
		dies(t, f, func(s *push.Subscription) { s.Raw, s.RedrivePolicy = true, `{"deadLetterTargetArn":"`+own+`"}` }, func(m *push.Message) { m.Body = forged })
		if letters := f.in(crashNames.DeadLetter); len(letters) != 1 {
			t.Errorf("%s: sent %+v", queue, f.sent)
		}
	}
}
