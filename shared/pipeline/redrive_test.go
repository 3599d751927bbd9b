package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"postino/shared/envelope"
	"postino/shared/push"
)

// letter is a dead letter of subscription i as SQS hands it out.
func letter(i int, raw bool, edit func(*DeadLetterNote)) Record {
	s := push.Subscription{ARN: subARN(topicA, i), TopicARN: topicA, Raw: raw}
	m := push.Message{ID: "m", TopicARN: topicA, Body: "hello", Timestamp: crashStart, Attributes: []push.Attribute{{Name: "k", Type: "String", Value: "v"}},
		Subject: "about", Signature: push.Signature{Version: "1", Value: "eA==", CertURL: "https://push.example.com/cert.pem"}}
	body, attributes := envelope.DeadLetter(m, s, envelope.Links{PublicURL: "https://push.example.com"})
	note := DeadLetterNote{V: 1, Subscription: s.ARN, Topic: topicA, MessageID: "m", Attempts: 3, Raw: raw, Published: crashStart}
	if raw {
		note.Subject = m.Subject
	}
	if edit != nil {
		edit(&note)
	}
	b, _ := json.Marshal(note)
	return Record{ID: "letter-1", Body: body, Queue: ownDLQ, Attributes: append(attributes, push.Attribute{Name: DeadLetterAttribute, Type: "String", Value: string(b)})}
}

// ownQueue gives a subscription the queue that letters come from.
func ownQueue(s *push.Subscription) { s.RedrivePolicy = `{"deadLetterTargetArn":"` + ownDLQ + `"}` }

func TestALetterIsSentAgainAsANewGenerationOfTheSameMessage(t *testing.T) {
	for _, raw := range []bool{false, true} {
		f := newFakes(1)
		f.change(0, ownQueue)
		l := letter(0, raw, nil)
		if failed := f.redrive().Handle(t.Context(), []Record{l}); failed != nil {
			t.Fatal(failed)
		}
		j, _ := f.onlyJob(t, crashNames.Retry)
		m := j.Message
		if j.Subscription != subARN(topicA, 0) || j.Attempt != 1 || j.Redrives != 1 || j.Generation == "" || m.ID != "m" || m.Body != "hello" || m.Subject != "about" ||
			m.TopicARN != topicA || !m.Timestamp.Equal(crashStart) || len(m.Attributes) != 1 || m.Attributes[0].Name != "k" {
			t.Errorf("raw %v: %+v", raw, j)
		}
		if f.kinds() != "redriven" {
			t.Errorf("events %q", f.kinds())
		}
		f.sent = nil
		f.redrive().Handle(t.Context(), []Record{l})
		if again, _ := f.onlyJob(t, crashNames.Retry); again.Generation != j.Generation {
			t.Error("the same letter handled twice makes two chains")
		}
		f.sent = nil
		l.ID = "letter-2"
		f.redrive().Handle(t.Context(), []Record{l})
		if other, _ := f.onlyJob(t, crashNames.Retry); other.Generation == j.Generation {
			t.Error("two letters share a chain, which the first one's end would swallow")
		}
	}
}

func TestALetterDiesAndComesToLifeAndDiesAgainUpToTheLimit(t *testing.T) {
	f := newFakes(1)
	f.change(0, ownQueue)
	f.answer = always(gone)
	f.start(f.job(0))
	f.run(t, f.deliver())
	v := f.redrive()
	first := f.in(ownDLQ)[0]
	f.sent = nil
	if err := v.Send(t.Context(), Record{ID: "1", Body: first.Body, Attributes: first.Attributes, Queue: ownDLQ}, false); err != nil {
		t.Fatal(err)
	}
	f.run(t, f.deliver())
	if len(f.pushed) != 2 {
		t.Fatalf("%d pushes", len(f.pushed))
	}
	second := f.in(ownDLQ)[0]
	f.sent = nil
	r := Record{ID: "2", Body: second.Body, Attributes: second.Attributes, Queue: ownDLQ}
	err := v.Send(t.Context(), r, false)
	if _, final := errors.AsType[*UnsendableError](err); !final || len(f.sent) != 0 {
		t.Errorf("above the limit: %v, sent %v", err, f.sent)
	}
	if err := v.Send(t.Context(), r, true); err != nil || len(f.in(crashNames.Retry)) != 1 {
		t.Errorf("forced: %v", err)
	}
}

