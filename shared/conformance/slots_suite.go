package conformance

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"postino/shared/pipeline"
)

// ExerciseSlots checks the promises of pipeline.Slots.
func ExerciseSlots(t *testing.T, h Harness[pipeline.Slots]) {
	s := slotsSuite{}
	h.test(t, "slots follow each other at the rate", s.spacing)
	h.test(t, "a slot never lies before now and idle time is not saved up", s.idle)
	h.test(t, "subscriptions do not share slots", s.apart)
	h.test(t, "a change of rate holds from the next reservation on", s.rate)
	h.test(t, "concurrent reservations never overlap", s.concurrent)
	h.test(t, "a senseless reservation is an error", s.senseless)
}

type slotsSuite struct{}

// slack is how much further apart than at the rate reservations may be: an
// adapter may round to milliseconds.
const slack = time.Millisecond

func reserve(t *testing.T, s pipeline.Slots, sub string, rate float64, n int, now time.Time) time.Time {
	t.Helper()
	first, err := s.Reserve(t.Context(), sub, rate, n, now)
	must(t, err)
	return first
}

func (slotsSuite) spacing(t *testing.T, s pipeline.Slots) {
	for _, c := range []struct {
		rate float64
		n    int
	}{{1, 1}, {10, 1}, {3, 1}, {7, 5}, {250, 50}, {0.5, 2}} {
		sub := fmt.Sprint(c)
		last := reserve(t, s, sub, c.rate, c.n, epoch)
		if last.Before(epoch) || last.After(epoch.Add(slack)) {
			t.Errorf("%v: the first slot lies %v after now", c, last.Sub(epoch))
		}
		for range 20 {
			next := reserve(t, s, sub, c.rate, c.n, epoch)
			least := time.Duration(math.Ceil(float64(c.n) / c.rate * float64(time.Second)))
			if gap := next.Sub(last); gap < least || gap > least+slack {
				t.Errorf("%v: reservations %v apart, want %v", c, gap, least)
			}
			last = next
		}
	}
}

func (slotsSuite) idle(t *testing.T, s pipeline.Slots) {
	reserve(t, s, "a", 1, 1, epoch)
	later := epoch.Add(time.Hour)
	for i := range 3 {
		want := later.Add(time.Duration(i) * time.Second)
		if got := reserve(t, s, "a", 1, 1, later); got.Before(want) || got.After(want.Add(slack)) {
			t.Errorf("slot %d after an idle hour lies at %v, want %v", i, got, want)
		}
	}
	if got := reserve(t, s, "a", 1, 1, later.Add(time.Minute)); got.Before(later.Add(time.Minute)) {
		t.Errorf("a slot lies before now: %v", got)
	}
}

func (slotsSuite) apart(t *testing.T, s pipeline.Slots) {
	reserve(t, s, "a", 1, 100, epoch)
	if got := reserve(t, s, "b", 1, 1, epoch); got.After(epoch.Add(slack)) {
		t.Errorf("another subscription waits until %v", got)
	}
}

func (slotsSuite) rate(t *testing.T, s pipeline.Slots) {
	reserve(t, s, "a", 1, 2, epoch)
	if got, want := reserve(t, s, "a", 100, 1, epoch), epoch.Add(2*time.Second); got.Before(want) || got.After(want.Add(slack)) {
		t.Errorf("the slot behind two at 1/s lies at %v, want %v", got, want)
	}
	if got, want := reserve(t, s, "a", 100, 1, epoch), epoch.Add(2*time.Second+10*time.Millisecond); got.Before(want) || got.After(want.Add(2*slack)) {
		t.Errorf("the slot behind one at 100/s lies at %v, want %v", got, want)
	}
}

func (slotsSuite) concurrent(t *testing.T, s pipeline.Slots) {
	const n, rate = 5, 100.0
	var wg sync.WaitGroup
	firsts := make([]time.Time, 32)
	for i := range firsts {
		wg.Go(func() {
			first, err := s.Reserve(t.Context(), "a", rate, n, epoch)
			if err != nil {
				t.Error(err)
			}
			firsts[i] = first
		})
	}
	wg.Wait()
	slices.SortFunc(firsts, time.Time.Compare)
	for i, first := range firsts[1:] {
		if gap := first.Sub(firsts[i]); gap < n*10*time.Millisecond {
			t.Errorf("two reservations of %d slots at %v/s are %v apart", n, rate, gap)
		}
	}
}

func (slotsSuite) senseless(t *testing.T, s pipeline.Slots) {
	for _, c := range []struct {
		rate float64
		n    int
	}{{0, 1}, {-1, 1}, {1, 0}, {1, -1}} {
		if _, err := s.Reserve(t.Context(), "a", c.rate, c.n, epoch); err == nil {
			t.Errorf("%d slots at %v a second were reserved", c.n, c.rate)
		}
	}
}
