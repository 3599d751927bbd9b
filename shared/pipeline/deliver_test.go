package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"postino/shared/envelope"
	"postino/shared/push"
)

// twoRetries is a policy of two retries, 20 s apart.
const twoRetries = `{"healthyRetryPolicy":{"minDelayTarget":20,"maxDelayTarget":20,"numRetries":2}}`

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("postino/shared/crew.(*Crew).member"))
}

func TestAFirstAttemptThatSucceedsTouchesNoRecord(t *testing.T) {
	f := newFakes(1)
	f.store = errors.New("the store is not to be asked")
	if failed := f.deliver().Handle(t.Context(), []Record{record(crashNames.Attempt, f.job(0))}); failed != nil {
		t.Fatalf("%v comes back", failed)
	}
	if len(f.pushed) != 1 || len(f.sent) != 0 || f.kinds() != "delivered" {
		t.Errorf("%d pushes, sent %v, events %q", len(f.pushed), f.sent, f.kinds())
	}
	e := f.events[0]
	if e.Endpoint != "https://h0.example.com/x" || e.Attempt.Number != 1 || e.Attempt.Phase != "initial" || e.Attempt.Status != 200 || e.Lane != crashNames.Attempt {
		t.Errorf("event %+v", e)
	}
}

func TestAFailedAttemptIsRecordedAndItsSuccessorSentWithItsDelay(t *testing.T) {
	f := newFakes(1)
	f.change(0, func(s *push.Subscription) { s.DeliveryPolicy = twoRetries })
	f.answer = always(unavailable)
	if failed := f.deliver().Handle(t.Context(), []Record{record(crashNames.Attempt, f.job(0))}); failed != nil {
		t.Fatalf("%v comes back", failed)
	}
	next, sent := f.onlyJob(t, crashNames.Retry)
	if next.Attempt != 2 || !next.NotBefore.Equal(f.now.Add(20*time.Second)) || sent.Delay != 20*time.Second || next.Message.Body != "hello" {
		t.Errorf("next %+v after %s", next, sent.Delay)
	}
	d := f.records[f.job(0).Key()]
	if d.Attempt != 1 || d.State != push.Finished || !d.NextAt.Equal(next.NotBefore) || len(d.Attempts) != 1 || d.Attempts[0].Status != 503 || d.Reason == "" {
		t.Errorf("record %+v", d)
	}
	if d.Expires.Sub(f.now) < 14*24*time.Hour {
		t.Errorf("the record is forgotten after %s, before its dead letter", d.Expires.Sub(f.now))
	}
	if f.kinds() != "retry" || !f.events[0].At.Equal(next.NotBefore) {
		t.Errorf("events %+v", f.events)
	}
}

// run works off the lanes until nothing is left, moving the clock to each
// message's time, and gives the number of messages handled.
func (f *fakes) run(t *testing.T, d *Deliver) (n int) {
	t.Helper()
	for ; n < 1000; n++ {
		next := -1
		for i, m := range f.sent {
			if (m.queue == crashNames.Attempt || m.queue == crashNames.Retry) && (next < 0 || m.at.Before(f.sent[next].at)) {
				next = i
			}
		}
		if next < 0 {
			return n
		}
		m := f.sent[next]
		f.sent = append(f.sent[:next:next], f.sent[next+1:]...)
		if m.at.After(f.now) {
			f.now = m.at
		}
		if failed := d.Handle(t.Context(), []Record{{ID: "x", Body: m.Body, Queue: m.queue, ReceiveCount: 1}}); failed != nil {
			t.Fatalf("job %s comes back: %+v", m.Body, f.events[len(f.events)-1])
		}
	}
	t.Fatal("it does not end")
	return n
}

func (f *fakes) start(jobs ...push.Job) {
	for _, j := range jobs {
		f.sent = append(f.sent, sentMessage{crashNames.Attempt, f.now, Outgoing{Body: j.Encode()}})
	}
}