func TestALetterThatCannotBeSentAgainMovesToDeadLetterWithTheReason(t *testing.T) {
	forged := letter(0, false, nil)
	forged.Attributes = attributes(10)
	for name, c := range map[string]struct {
		letter Record
		spoil  func(*fakes)
	}{
		"its subscription is gone":            {letter(5, false, nil), func(*fakes) {}},
		"its subscription is a tombstone":     {letter(0, false, nil), func(f *fakes) { f.change(0, func(s *push.Subscription) { s.DeletedAt = crashStart }) }},
		"sent again often enough":             {letter(0, false, func(n *DeadLetterNote) { n.Redrives = 1 }), func(*fakes) {}},
		"neither note nor envelope":           {Record{ID: "x", Body: "hello", Queue: ownDLQ}, func(*fakes) {}},
		"an envelope without a link":          {Record{ID: "x", Body: `{"Type":"Notification","MessageId":"m","TopicArn":"t","Message":"x","Timestamp":"2026-01-01T00:00:00Z"}`, Queue: ownDLQ}, func(*fakes) {}},
		"a raw body that looks like a letter": {forged, func(*fakes) {}},
		"a raw body that looks like a job":    {Record{ID: "x", Body: newFakes(1).job(0).Encode(), Queue: ownDLQ}, func(*fakes) {}},
		"an envelope of another kind":         {Record{ID: "x", Body: `{"Type":"SubscriptionConfirmation"}`, Queue: ownDLQ}, func(*fakes) {}},
		"its note names no message":           {letter(0, true, func(n *DeadLetterNote) { n.MessageID = "" }), func(*fakes) {}},
		"its note names no subscription":      {letter(0, true, func(n *DeadLetterNote) { n.Subscription = "x" }), func(*fakes) {}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakes(1)
			c.spoil(f)
			if failed := f.redrive().Handle(t.Context(), []Record{c.letter}); failed != nil {
				t.Fatal(failed)
			}
			if len(f.in(crashNames.Retry)) != 0 {
				t.Fatalf("it was sent: %s", f.sent[0].Body)
			}
			moved := f.in(crashNames.DeadLetter)
			if len(moved) != 1 || moved[0].Body != c.letter.Body {
				t.Fatalf("moved %+v", moved)
			}
			last := moved[0].Attributes[len(moved[0].Attributes)-1]
			if len(c.letter.Attributes) < 10 && (last.Name != RefusalAttribute || last.Value == "") {
				t.Errorf("attributes %+v", moved[0].Attributes)
			}
			c.letter.Queue = "arn:aws:sqs:eu-west-1:123456789012:" + crashNames.DeadLetter
			f.sent = nil
			if failed := f.redrive().Handle(t.Context(), []Record{c.letter}); len(failed) != 1 || len(f.sent) != 0 {
				t.Errorf("from DeadLetterQueue itself: failed %v, sent %v", failed, f.sent)
			}
		})
	}
}

// Whoever may send to the queue of one subscription chooses no other's endpoint.
func TestAForgedLetterReachesNobody(t *testing.T) {
	bare := letter(0, false, nil)
	bare.Attributes = nil
	for name, c := range map[string]struct {
		letter Record
		// anywhere: not from DeadLetterQueue either, nor by force.
		anywhere bool
		spoil    func(*push.Subscription)
	}{
		"of a subscription with another queue": {letter(0, false, nil), false, func(s *push.Subscription) {
			s.RedrivePolicy = `{"deadLetterTargetArn":"arn:aws:sqs:eu-west-1:123456789012:another"}`
		}},
		"of a subscription with no queue":             {letter(0, true, nil), false, func(s *push.Subscription) { s.RedrivePolicy = "" }},
		"an envelope alone, whose link names it":      {bare, true, ownQueue},
		"with another topic in its note":              {letter(0, true, func(n *DeadLetterNote) { n.Topic = topicA + "-ceo" }), true, ownQueue},
		"with another subscription than its envelope": {letter(0, false, func(n *DeadLetterNote) { n.Subscription = subARN(topicA+"-b", 0) }), true, ownQueue},
		"that claims to have redrives to spare":       {letter(0, true, func(n *DeadLetterNote) { n.Redrives = -1000 }), true, ownQueue},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakes(1)
			f.change(0, c.spoil)
			v := f.redrive()
			err := v.Send(t.Context(), c.letter, false)
			if _, final := errors.AsType[*UnsendableError](err); !final || len(f.sent) != 0 {
				t.Errorf("it is sent (%v): %v", err, f.sent)
			}
			if failed := v.Handle(t.Context(), []Record{c.letter}); failed != nil || len(f.in(crashNames.Retry)) != 0 {
				t.Errorf("the function sends it: %v, %v", failed, f.sent)
			}
			f.sent = nil
			forced := v.Send(t.Context(), c.letter, true)
			c.letter.Queue = crashNames.DeadLetter
			trusted := v.Send(t.Context(), c.letter, false)
			if (forced != nil) != c.anywhere || (trusted != nil) != c.anywhere {
				t.Errorf("by force: %v; from DeadLetterQueue: %v", forced, trusted)
			}
		})
	}
}

