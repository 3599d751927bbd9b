package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"postino/shared/push"
)

func throttled(rate int) func(*push.Subscription) {
	return func(s *push.Subscription) {
		s.DeliveryPolicy = fmt.Sprintf(`{"healthyRetryPolicy":{"minDelayTarget":20,"maxDelayTarget":20,"numRetries":2},"throttlePolicy":{"maxReceivesPerSecond":%d}}`, rate)
	}
}

func TestSlotsKeepTheRateOverEveryStretchOfTimeWithinOneBlock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.SampledFrom([]int{1, 3, 4, 10, 100, 1000}).Draw(t, "rate")
		f := newFakes(0)
		processes := []*throttle{{slots: f}, {slots: f}}[:rapid.IntRange(1, 2).Draw(t, "processes")]
		now := crashStart
		var slots []time.Time
		for range rapid.IntRange(50, 300).Draw(t, "attempts") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3000/rate).Draw(t, "ms")) * time.Millisecond)
			slot, err := processes[len(slots)%len(processes)].take(t.Context(), "s", rate, now)
			if err != nil {
				t.Fatal(err)
			}
			if now.After(slot) {
				slot = now // when the attempt is made
			}
			slots = append(slots, slot)
		}
		block := max(1, rate/4)
		sortTimes(slots)
		for i := range slots {
			for j := i; j < len(slots); j++ {
				most := float64(rate)*slots[j].Sub(slots[i]).Seconds() + float64(1+block*len(processes)) + 1e-6
				if n := j - i + 1; float64(n) > most {
					t.Fatalf("%d attempts within %s at %d/s", n, slots[j].Sub(slots[i]), rate)
				}
			}
		}
		if f.reserved > len(slots)/block+len(processes)+int(now.Sub(crashStart)/time.Second)+1 {
			t.Fatalf("%d reservations for %d slots in blocks of %d over %s", f.reserved, len(slots), block, now.Sub(crashStart))
		}
	})
}

func sortTimes(at []time.Time) {
	for i := range at {
		for j := i; j > 0 && at[j].Before(at[j-1]); j-- {
			at[j], at[j-1] = at[j-1], at[j]
		}
	}
}

func TestWhatIsLeftOfABlockIsNotUsedAfterAPause(t *testing.T) {
	f := newFakes(0)
	th := throttle{slots: f}
	for _, at := range []time.Duration{0, time.Second, time.Hour} {
		now := crashStart.Add(at)
		slot, err := th.take(t.Context(), "s", 100, now)
		if err != nil || slot.Before(now.Add(-time.Second)) {
			t.Errorf("%s after the start: the slot of %s, %v", at, slot, err)
		}
	}
	if f.reserved != 2 {
		t.Errorf("%d blocks were reserved, want one before and one after the pause", f.reserved)
	}
}

func TestANewRateHoldsAtOnceWithinABlockTooWhetherFasterOrSlower(t *testing.T) {
	for _, rates := range [][2]int{{100, 4}, {4, 100}} {
		f := newFakes(0)
		th := throttle{slots: f}
		var slots []time.Time
		for _, rate := range []int{rates[0], rates[1], rates[1]} {
			slot, err := th.take(t.Context(), "s", rate, crashStart)
			if err != nil {
				t.Fatal(err)
			}
			slots = append(slots, slot)
		}
		if step, want := slots[2].Sub(slots[1]), time.Second/time.Duration(rates[1]); step != want {
			t.Errorf("from %d to %d a second: %s between two slots, want %s", rates[0], rates[1], step, want)
		}
		if first := crashStart.Add(time.Duration(max(1, rates[0]/4)) * time.Second / time.Duration(rates[0])); slots[1].Before(first) {
			t.Errorf("from %d to %d a second: the first slot at the new rate lies inside the block reserved before", rates[0], rates[1])
		}
	}
}

func TestTheBlocksOfManySubscriptionsAreForgottenAndNoSlotIsGivenTwice(t *testing.T) {
	f := newFakes(0)
	th := throttle{slots: f}
	take := func(s string) time.Time {
		slot, err := th.take(t.Context(), s, 100, crashStart)
		if err != nil {
			t.Fatal(err)
		}
		return slot
	}
	first := take("s")
	for i := range 2 * blocksKept {
		take(fmt.Sprint("s", i))
	}
	if th.blocks.Len() > blocksKept {
		t.Errorf("%d blocks are kept", th.blocks.Len())
	}
	if again := take("s"); !again.After(first) {
		t.Errorf("the slot of %s is given twice", again)
	}
}

