package pipeline

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"postino/shared/push"
)

func TestAStumblesDelayGrowsAndIsCapped(t *testing.T) {
	f := newFakes(1)
	f.directory = errDown
	d := f.deliver()
	j := f.job(0)
	var last, total time.Duration
	for n := 1; n <= stumblesAllowed; n++ {
		f.sent = nil
		if failed := d.Handle(t.Context(), []Record{record(crashNames.Attempt, j)}); failed != nil {
			t.Fatal(failed)
		}
		var m sentMessage
		j, m = f.onlyJob(t, crashNames.Retry)
		if j.Stumbles != n || m.Delay < last || m.Delay > stumbleMost || n <= 8 && m.Delay != stumbleBase<<(n-1) {
			t.Fatalf("failure %d: counted %d, delay %s after %s", n, j.Stumbles, m.Delay, last)
		}
		last = m.Delay
		total += last
	}
	if last != stumbleMost || total < 6*time.Hour {
		t.Errorf("the last delay is %s, all together %s", last, total)
	}
	f.sent = nil
	if failed := d.Handle(t.Context(), []Record{record(crashNames.Retry, j)}); failed != nil {
		t.Fatal(failed)
	}
	parked, m := f.onlyJob(t, crashNames.Failed)
	if parked.Stumbles != 0 || parked.Attempt != 1 || !strings.Contains(m.Attributes[0].Value, "queue down") {
		t.Errorf("parked %+v with %+v", parked, m.Attributes)
	}
}

func TestAFailureOnOurSideThatCannotBePutOffLeavesTheRecordInItsQueue(t *testing.T) {
	f := newFakes(1)
	f.directory = errDown
	f.refuse = func(string, Outgoing) error { return errDown }
	if failed := f.deliver().Handle(t.Context(), []Record{record(crashNames.Attempt, f.job(0))}); len(failed) != 1 || f.kinds() != "fault" {
		t.Errorf("failed %v, events %q", failed, f.kinds())
	}
}

func TestAnAttemptWhoseRecordCouldNotBeWrittenIsNotRepeatedBeforeTheNextWouldHaveCome(t *testing.T) {
	f := newFakes(1)
	f.change(0, func(s *push.Subscription) { s.DeliveryPolicy = twoRetries })
	f.answer = always(unavailable)
	f.store = errDown
	d := f.deliver()
	d.Handle(t.Context(), []Record{record(crashNames.Attempt, f.job(0))})
	j, m := f.onlyJob(t, crashNames.Retry)
	if j.Attempt != 1 || m.Delay != 20*time.Second || len(f.pushed) != 1 {
		t.Errorf("attempt %d again after %s", j.Attempt, m.Delay)
	}
	for range 10 { // the store stays down
		m = f.in(crashNames.Retry)[0]
		f.now, f.sent = m.at, nil
		d.Handle(t.Context(), []Record{{ID: "x", Body: m.Body, Queue: crashNames.Retry, ReceiveCount: 1}})
	}
	if len(f.pushed) != 1 {
		t.Errorf("%d pushes while the store was down: none can be counted", len(f.pushed))
	}
}

func TestWaitsBeyondFifteenMinutesUseATimerOnce(t *testing.T) {
	f := newFakes(1)
	f.change(0, func(s *push.Subscription) {
		s.DeliveryPolicy = `{"healthyRetryPolicy":{"minDelayTarget":900,"maxDelayTarget":1000,"numRetries":2}}`
	})
	f.answer = always(unavailable)
	d := f.deliver()
	d.Handle(t.Context(), []Record{record(crashNames.Attempt, f.job(0))})
	j, m := f.onlyJob(t, crashNames.Retry)
	if m.Delay != MaxDelay || len(f.timers) != 0 {
		t.Fatalf("900 s: delay %s, %d timers", m.Delay, len(f.timers))
	}
	f.now, f.sent = m.at, nil
	for range 2 { // the second time as after a crash before the acknowledgement
		if failed := d.Handle(t.Context(), []Record{record(crashNames.Retry, j)}); failed != nil {
			t.Fatal(failed)
		}
	}
	if len(f.timers) != 1 || len(f.sent) != 0 || len(f.pushed) != 2 {
		t.Fatalf("1,000 s: %d timers, sent %v, %d pushes", len(f.timers), f.sent, len(f.pushed))
	}
	for name, timer := range f.timers {
		next, err := push.DecodeJob(timer.Body)
		if err != nil || len(name) != 64 || timer.queue != crashNames.Retry || timer.Delay != 0 || !timer.at.Equal(f.now.Add(1000*time.Second)) || next.Attempt != 3 {
			t.Errorf("timer %q: %+v, job %+v", name, timer, next)
		}
	}
}

func TestALowerMaxQueueDelayUsesTheTimerSooner(t *testing.T) {
	for delay, timers := range map[string]int{"10": 0, "11": 1} {
		f := newFakes(1)
		f.change(0, func(s *push.Subscription) {
			s.DeliveryPolicy = `{"healthyRetryPolicy":{"minDelayTarget":` + delay + `,"maxDelayTarget":` + delay + `,"numRetries":1}}`
		})
		f.answer = always(unavailable)
		d := f.deliver()
		d.MaxQueueDelay = 10 * time.Second
		d.Handle(t.Context(), []Record{record(crashNames.Attempt, f.job(0))})
		if len(f.timers) != timers || len(f.in(crashNames.Retry)) != 1-timers {
			t.Errorf("%s s: %d timers, %d delayed messages", delay, len(f.timers), len(f.in(crashNames.Retry)))
		}
	}
}

