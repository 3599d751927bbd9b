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

func TestTenAttributesLeaveNoRoomForTheNote(t *testing.T) {
	for _, n := range []int{9, 10} {
		f := newFakes(1)
		dies(t, f, func(s *push.Subscription) { s.Raw = true }, func(m *push.Message) { m.Attributes = attributes(n) })
		l := f.in(crashNames.DeadLetter)[0]
		if _, noted := noteOf(l.Attributes); noted != (n == 9) || len(l.Attributes) != 10 {
			t.Errorf("%d attributes of its own: %d in all, noted %v", n, len(l.Attributes), noted)
		}
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