func TestOutcomesDecideWhatFollows(t *testing.T) {
	for name, c := range map[string]struct {
		answers []push.Result
		pushes  int
		state   push.State
		events  string
	}{
		"success on the last retry":     {[]push.Result{unavailable, hung, {Class: push.Success, Status: 204}}, 3, push.Delivered, "retry retry delivered"},
		"exhausted":                     {[]push.Result{unavailable, unavailable, hung}, 3, push.Dead, "retry retry dead"},
		"permanent at once":             {[]push.Result{gone}, 1, push.Dead, "dead"},
		"permanent on a retry":          {[]push.Result{unavailable, gone}, 2, push.Dead, "retry dead"},
		"a class nobody knows is retry": {[]push.Result{{Class: "?", Status: 299}, {Class: push.Success, Status: 200}}, 2, push.Delivered, "retry delivered"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakes(1)
			f.change(0, func(s *push.Subscription) { s.DeliveryPolicy = twoRetries })
			f.answer = func(context.Context) push.Result { return c.answers[len(f.pushed)-1] }
			f.start(f.job(0))
			f.run(t, f.deliver())
			if len(f.pushed) != c.pushes || f.records[f.job(0).Key()].State != c.state || f.kinds() != c.events {
				t.Errorf("%d pushes, %s, events %q", len(f.pushed), f.records[f.job(0).Key()].State, f.kinds())
			}
			if letters := len(f.in(crashNames.DeadLetter)); (c.state == push.Dead) != (letters == 1) {
				t.Errorf("%d letters", letters)
			}
		})
	}
}

func TestEachAttemptUsesThePolicyOfItsMoment(t *testing.T) {
	f := newFakes(1)
	f.change(0, func(s *push.Subscription) { s.DeliveryPolicy = twoRetries })
	f.answer = func(context.Context) push.Result {
		f.change(0, func(s *push.Subscription) {
			s.DeliveryPolicy = `{"healthyRetryPolicy":{"minDelayTarget":1,"maxDelayTarget":1,"numRetries":1}}`
		})
		return unavailable
	}
	f.start(f.job(0))
	f.run(t, f.deliver())
	if at := f.records[f.job(0).Key()].Attempts; len(f.pushed) != 2 || at[1].Started.Sub(at[0].Ended) != 20*time.Second {
		t.Errorf("attempts %+v: the due time stands, fewer retries end at the next failure", at)
	}
}

func TestAMessageIsSignedLateWhereNobodyNeededItAtFirst(t *testing.T) {
	f := newFakes(2)
	f.change(1, func(s *push.Subscription) { s.Raw = true })
	f.topics[topicA] = push.Topic{ARN: topicA, SignatureVersion: "2"}
	d := f.deliver()
	d.Handle(t.Context(), []Record{record(crashNames.Attempt, f.job(0))})
	if len(f.signed) != 1 || !strings.Contains(string(f.pushed[0].Body), `"SignatureVersion" : "2"`) {
		t.Errorf("signed %d times; pushed %s", len(f.signed), f.pushed[0].Body)
	}
	d.Handle(t.Context(), []Record{record(crashNames.Attempt, f.job(1))})
	signed := f.job(0)
	signed.Message.Signature = push.Signature{Version: "1", Value: "eA==", CertURL: "https://push.example.com/earlier.pem"}
	d.Handle(t.Context(), []Record{record(crashNames.Attempt, signed)})
	if len(f.signed) != 1 || string(f.pushed[1].Body) != "hello" {
		t.Errorf("signed %d times; a raw body and a signed message need none", len(f.signed))
	}
	signed.Message.Signature.CertURL = "https://moved.example.com/cert.pem"
	d.Handle(t.Context(), []Record{record(crashNames.Attempt, signed)})
	if len(f.signed) != 2 {
		t.Error("a certificate at a server's former address is no use")
	}
}

