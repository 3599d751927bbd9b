package pipeline

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"postino/shared/push"
)

func one(message string) []push.Publication { return []push.Publication{{Message: message}} }

func TestPublishQueuesOneFirstJobForEachConfirmedSubscription(t *testing.T) {
	f := newFakes(3)
	f.change(1, func(s *push.Subscription) { s.Confirmed = false })
	subject := "greeting"
	results, err := f.publish().Publish(t.Context(), PublishRequest{TopicARN: topicA, Entries: []push.Publication{{Message: "hello", Subject: &subject,
		Attributes: []push.Attribute{{Name: "k", Type: "String", Value: "v"}}}}})
	if err != nil || results[0].Err != nil || results[0].MessageID == "" {
		t.Fatalf("%+v, %v", results, err)
	}
	sent := f.in(crashNames.Attempt)
	if len(sent) != 2 || len(f.sent) != 2 {
		t.Fatalf("%d jobs in Attempt of %d messages sent, want 2", len(sent), len(f.sent))
	}
	for i, want := range []int{0, 2} {
		j, err := push.DecodeJob(sent[i].Body)
		if err != nil {
			t.Fatal(err)
		}
		m := j.Message
		if j.Subscription != subARN(topicA, want) || j.Attempt != 1 || m.ID != results[0].MessageID || m.Body != "hello" || m.Subject != subject ||
			m.TopicARN != topicA || !m.Timestamp.Equal(crashStart) || len(m.Attributes) != 1 {
			t.Errorf("job %+v", j)
		}
		if sent[i].Group != (push.Subscription{ARN: j.Subscription}).ID() {
			t.Errorf("group %q is not the subscription's id", sent[i].Group)
		}
	}
}

func TestTheSignatureIsMadeOncePerMessageAndOnlyWhereSomebodyReadsIt(t *testing.T) {
	for name, c := range map[string]struct {
		raw   []bool
		entry push.Publication
		signs int
	}{
		"all raw":                            {[]bool{true, true}, push.Publication{Message: "m"}, 0},
		"one is not raw":                     {[]bool{true, false, true}, push.Publication{Message: "m"}, 1},
		"none is raw":                        {[]bool{false, false, false}, push.Publication{Message: "m"}, 1},
		"a text for each protocol":           {[]bool{false, false}, push.Publication{Structure: "json", Message: `{"default":"d","http":"h","https":"s"}`}, 2},
		"a text for each protocol, the same": {[]bool{false, false}, push.Publication{Structure: "json", Message: `{"default":"d"}`}, 1},
		"nobody subscribed":                  {nil, push.Publication{Message: "m"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakes(len(c.raw))
			for i, raw := range c.raw {
				f.change(i, func(s *push.Subscription) {
					s.Raw = raw
					if i%2 == 1 {
						s.Protocol = push.HTTP
					}
				})
			}
			if _, err := f.publish().Publish(t.Context(), PublishRequest{TopicARN: topicA, Entries: []push.Publication{c.entry}}); err != nil {
				t.Fatal(err)
			}
			if len(f.signed) != c.signs {
				t.Errorf("signed %d times, want %d", len(f.signed), c.signs)
			}
			for _, m := range f.in(crashNames.Attempt) {
				j, _ := push.DecodeJob(m.Body)
				if s := f.subs[j.Subscription]; !s.Raw && j.Message.Signature.Value == "" {
					t.Errorf("the job of %s carries no signature", s.ARN)
				}
			}
		})
	}
}

func TestAClientsRetryOfACallPublishesTheSameMessageIDs(t *testing.T) {
	f := newFakes(1)
	p := f.publish()
	ids := func(invocation string, entries ...push.Publication) (ids []string) {
		results, err := p.Publish(t.Context(), PublishRequest{TopicARN: topicA, Invocation: invocation, Entries: entries})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			ids = append(ids, r.MessageID)
		}
		return ids
	}
	a, b := push.Publication{EntryID: "a", Message: "same"}, push.Publication{EntryID: "b", Message: "same"}
	first, again := ids("call-1", a, b), ids("call-1", a, b)
	if fmt.Sprint(first) != fmt.Sprint(again) {
		t.Errorf("the retry got %v, the call %v", again, first)
	}
	other := push.Publication{EntryID: "a", Message: "other"}
	seen := map[string]bool{first[0]: true}
	for _, id := range []string{first[1], ids("call-2", a)[0], ids("call-1", other)[0], ids("", a)[0], ids("", a)[0]} {
		if seen[id] {
			t.Errorf("%s stands for two messages", id)
		}
		seen[id] = true
		if len(id) != 36 {
			t.Errorf("%q is no UUID", id)
		}
	}
}

func TestAnEventsMessageIDDoesNotDependOnHowItIsWritten(t *testing.T) {
	f := newFakes(1)
	p := f.publish()
	id := func(event, body string) string {
		results, err := p.Publish(t.Context(), PublishRequest{TopicARN: topicA, Invocation: event, Event: true, Entries: one(body)})
		if err != nil {
			t.Fatal(err)
		}
		return results[0].MessageID
	}
	if id("e1", `{"a":1}`) != id("e1", `{ "a": 1 }`) || id("e1", `{"a":1}`) == id("e2", `{"a":1}`) {
		t.Error("an event's message id follows from its bytes and not from its id")
	}
}

