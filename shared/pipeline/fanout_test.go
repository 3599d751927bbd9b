package pipeline

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"postino/shared/push"
)

func pageOf(p FanoutPage) Record {
	if p.Topic == "" {
		p.Topic = topicA
	}
	p.Messages = map[push.Protocol]json.RawMessage{push.HTTPS: json.RawMessage(push.Message{ID: "m", TopicARN: topicA, Body: "hello"}.Encode())}
	return Record{ID: "page", Body: p.outgoing().Body, Queue: crashNames.Fanout, ReceiveCount: 1}
}

// due is a context of the fakes' clock that ends after d.
type due struct {
	context.Context
	at time.Time
}

func (d due) Deadline() (time.Time, bool) { return d.at, true }

func jobsFor(t *testing.T, messages []sentMessage) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, m := range messages {
		j, err := push.DecodeJob(m.Body)
		if err != nil {
			t.Fatal(err)
		}
		out[j.Subscription]++
	}
	return out
}

func TestAPageBecomesOneJobForEachOfTwoHundredAndFiftySubscriptions(t *testing.T) {
	f := newFakes(250)
	if failed := f.fanout().Handle(t.Context(), []Record{pageOf(FanoutPage{})}); failed != nil {
		t.Fatalf("%v comes back", failed)
	}
	if jobs := jobsFor(t, f.in(crashNames.Attempt)); len(jobs) != 250 || len(f.sent) != 250 {
		t.Errorf("%d subscriptions got %d jobs", len(jobs), len(f.sent))
	}
	for _, b := range f.batches {
		if len(b) > MaxBatch {
			t.Errorf("a batch of %d", len(b))
		}
	}
}

func TestAPageStartsBehindItsMarkAndPassesOverWhoGetsNothing(t *testing.T) {
	f := newFakes(6)
	f.change(3, func(s *push.Subscription) { s.Confirmed = false })
	f.change(4, func(s *push.Subscription) { s.Protocol = push.HTTP }) // the page has no text for it
	f.change(5, func(s *push.Subscription) { s.DeletedAt = crashStart })
	f.fanout().Handle(t.Context(), []Record{pageOf(FanoutPage{After: subARN(topicA, 0)})})
	jobs := jobsFor(t, f.in(crashNames.Attempt))
	if len(jobs) != 2 || jobs[subARN(topicA, 1)] != 1 || jobs[subARN(topicA, 2)] != 1 {
		t.Errorf("jobs for %v", jobs)
	}
}

func TestAPageThatNamesItsSubscriptionsGoesToThoseStillThere(t *testing.T) {
	f := newFakes(4)
	f.change(2, func(s *push.Subscription) { s.DeletedAt = crashStart })
	only := []string{subARN(topicA, 1), subARN(topicA, 2), subARN(topicA, 99)}
	if failed := f.fanout().Handle(t.Context(), []Record{pageOf(FanoutPage{Only: only})}); failed != nil {
		t.Fatal(failed)
	}
	if j, _ := f.onlyJob(t, crashNames.Attempt); j.Subscription != subARN(topicA, 1) {
		t.Errorf("job for %s", j.Subscription)
	}
}

func TestNearItsDeadlineAPageGoesOnInAnotherInvocation(t *testing.T) {
	f := newFakes(250)
	ctx := due{t.Context(), f.now.Add(fanoutSlack / 2)}
	rec := pageOf(FanoutPage{})
	for rounds := 0; ; rounds++ {
		if failed := f.fanout().Handle(ctx, []Record{rec}); failed != nil {
			t.Fatal(failed)
		}
		rest := f.in(crashNames.Fanout)
		if len(rest) == rounds {
			if rounds != 2 {
				t.Errorf("250 subscriptions took %d more invocations, want 2", rounds)
			}
			break
		}
		rec.Body = rest[rounds].Body
	}
	if jobs := jobsFor(t, f.in(crashNames.Attempt)); len(jobs) != 250 || len(f.in(crashNames.Attempt)) != 250 {
		t.Errorf("%d subscriptions got %d jobs", len(jobs), len(f.in(crashNames.Attempt)))
	}
}

func TestAPageOfADeletedTopicIsLetGo(t *testing.T) {
	f := newFakes(3)
	delete(f.topics, topicA)
	if failed := f.fanout().Handle(t.Context(), []Record{pageOf(FanoutPage{})}); failed != nil || len(f.sent) != 0 {
		t.Errorf("failed %v, sent %v", failed, f.sent)
	}
}