func TestWhatIsNoLongerWantedIsDropped(t *testing.T) {
	confirm := func(token string) func(*push.Job) {
		return func(j *push.Job) { j.Kind, j.Message.Token = push.SubscriptionConfirm, token }
	}
	for name, c := range map[string]struct {
		sub  func(*push.Subscription)
		job  func(*push.Job)
		want string // an event
	}{
		"unsubscribed":                   {func(s *push.Subscription) { s.DeletedAt = crashStart }, nil, "dropped"},
		"not confirmed":                  {func(s *push.Subscription) { s.Confirmed = false }, nil, "dropped"},
		"confirmation still wanted":      {func(s *push.Subscription) { s.Confirmed, s.Token = false, "t" }, confirm("t"), "delivered"},
		"confirmed meanwhile":            {func(s *push.Subscription) { s.Token = "t" }, confirm("t"), "dropped"},
		"another token":                  {func(s *push.Subscription) { s.Confirmed, s.Token = false, "u" }, confirm("t"), "dropped"},
		"token expired":                  {func(s *push.Subscription) { s.Confirmed, s.Token, s.TokenExpires = false, "t", crashStart.Add(-1) }, confirm("t"), "dropped"},
		"removed before confirmed":       {func(s *push.Subscription) { s.Confirmed, s.Token, s.DeletedAt = false, "t", crashStart }, confirm("t"), "dropped"},
		"farewell to a tombstone":        {func(s *push.Subscription) { s.Token, s.DeletedAt = "t", crashStart }, func(j *push.Job) { j.Kind, j.Message.Token = push.UnsubscribeConfirmation, "t" }, "delivered"},
		"farewell, but subscribed again": {nil, func(j *push.Job) { j.Kind = push.UnsubscribeConfirmation }, "dropped"},
		"paused, but a confirmation":     {func(s *push.Subscription) { s.Confirmed, s.Token, s.Paused = false, "t", true }, confirm("t"), "delivered"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakes(1)
			if c.sub != nil {
				f.change(0, c.sub)
			}
			j := f.job(0)
			if c.job != nil {
				c.job(&j)
			}
			if failed := f.deliver().Handle(t.Context(), []Record{record(crashNames.Attempt, j)}); failed != nil || f.kinds() != c.want {
				t.Errorf("failed %v, events %+v", failed, f.events)
			}
			if pushed := len(f.pushed) == 1; pushed != (c.want == "delivered") {
				t.Errorf("%d pushes", len(f.pushed))
			}
		})
	}
}

func TestADropEndsTheRecordWhereverItStands(t *testing.T) {
	for name, c := range map[string]struct {
		job      int
		received int
		record   push.Delivery
	}{
		"the attempt before finished":       {2, 1, push.Delivery{Attempt: 1, State: push.Finished}},
		"a worker died with its claim":      {2, 1, push.Delivery{Attempt: 2, State: push.Claimed}},
		"a worker died before sending":      {2, 1, push.Delivery{Attempt: 2, State: push.Finished}},
		"a first attempt recorded, no more": {1, 2, push.Delivery{Attempt: 1, State: push.Finished}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakes(1)
			f.change(0, func(s *push.Subscription) { s.DeletedAt = crashStart })
			j := f.job(0)
			j.Attempt = c.job
			c.record.Key = j.Key()
			f.records[j.Key()] = c.record
			rec := record(crashNames.Retry, j)
			rec.ReceiveCount = c.received
			f.deliver().Handle(t.Context(), []Record{rec})
			if d := f.records[j.Key()]; d.State != push.Dropped || d.Reason == "" {
				t.Errorf("record %+v", d)
			}
		})
	}
}

func TestAMissingSubscriptionIsBelievedOnlyAfterAStrongRead(t *testing.T) {
	f := newFakes(1)
	f.stale[subARN(topicA, 0)] = push.Subscription{} // not there yet
	f.deliver().Handle(t.Context(), []Record{record(crashNames.Attempt, f.job(0))})
	if f.kinds() != "delivered" {
		t.Errorf("events %q", f.kinds())
	}
	delete(f.subs, subARN(topicA, 0))
	f.deliver().Handle(t.Context(), []Record{record(crashNames.Attempt, f.job(0))})
	if f.kinds() != "delivered dropped" {
		t.Errorf("events %q", f.kinds())
	}
}