func TestTimersOfDifferentWaitsHaveDifferentNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func() (push.Job, time.Time) {
			s := rapid.SampledFrom([]string{"1", "11", "2"})
			return push.Job{Subscription: s.Draw(t, "sub"), Generation: s.Draw(t, "gen"), Attempt: rapid.IntRange(1, 2).Draw(t, "n"), Message: push.Message{ID: s.Draw(t, "id")}},
				crashStart.Add(time.Duration(rapid.IntRange(0, 1).Draw(t, "ms")) * time.Millisecond)
		}
		a, atA := draw()
		b, atB := draw()
		same := a.Key() == b.Key() && a.Attempt == b.Attempt && atA.Equal(atB)
		if (timerName(a, atA) == timerName(b, atB)) != same {
			t.Fatalf("%+v at %s and %+v at %s", a, atA, b, atB)
		}
	})
}

func TestAJobBeforeItsTimeIsPutBackOrWaitedFor(t *testing.T) {
	for wait, c := range map[time.Duration]struct {
		deadline   time.Duration
		putBack    time.Duration
		slept      time.Duration
		wantPushes int
	}{
		30 * time.Second:            {0, 30 * time.Second, 0, 0},
		nearWait + time.Millisecond: {0, nearWait + time.Millisecond, 0, 0},
		nearWait:                    {0, 0, nearWait, 1},
		time.Second:                 {20 * time.Second, time.Second, 0, 0}, // not enough time for both
		0:                           {0, 0, 0, 1},
		-time.Hour:                  {0, 0, 0, 1},
	} {
		f := newFakes(1)
		j := f.job(0)
		j.Attempt, j.NotBefore = 2, f.now.Add(wait)
		ctx := t.Context()
		if c.deadline > 0 {
			ctx = due{ctx, f.now.Add(c.deadline)}
		}
		if failed := f.deliver().Handle(ctx, []Record{record(crashNames.Retry, j)}); failed != nil {
			t.Fatal(failed)
		}
		var slept time.Duration
		for _, s := range f.slept {
			slept += s
		}
		if len(f.pushed) != c.wantPushes || slept != c.slept {
			t.Errorf("%s ahead: %d pushes, slept %s", wait, len(f.pushed), slept)
		}
		if c.putBack > 0 {
			back, m := f.onlyJob(t, crashNames.Retry)
			if m.Delay != c.putBack || back.Attempt != 2 || f.kinds() != "wait" || len(f.records) != 0 {
				t.Errorf("%s ahead: put back for %s as %+v", wait, m.Delay, back)
			}
		}
	}
}

func TestAPausedSubscriptionsJobsWaitEverLongerAndBurnNoAttempt(t *testing.T) {
	f := newFakes(1)
	f.change(0, func(s *push.Subscription) { s.Paused = true })
	d := f.deliver()
	f.start(f.job(0))
	var hops []time.Duration
	for range 12 {
		m := f.sent[0]
		f.now, f.sent = m.at, nil
		d.Handle(t.Context(), []Record{{ID: "x", Body: m.Body, Queue: m.queue, ReceiveCount: 1}})
		hops = append(hops, f.sent[0].Delay)
	}
	for i, hop := range hops {
		if hop < 5*time.Second || hop > time.Minute || i > 0 && hop < hops[i-1] {
			t.Fatalf("hops %v", hops)
		}
	}
	if hops[len(hops)-1] != time.Minute || len(f.pushed) != 0 {
		t.Errorf("hops %v, %d pushes", hops, len(f.pushed))
	}
	f.change(0, func(s *push.Subscription) { s.Paused = false })
	f.run(t, d)
	if len(f.pushed) != 1 || len(f.records) != 0 || strings.Count(f.kinds(), "wait") != 12 {
		t.Errorf("%d pushes, records %v, events %q", len(f.pushed), f.records, f.kinds())
	}
}

func TestFirstAttemptsOfASickSubscriptionMoveToTheRetryLaneAndAreMadeThere(t *testing.T) {
	f := newFakes(2)
	f.change(0, func(s *push.Subscription) { s.DeliveryPolicy = twoRetries })
	f.answer = always(hung)
	d := f.deliver()
	d.Handle(t.Context(), []Record{record(crashNames.Attempt, f.job(0))})
	f.sent, f.pushed, f.events = nil, nil, nil
	other := f.job(0)
	other.Message.ID = "m2"
	arn := "arn:aws:sqs:eu-west-1:123456789012:"
	d.Handle(t.Context(), []Record{record(arn+crashNames.Attempt, other)})
	moved, m := f.onlyJob(t, crashNames.Retry)
	if len(f.pushed) != 0 || moved.Attempt != 1 || m.Delay != 0 || f.kinds() != "wait" {
		t.Fatalf("%d pushes, moved %+v, events %q", len(f.pushed), moved, f.kinds())
	}
	f.answer = nil
	d.Handle(t.Context(), []Record{record(arn+crashNames.Retry, moved), record(arn+crashNames.Attempt, f.job(1))})
	if len(f.pushed) != 2 {
		t.Errorf("%d pushes: the retry lane makes the attempt, and others stay in the fresh lane", len(f.pushed))
	}
	f.pushed = nil
	d.Handle(t.Context(), []Record{record(arn+crashNames.Attempt, other)})
	if len(f.pushed) != 1 {
		t.Error("a success makes it well at once")
	}
}