func TestWithoutAKeyAMessageIsLeftToDeliverToSign(t *testing.T) {
	f := newFakes(1)
	p := f.publish()
	p.Signer = nil
	if _, err := p.Publish(t.Context(), PublishRequest{TopicARN: topicA, Entries: one("hello")}); err != nil {
		t.Fatal(err)
	}
	j, out := f.onlyJob(t, crashNames.Attempt)
	if j.Message.Signature.Value != "" {
		t.Fatalf("signed by nobody: %+v", j.Message.Signature)
	}
	f.sent = nil
	if failed := f.deliver().Handle(t.Context(), []Record{{ID: "1", Body: out.Body, Queue: crashNames.Attempt, ReceiveCount: 1}}); failed != nil || len(f.pushed) != 1 {
		t.Fatalf("came back %v, %d pushes", failed, len(f.pushed))
	}
	if !strings.Contains(string(f.pushed[0].Body), `"Signature" : "`) || strings.Contains(string(f.pushed[0].Body), `"Signature" : ""`) {
		t.Errorf("pushed without a signature: %s", f.pushed[0].Body)
	}
}

func TestTopicsAboveTheInlineLimitGetOneFanOutPagePerMessage(t *testing.T) {
	f := newFakes(5)
	p := f.publish()
	p.InlineLimit = 4
	if _, err := p.Publish(t.Context(), PublishRequest{TopicARN: topicA, Entries: one("hello")}); err != nil {
		t.Fatal(err)
	}
	if len(f.sent) != 1 || f.sent[0].queue != crashNames.Fanout {
		t.Fatalf("sent %v", f.sent)
	}
	page, err := decodePage(f.sent[0].Body)
	if err != nil || page.Topic != topicA || page.After != "" || page.Only != nil || len(page.Messages) != 1 {
		t.Errorf("page %+v, %v", page, err)
	}
	p.InlineLimit = 5
	if _, err := p.Publish(t.Context(), PublishRequest{TopicARN: topicA, Entries: one("hello")}); err != nil || len(f.in(crashNames.Attempt)) != 5 {
		t.Errorf("at the limit itself the jobs go out at once: %v", f.sent)
	}
}

func TestTheListOfSubscriptionsIsReadOncePerVersionOfTheTopic(t *testing.T) {
	f := newFakes(2)
	p := f.publish()
	publish := func(wantReads, wantJobs int) {
		t.Helper()
		f.reads, f.sent = 0, nil
		if _, err := p.Publish(t.Context(), PublishRequest{TopicARN: topicA, Entries: one("m")}); err != nil {
			t.Fatal(err)
		}
		if f.reads != wantReads || len(f.sent) != wantJobs {
			t.Errorf("%d reads and %d jobs, want %d and %d", f.reads, len(f.sent), wantReads, wantJobs)
		}
	}
	publish(1, 2)
	publish(0, 2)
	delete(f.subs, subARN(topicA, 0))
	topic := f.topics[topicA]
	topic.Version++
	f.topics[topicA] = topic
	publish(1, 1)
	// The topic is deleted and made again, and reaches the same version.
	f.change(1, func(s *push.Subscription) { s.Confirmed = true })
	for i := 10; i < 14; i++ {
		f.subs[subARN(topicA, i)] = push.Subscription{ARN: subARN(topicA, i), TopicARN: topicA, Protocol: push.HTTPS, Confirmed: true}
	}
	topic.CreatedAt = crashStart.Add(time.Hour)
	f.topics[topicA] = topic
	publish(1, 5)
}

func TestTheListsThatPublishKeepsAreBoundedByTopicsAndBySubscriptions(t *testing.T) {
	topic := func(i int) push.Topic { return push.Topic{ARN: fmt.Sprint(topicA, i), Version: 1} }
	check := func(l *subscriptionLists, topics, subscriptions int) {
		t.Helper()
		n := 0
		for _, list := range l.topics {
			n += len(list.subs)
		}
		if len(l.topics) != topics || n != subscriptions || l.kept != n {
			t.Errorf("%d topics with %d subscriptions, counted as %d; want %d with %d", len(l.topics), n, l.kept, topics, subscriptions)
		}
	}
	var l subscriptionLists
	for i := range listsKept {
		l.keep(topic(i), make([]push.Subscription, 2))
	}
	check(&l, listsKept, 2*listsKept)
	l.keep(topic(0), make([]push.Subscription, 3)) // known: it takes no more room
	check(&l, listsKept, 2*listsKept+1)
	l.keep(topic(listsKept), make([]push.Subscription, 5))
	check(&l, 1, 5)

	l.keep(topic(1), make([]push.Subscription, subscribersKept-5))
	check(&l, 2, subscribersKept)
	l.keep(topic(1), make([]push.Subscription, subscribersKept-5)) // its newer version takes the old one's room
	check(&l, 2, subscribersKept)
	l.keep(topic(2), make([]push.Subscription, 1))
	check(&l, 1, 1)
	l.keep(topic(3), make([]push.Subscription, subscribersKept+1)) // larger than the bound: kept by itself
	check(&l, 1, subscribersKept+1)
	l.keep(topic(4), nil)
	check(&l, 1, 0)
}