func TestAMessageBehindAFreshConfirmationIsNotDroppedOnTheWordOfACache(t *testing.T) {
	f := newFakes(1)
	f.change(0, func(s *push.Subscription) { s.Confirmed, s.Token = false, "t" })
	d := f.deliver()
	d.CacheFor = 5 * time.Second
	confirmation := f.job(0)
	confirmation.Kind, confirmation.Message.Token = push.SubscriptionConfirm, "t"
	d.Handle(t.Context(), []Record{record(crashNames.Attempt, confirmation)})
	f.change(0, func(s *push.Subscription) { s.Confirmed = true }) // the endpoint visits the link at once
	f.pass(time.Second)
	d.Handle(t.Context(), []Record{record(crashNames.Attempt, f.job(0))})
	if f.kinds() != "delivered delivered" {
		t.Errorf("events %q", f.kinds())
	}
	reads := f.reads
	d.Handle(t.Context(), []Record{record(crashNames.Attempt, f.job(0))})
	if f.reads != reads {
		t.Error("within five seconds the cache should do")
	}
	f.pass(5 * time.Second)
	d.Handle(t.Context(), []Record{record(crashNames.Attempt, f.job(0))})
	if f.reads == reads {
		t.Error("after five seconds the subscription is read again")
	}
}

func TestAContentTypeThatOnlyRawDeliveryAllowsDoesNotStopASubscriptionThatIsNoLongerRaw(t *testing.T) {
	f := newFakes(1)
	f.change(0, func(s *push.Subscription) { s.DeliveryPolicy = `{"requestPolicy":{"headerContentType":"text/csv"}}` })
	f.deliver().Handle(t.Context(), []Record{record(crashNames.Attempt, f.job(0))})
	if f.kinds() != "delivered" || f.pushed[0].Header["Content-Type"][0] != envelope.DefaultContentType {
		t.Errorf("events %+v", f.events)
	}
}

func TestPoisonGoesToFailedJobsWithTheReason(t *testing.T) {
	for _, body := range []string{"", "{", `{"v":99}`, `{"v":1,"kind":"Notification","sub":"x","n":1,"msg":{"id":"m"}}`} {
		f := newFakes(1)
		failed := f.deliver().Handle(t.Context(), []Record{{ID: "p", Body: body, Group: "g"}, record(crashNames.Attempt, f.job(0))})
		parked := f.in(crashNames.Failed)
		if failed != nil || len(parked) != 1 || parked[0].Body != body || parked[0].Group != "g" || len(parked[0].Attributes) != 1 || parked[0].Attributes[0].Value == "" {
			t.Errorf("%q: failed %v, parked %+v", body, failed, parked)
		}
		if len(f.pushed) != 1 {
			t.Errorf("%q: the good job beside it made %d pushes", body, len(f.pushed))
		}
	}
	f := newFakes(1)
	f.refuse = func(string, Outgoing) error { return errDown }
	if failed := f.deliver().Handle(t.Context(), []Record{{ID: "p", Body: "{"}}); len(failed) != 1 || f.kinds() != "fault" {
		t.Errorf("poison that cannot be parked: failed %v, events %q", failed, f.kinds())
	}
}

func TestAPanicOfTheSenderBringsItsRecordBackAndNoOther(t *testing.T) {
	f := newFakes(3)
	f.answer = func(context.Context) push.Result {
		if len(f.events) == 0 && len(f.pushed) == 1 {
			panic("sender on fire")
		}
		return push.Result{Class: push.Success, Status: 200}
	}
	d := f.deliver()
	bad := record(crashNames.Attempt, f.job(0))
	if failed := d.Handle(t.Context(), []Record{bad}); len(failed) != 1 || failed[0] != bad.ID || f.kinds() != "fault" || !strings.Contains(fmt.Sprint(f.events[0].Err), "sender on fire") {
		t.Fatalf("failed %v, events %+v", failed, f.events)
	}
	if failed := d.Handle(t.Context(), []Record{record(crashNames.Attempt, f.job(1)), record(crashNames.Attempt, f.job(2))}); failed != nil {
		t.Errorf("failed %v", failed)
	}
	for _, later := range []time.Duration{0, time.Hour} {
		if d.Health.Sick(subARN(topicA, 0), f.now.Add(later)) {
			t.Errorf("%s later a panic of ours makes the endpoint look sick", later)
		}
	}
}