func TestABacklogIsWorkedOffAtItsRateAndEachJobHoldsItsSlot(t *testing.T) {
	f := newFakes(1)
	f.change(0, throttled(2))
	for i := range 60 {
		j := f.job(0)
		j.Message.ID = fmt.Sprint("m", i)
		f.start(j)
	}
	d := f.deliver()
	d.Sleep = func(context.Context, time.Duration) error { return context.Canceled } // no waiting in process
	f.run(t, d)
	if len(f.pushed) != 60 {
		t.Fatalf("%d pushes", len(f.pushed))
	}
	if took := f.now.Sub(crashStart); took < 29*time.Second || took > 31*time.Second {
		t.Errorf("60 messages at 2 a second took %s", took)
	}
	if f.reserved != 60 {
		t.Errorf("%d slots were taken for 60 attempts", f.reserved)
	}
	waits := strings.Count(f.kinds(), "wait")
	if waits != 59 {
		t.Errorf("%d put-backs: each job but the first waits once, holding its slot", waits)
	}
	for _, e := range f.events {
		if e.Kind == EventWait && !e.Throttled {
			t.Fatalf("a wait for a slot does not say so: %+v", e)
		}
	}
	if len(f.records) != 0 {
		t.Errorf("waiting touched %d records", len(f.records))
	}
}

func TestRetriesTakeSlotsAndWaitsBurnNoAttempt(t *testing.T) {
	f := newFakes(1)
	f.change(0, throttled(1))
	f.answer = always(unavailable)
	for i := range 20 {
		j := f.job(0)
		j.Message.ID = fmt.Sprint("m", i)
		f.start(j)
	}
	f.run(t, f.deliver())
	if len(f.pushed) != 60 || f.reserved != 60 {
		t.Errorf("%d pushes with %d slots, want 3 for each of 20 messages", len(f.pushed), f.reserved)
	}
	for key, d := range f.records {
		if d.State != push.Dead || d.Attempt != 3 {
			t.Errorf("%s: %+v", key.MessageID, d)
		}
	}
	if took := f.now.Sub(crashStart); took < 59*time.Second {
		t.Errorf("60 attempts at one a second took %s", took)
	}
}

func TestASlotLongPastIsTakenAnew(t *testing.T) {
	for age, anew := range map[time.Duration]bool{0: false, slotGood: false, slotGood + time.Millisecond: true} {
		f := newFakes(1)
		f.change(0, throttled(1))
		j := f.job(0)
		j.Slot = f.now.Add(-age)
		f.deliver().Handle(t.Context(), []Record{record(crashNames.Retry, j)})
		if (f.reserved == 1) != anew || len(f.pushed) != 1 {
			t.Errorf("a slot %s past: %d reservations, %d pushes", age, f.reserved, len(f.pushed))
		}
	}
}

func TestARetryFarAheadHoldsUpNobody(t *testing.T) {
	f := newFakes(1)
	f.change(0, throttled(1))
	d := f.deliver()
	early := f.job(0)
	early.Attempt, early.NotBefore = 2, f.now.Add(time.Minute) // a timer that rang a minute early
	d.Handle(t.Context(), []Record{record(crashNames.Retry, early)})
	f.sent = nil
	fresh := f.job(0)
	fresh.Message.ID = "m2"
	d.Handle(t.Context(), []Record{record(crashNames.Attempt, fresh)})
	if len(f.pushed) != 1 {
		t.Errorf("a message that is due waits until %v behind one that is not", f.sent)
	}
}

func TestSlotsThatCannotBeReservedAreAFailureOnOurSide(t *testing.T) {
	f := newFakes(1)
	f.change(0, throttled(1))
	f.slotsDown = errors.New("no slots")
	if failed := f.deliver().Handle(t.Context(), []Record{record(crashNames.Attempt, f.job(0))}); failed != nil {
		t.Fatal(failed)
	}
	if j, m := f.onlyJob(t, crashNames.Retry); j.Attempt != 1 || j.Stumbles != 1 || m.Delay != stumbleBase || len(f.pushed) != 0 {
		t.Errorf("job %+v after %s", j, m.Delay)
	}
}

func TestConfirmationsTakeNoSlot(t *testing.T) {
	f := newFakes(1)
	f.change(0, throttled(1))
	f.change(0, func(s *push.Subscription) { s.Confirmed, s.Token = false, "t" })
	j := f.job(0)
	j.Kind, j.Message.Token = push.SubscriptionConfirm, "t"
	f.deliver().Handle(t.Context(), []Record{record(crashNames.Attempt, j)})
	if f.reserved != 0 || len(f.pushed) != 1 {
		t.Errorf("%d slots, %d pushes", f.reserved, len(f.pushed))
	}
}