func TestATopicWhoseListWasDroppedIsReadAgain(t *testing.T) {
	f := newFakes(1)
	var l subscriptionLists
	get := func() {
		t.Helper()
		if subs, err := l.get(t.Context(), f, f.topics[topicA]); err != nil || len(subs) != 1 {
			t.Fatalf("%d subscriptions, %v", len(subs), err)
		}
	}
	get()
	get()
	if f.reads != 1 {
		t.Errorf("%d reads of a list that is kept", f.reads)
	}
	for i := range listsKept {
		l.keep(push.Topic{ARN: fmt.Sprint(topicA, i)}, nil)
	}
	get()
	if f.reads != 2 {
		t.Errorf("%d reads in all: the list of a topic outlived the bound", f.reads)
	}
}

func TestAPublishThatCannotBeDoneSaysWhy(t *testing.T) {
	down := errors.New("down")
	for name, c := range map[string]struct {
		spoil func(*fakes)
		r     PublishRequest
		code  push.Code
	}{
		"no such topic": {func(*fakes) {}, PublishRequest{TopicARN: topicA + "x", Entries: one("m")}, push.CodeNotFound},
		"store down":    {func(f *fakes) { f.directory = down }, PublishRequest{TopicARN: topicA, Entries: one("m")}, push.CodeInternalError},
		"no signature":  {func(f *fakes) { f.signer = down }, PublishRequest{TopicARN: topicA, Entries: one("m")}, push.CodeInternalError},
		"batch too long": {func(*fakes) {}, PublishRequest{TopicARN: topicA, Entries: []push.Publication{
			{EntryID: "a", Message: strings.Repeat("x", 200_000)}, {EntryID: "b", Message: strings.Repeat("x", 62_145)}}}, push.CodeBatchTooLong},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakes(1)
			c.spoil(f)
			_, err := f.publish().Publish(t.Context(), c.r)
			if err == nil || push.CodeOf(err) != c.code {
				t.Errorf("error %v, want code %s", err, c.code)
			}
			if len(f.sent) != 0 {
				t.Errorf("%d messages were sent all the same", len(f.sent))
			}
		})
	}
}

func TestARefusedEntryLeavesTheOthersOfItsBatchAccepted(t *testing.T) {
	f := newFakes(1)
	results, err := f.publish().Publish(t.Context(), PublishRequest{TopicARN: topicA, Entries: []push.Publication{{EntryID: "bad"}, {EntryID: "good", Message: "m"}}})
	if err != nil {
		t.Fatal(err)
	}
	if push.CodeOf(results[0].Err) != push.CodeInvalidParameter || results[0].EntryID != "bad" || results[0].MessageID != "" {
		t.Errorf("refused entry: %+v", results[0])
	}
	if results[1].Err != nil || results[1].EntryID != "good" || len(f.sent) != 1 {
		t.Errorf("accepted entry: %+v, %d jobs", results[1], len(f.sent))
	}
	if f.kinds() != "accepted" {
		t.Errorf("events %q: a refusal is the caller's business", f.kinds())
	}
}

func TestSickSubscriptionsGetTheirFirstJobInTheRetryLane(t *testing.T) {
	f := newFakes(2)
	p := f.publish()
	p.Health = &Health{}
	p.Health.begin(subARN(topicA, 1), f.now)
	p.Health.end(subARN(topicA, 1), f.now, f.now, hung)
	if _, err := p.Publish(t.Context(), PublishRequest{TopicARN: topicA, Entries: one("m")}); err != nil {
		t.Fatal(err)
	}
	sick, _ := f.onlyJob(t, crashNames.Retry)
	well, _ := f.onlyJob(t, crashNames.Attempt)
	if sick.Subscription != subARN(topicA, 1) || well.Subscription != subARN(topicA, 0) {
		t.Errorf("retry lane %s, fresh lane %s", sick.Subscription, well.Subscription)
	}
}

func TestAnnounceQueuesASignedConfirmationAlsoWhenTheTopicIsGone(t *testing.T) {
	for _, kind := range []push.Kind{push.SubscriptionConfirm, push.UnsubscribeConfirmation} {
		f := newFakes(1)
		s := f.subs[subARN(topicA, 0)]
		s.Token = "token"
		delete(f.topics, topicA)
		if err := f.publish().Announce(t.Context(), kind, s); err != nil {
			t.Fatal(err)
		}
		j, _ := f.onlyJob(t, crashNames.Attempt)
		if j.Kind != kind || j.Message.Token != "token" || j.Message.Signature.Value == "" || j.Message.Body == "" || j.Message.ID == "" {
			t.Errorf("%s: %+v", kind, j)
		}
	}
}