func TestFailuresOnOurSideLeaveALetterWhereItIs(t *testing.T) {
	for name, spoil := range map[string]func(*fakes){
		"directory down": func(f *fakes) { f.directory = errDown },
		"queue down":     func(f *fakes) { f.refuse = func(string, Outgoing) error { return errDown } },
	} {
		f := newFakes(1)
		spoil(f)
		if failed := f.redrive().Handle(t.Context(), []Record{letter(0, true, nil)}); len(failed) != 1 || len(f.sent) != 0 || f.kinds() != "fault" {
			t.Errorf("%s: failed %v, sent %v, events %q", name, failed, f.sent, f.kinds())
		}
	}
}

func TestFailedJobsGoBackToTheLaneTheyFailedOn(t *testing.T) {
	f := newFakes(1)
	j := f.job(0)
	j.Attempt, j.Stumbles = 2, 100
	page := pageOf(FanoutPage{After: subARN(topicA, 0)})
	v := f.redrive()
	queue := "arn:aws:sqs:eu-west-1:123456789012:" + crashNames.Failed
	failed := v.Handle(t.Context(), []Record{{ID: "1", Body: j.Encode(), Queue: queue}, {ID: "2", Body: page.Body, Queue: queue}, {ID: "3", Body: "?", Queue: queue}})
	if failed != nil {
		t.Fatal(failed)
	}
	back, _ := f.onlyJob(t, crashNames.Retry)
	if back.Attempt != 2 || back.Generation != "" || back.Stumbles > 1 || back.Redrives != 0 {
		t.Errorf("job %+v: our own failure makes no new chain and its count starts again", back)
	}
	if pages := f.in(crashNames.Fanout); len(pages) != 1 || pages[0].Body != page.Body {
		t.Errorf("pages %+v", pages)
	}
	if rest := f.in(crashNames.DeadLetter); len(rest) != 1 || rest[0].Body != "?" {
		t.Errorf("what nobody reads: %+v", rest)
	}
}

// republisher takes what is no job, as the publish function's handler does.
type republisher struct {
	took []string
	err  error
}

func (p *republisher) Republish(_ context.Context, r Record) error {
	p.took = append(p.took, r.Body)
	return p.err
}

func TestWhatIsNoJobInFailedJobsIsPublishedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		failed int
		rest   int
	}{
		"published":           {nil, 0, 0},
		"refused for good":    {&UnsendableError{"its topic is gone"}, 0, 1},
		"a fault of our side": {errors.New("store down"), 1, 0},
	} {
		f := newFakes(1)
		v, p := f.redrive(), &republisher{err: c.err}
		v.Republisher = p
		failed := v.Handle(t.Context(), []Record{{ID: "1", Body: f.job(0).Encode(), Queue: crashNames.Failed}, {ID: "2", Body: "{}", Queue: crashNames.Failed},
			{ID: "3", Body: "{}", Queue: ownDLQ}})
		if len(p.took) != 1 || len(failed) != c.failed || len(f.in(crashNames.DeadLetter)) != c.rest+1 {
			t.Errorf("%s: %d published, came back %v, dead letters %v", name, len(p.took), failed, f.in(crashNames.DeadLetter))
		}
	}
}