func TestOneOfABatchThatComesBackLeavesTheOthers(t *testing.T) {
	f := newFakes(3)
	f.refuse = func(string, Outgoing) error { return errDown }
	f.change(1, func(s *push.Subscription) { s.Paused = true }) // cannot be put back
	records := []Record{record(crashNames.Attempt, f.job(0)), record(crashNames.Attempt, f.job(1)), record(crashNames.Attempt, f.job(2))}
	if failed := f.deliver().Handle(t.Context(), records); len(failed) != 1 || failed[0] != records[1].ID {
		t.Errorf("failed %v", failed)
	}
	if len(f.pushed) != 2 {
		t.Errorf("%d pushes", len(f.pushed))
	}
	if failed := f.deliver().Handle(t.Context(), nil); failed != nil {
		t.Errorf("of no records %v fail", failed)
	}
}

func TestAJobWhoseChainIsAheadIsAcknowledgedAndDoesNothing(t *testing.T) {
	for _, state := range []push.State{push.Claimed, push.Finished} {
		f := newFakes(1)
		j := f.job(0)
		j.Attempt = 2
		ahead := push.Delivery{Key: j.Key(), Attempt: 3, State: state, LeaseEnd: f.now.Add(time.Minute), NextAt: f.now.Add(time.Minute)}
		f.records[j.Key()] = ahead
		failed := f.deliver().Handle(t.Context(), []Record{record(crashNames.Retry, j)})
		if failed != nil || len(f.pushed) != 0 || len(f.sent) != 0 || f.kinds() != "" || f.records[j.Key()].State != state {
			t.Errorf("%s: failed %v, %d pushes, sent %v, events %q", state, failed, len(f.pushed), f.sent, f.kinds())
		}
	}
}

func TestNoPushBeginsThatCannotEndInTime(t *testing.T) {
	f := newFakes(1)
	d := f.deliver()
	enough := d.RequestTimeout + settleSlack
	rec := record(crashNames.Attempt, f.job(0))
	if failed := d.Handle(due{t.Context(), f.now.Add(enough - 1)}, []Record{rec}); len(failed) != 1 || len(f.pushed) != 0 {
		t.Errorf("failed %v after %d pushes", failed, len(f.pushed))
	}
	if failed := d.Handle(due{t.Context(), f.now.Add(enough)}, []Record{rec}); failed != nil || len(f.pushed) != 1 {
		t.Errorf("failed %v after %d pushes", failed, len(f.pushed))
	}
}

func TestADirectoryThatIsDownLosesNothingAndTouchesNoDeadLetterQueue(t *testing.T) {
	f := newFakes(1)
	f.directory = errDown
	f.change(0, func(s *push.Subscription) { s.RedrivePolicy = `{"deadLetterTargetArn":"` + ownDLQ + `"}` })
	f.start(f.job(0))
	d := f.deliver()
	for range 20 {
		m := f.in(crashNames.Attempt)
		m = append(m, f.in(crashNames.Retry)...)
		if len(m) != 1 || len(f.sent) != 1 {
			t.Fatalf("%v", f.sent)
		}
		f.now, f.sent = m[0].at, nil
		if failed := d.Handle(t.Context(), []Record{{ID: "x", Body: m[0].Body, Queue: m[0].queue}}); failed != nil {
			t.Fatal(failed)
		}
	}
	if len(f.pushed) != 0 {
		t.Errorf("%d pushes", len(f.pushed))
	}
	f.directory = nil
	f.run(t, d)
	if len(f.pushed) != 1 || len(f.sent) != 0 || !strings.HasSuffix(f.kinds(), "delivered") {
		t.Errorf("%d pushes, %v left", len(f.pushed), f.sent)
	}
}