func TestFailuresOnOurSideLoseNoJobOfAPage(t *testing.T) {
	t.Run("the directory is down: the page comes back", func(t *testing.T) {
		f := newFakes(3)
		f.directory = errDown
		if failed := f.fanout().Handle(t.Context(), []Record{pageOf(FanoutPage{})}); len(failed) != 1 || f.kinds() != "fault" {
			t.Errorf("failed %v, events %q", failed, f.kinds())
		}
	})
	t.Run("a send fails once: it is repeated", func(t *testing.T) {
		f := newFakes(3)
		tries := 0
		f.refuse = func(string, Outgoing) error {
			if tries++; tries == 2 {
				return errDown
			}
			return nil
		}
		failed := f.fanout().Handle(t.Context(), []Record{pageOf(FanoutPage{})})
		if jobs := jobsFor(t, f.sent); failed != nil || len(jobs) != 3 || len(f.sent) != 3 {
			t.Errorf("failed %v, jobs %v", failed, jobs)
		}
	})
	t.Run("the first step fails: the page comes back", func(t *testing.T) {
		f := newFakes(3)
		f.refuse = func(string, Outgoing) error { return errDown }
		if failed := f.fanout().Handle(t.Context(), []Record{pageOf(FanoutPage{})}); len(failed) != 1 {
			t.Errorf("failed %v", failed)
		}
	})
	t.Run("a later step fails: the rest goes on later, what is done is not repeated", func(t *testing.T) {
		f := newFakes(250)
		bad := subARN(topicA, 150)
		f.refuse = func(queue string, e Outgoing) error {
			if queue == crashNames.Attempt && strings.Contains(e.Body, bad) {
				return errDown
			}
			return nil
		}
		if failed := f.fanout().Handle(t.Context(), []Record{pageOf(FanoutPage{})}); failed != nil {
			t.Fatalf("failed %v", failed)
		}
		rest := f.in(crashNames.Fanout)
		if len(rest) != 1 || rest[0].Delay != fanoutPause {
			t.Fatalf("rest %+v", rest)
		}
		f.refuse = nil
		f.fanout().Handle(t.Context(), []Record{{ID: "rest", Body: rest[0].Body}})
		jobs := jobsFor(t, f.in(crashNames.Attempt))
		if len(jobs) != 250 || jobs[subARN(topicA, 0)] != 1 {
			t.Errorf("%d subscriptions, the first got %d jobs", len(jobs), jobs[subARN(topicA, 0)])
		}
	})
}

func TestWhatIsNoPageGoesToFailedJobsWithTheReason(t *testing.T) {
	for name, body := range map[string]string{
		"no JSON": "{", "another version": `{"v":99,"topic":"t","msg":{"https":{}}}`, "no topic": `{"v":1,"msg":{"https":{}}}`, "no message": `{"v":1,"topic":"t"}`,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakes(1)
			failed := f.fanout().Handle(t.Context(), []Record{{ID: "x", Body: body}, pageOf(FanoutPage{})})
			parked := f.in(crashNames.Failed)
			if failed != nil || len(parked) != 1 || parked[0].Body != body || len(parked[0].Attributes) != 1 || parked[0].Attributes[0].Value == "" {
				t.Errorf("failed %v, parked %+v", failed, parked)
			}
			if len(f.in(crashNames.Attempt)) != 1 {
				t.Error("the good page beside it was not worked off")
			}
		})
	}
}

// FuzzDecodePage: a page that is accepted names a topic and a message, and is
// the same when it is written and read again.
func FuzzDecodePage(f *testing.F) {
	f.Add(pageOf(FanoutPage{}).Body)
	f.Add(pageOf(FanoutPage{After: subARN(topicA, 0), Only: []string{subARN(topicA, 1)}}).Body)
	f.Add(`{"v":1,"topic":"t","msg":{"https":null}}`)
	f.Add(`{"v":2}`)
	f.Fuzz(func(t *testing.T, body string) {
		page, err := decodePage(body)
		if err != nil {
			return
		}
		if page.Topic == "" || len(page.Messages) == 0 {
			t.Fatalf("%+v was accepted", page)
		}
		written := page.outgoing().Body
		again, err := decodePage(written)
		if err != nil {
			t.Fatalf("%s cannot be read again: %v", written, err)
		}
		if rewritten := again.outgoing().Body; rewritten != written {
			t.Fatalf("%s became %s", written, rewritten)
		}
	})
}