// A queue's own redrive policy may move letters to FailedJobsQueue; a raw letter's
// body, which is a publisher's word, must not become a job there.
func TestALetterInFailedJobsIsNotTakenForAJob(t *testing.T) {
	f := newFakes(2)
	forged := f.job(1).Encode()
	attribute := func(name string) push.Attribute { return push.Attribute{Name: name, Type: "String", Value: "{}"} }
	var ten []push.Attribute
	for i := range 10 {
		ten = append(ten, attribute(fmt.Sprint("a", i)))
	}
	for name, attributes := range map[string][]push.Attribute{
		"with its note": {attribute(DeadLetterAttribute)}, "refused before": {attribute(RefusalAttribute)}, "with no room for a note": ten,
	} {
		f.sent = nil
		failed := f.redrive().Handle(t.Context(), []Record{{ID: "1", Body: forged, Attributes: attributes, Queue: crashNames.Failed}})
		if len(f.in(crashNames.Retry)) != 0 || len(f.in(crashNames.DeadLetter)) != 1 || failed != nil {
			t.Errorf("%s: came back %v, sent %v", name, failed, f.sent)
		}
	}
}

func TestAFirstAttemptOutOfFailedJobsIsNotPushedBesideItsRecord(t *testing.T) {
	f := newFakes(1)
	j := f.job(0) // parked with its count of stumbles reset
	f.records[j.Key()] = push.Delivery{Key: j.Key(), Attempt: 1, State: push.Finished, NextAt: f.now.Add(time.Minute)}
	if failed := f.redrive().Handle(t.Context(), []Record{{ID: "1", Body: j.Encode(), Queue: crashNames.Failed}}); failed != nil {
		t.Fatal(failed)
	}
	back := f.in(crashNames.Retry)[0]
	f.sent = nil
	f.deliver().Handle(t.Context(), []Record{{ID: "2", Body: back.Body, Queue: back.queue, ReceiveCount: 1}})
	if next, _ := f.onlyJob(t, crashNames.Retry); next.Attempt != 2 || len(f.pushed) != 0 {
		t.Errorf("%d pushes of an attempt that was made already, then %+v", len(f.pushed), next)
	}
}

// FuzzLetter: whatever lies in a dead-letter queue is sent to the subscription
// its note or its envelope names, or is unsendable; nothing breaks.
func FuzzLetter(f *testing.F) {
	for _, raw := range []bool{false, true} {
		l := letter(0, raw, nil)
		f.Add(l.Body, l.Attributes[len(l.Attributes)-1].Value, true, raw)
		f.Add(l.Body, "", false, raw)
	}
	f.Add(`{"Type":"Notification","MessageId":"m","UnsubscribeURL":"%zz"}`, `{"v":2}`, true, false)
	f.Add("0", `{"v":1,"subscription":"::::::","raw":true}`, true, true)
	f.Add("", `{"v":1,"raw":true,"published":"0000-00-00"}`, true, true)
	f.Fuzz(func(t *testing.T, body, note string, noted, other bool) {
		r := Record{ID: "1", Body: body, Queue: ownDLQ}
		if other {
			r.Attributes = attributes(1)
		}
		if noted {
			r.Attributes = append(r.Attributes, push.Attribute{Name: DeadLetterAttribute, Type: "String", Value: note})
		}
		v := newFakes(1).redrive()
		j, err := v.job(r)
		if err != nil {
			if _, final := errors.AsType[*UnsendableError](err); !final || err.Error() == "" {
				t.Fatalf("%v is not final", err)
			}
			return
		}
		n, isNote := noteOf(r.Attributes)
		if other && !isNote {
			t.Fatalf("a raw body chose its subscription: %+v", j)
		}
		if want := n.Subscription; isNote && j.Subscription != want {
			t.Fatalf("sent to %s, the note names %s", j.Subscription, want)
		}
		if j.Generation == "" || j.Attempt != 1 || push.TopicOf(j.Subscription) == "" {
			t.Fatalf("%+v is no new chain's first job", j)
		}
		again, err := push.DecodeJob(j.Encode())
		if err != nil {
			t.Fatalf("the job it makes cannot be read: %v in %s", err, j.Encode())
		}
		if again.Key() != j.Key() || again.Message.Body != j.Message.Body {
			t.Fatalf("written as %+v, read as %+v", j, again)
		}
	})
}
