package conformance

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"postino/shared/pipeline"
	"postino/shared/push"
)

// Timed is a timer with the queue it sends to.
type Timed struct {
	pipeline.Timer
	Queue Queue
}

// ExerciseTimer checks the promises of pipeline.Timer. Harness.Late is how long
// after its time a message may come.
func ExerciseTimer(t *testing.T, h Harness[Timed]) {
	s := timerSuite{h}
	h.test(t, "a time that has passed sends at once", s.past)
	if h.waits(soon + aheadMax) {
		h.test(t, "a message comes by its time, whole and once", s.comes)
		h.test(t, "a second call of the same name changes nothing", s.dedup)
		h.test(t, "concurrent calls of one name send one message", s.concurrent)
	}
	if h.waits(25 * time.Hour) {
		h.test(t, "a day is waited for, and messages come in the order of their times", s.long)
		if h.Reopen != nil {
			h.test(t, "a restart keeps what waits", s.restart)
		}
	}
}

type timerSuite struct{ Harness[Timed] }

const (
	// aheadMax is how early a message may be in its queue.
	aheadMax = time.Minute
	// soon is a time beyond what a queue delays.
	soon = pipeline.MaxDelay + 10*time.Second
)

func (s timerSuite) at(t *testing.T, p Timed, name string, at time.Time, body string) {
	t.Helper()
	must(t, p.At(t.Context(), name, at, queueName, pipeline.Outgoing{Body: body, Delay: time.Second}))
}

// arrives receives what comes within wait.
func (s timerSuite) arrives(t *testing.T, p Timed, wait time.Duration) []pipeline.Incoming {
	t.Helper()
	deadline := time.Now().Add(wait + s.Late)
	for {
		in, err := p.Queue.Receive(t.Context(), queueName, 10, hidden, min(20*time.Second, time.Until(deadline)))
		must(t, err)
		for _, m := range in {
			must(t, p.Queue.Delete(t.Context(), queueName, []string{m.Receipt}))
		}
		if len(in) > 0 || !time.Now().Before(deadline) {
			return in
		}
	}
}

func (s timerSuite) nothing(t *testing.T, p Timed, wait time.Duration) {
	t.Helper()
	if in := s.arrives(t, p, wait); len(in) > 0 {
		t.Fatalf("received %+v, want nothing", in)
	}
}

func (s timerSuite) comes(t *testing.T, p Timed) {
	start := time.Now()
	out := pipeline.Outgoing{Body: "later \u00fc", Group: "g", Attributes: []push.Attribute{{Name: "a", Type: "Binary", Value: "AAEC"}}}
	must(t, p.At(t.Context(), "one", start.Add(soon), queueName, out))
	in := s.arrives(t, p, soon)
	if len(in) != 1 {
		t.Fatalf("received %d messages, want 1", len(in))
	}
	if after := time.Since(start); after < soon-aheadMax || after > soon+s.Late {
		t.Errorf("came after %v, want %v", after, soon)
	}
	equal(t, "body", in[0].Body, out.Body)
	equal(t, "group", in[0].Group, out.Group)
	equal(t, "attributes", in[0].Attributes, out.Attributes)
	s.nothing(t, p, 2*time.Minute)
}

func (s timerSuite) past(t *testing.T, p Timed) {
	s.at(t, p, "past", time.Now().Add(-time.Hour), "past")
	s.at(t, p, "now", time.Now(), "now")
	in := s.arrives(t, p, time.Minute)
	if len(in) == 1 {
		in = append(in, s.arrives(t, p, time.Minute)...)
	}
	if len(in) != 2 {
		t.Fatalf("received %d messages, want 2", len(in))
	}
}

func (s timerSuite) dedup(t *testing.T, p Timed) {
	start := time.Now()
	s.at(t, p, "one", start.Add(soon), "first")
	s.at(t, p, "one", start.Add(2*soon), "second")
	s.at(t, p, "two", start.Add(soon), "other")
	var bodies []string
	for _, m := range slices.Concat(s.arrives(t, p, soon), s.arrives(t, p, aheadMax)) {
		bodies = append(bodies, m.Body)
	}
	slices.Sort(bodies)
	equal(t, "bodies", bodies, []string{"first", "other"})
	s.nothing(t, p, soon)
}

func (s timerSuite) concurrent(t *testing.T, p Timed) {
	at := time.Now().Add(soon)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := p.At(t.Context(), "one", at, queueName, pipeline.Outgoing{Body: "b"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	equal(t, "messages", len(s.arrives(t, p, soon)), 1)
	s.nothing(t, p, 2*aheadMax)
}

func (s timerSuite) long(t *testing.T, p Timed) {
	start := time.Now()
	hours := []int{24, 1, 7, 3, 12}
	for _, h := range hours {
		s.at(t, p, fmt.Sprint("at ", h), start.Add(time.Duration(h)*time.Hour), fmt.Sprint(h))
	}
	slices.Sort(hours)
	for _, h := range hours {
		want := start.Add(time.Duration(h) * time.Hour)
		in := s.arrives(t, p, time.Until(want))
		if len(in) != 1 || in[0].Body != fmt.Sprint(h) {
			t.Fatalf("after %v received %+v, want the message of hour %d", time.Since(start), in, h)
		}
		if off := time.Since(want); off < -aheadMax || off > s.Late {
			t.Errorf("the message of hour %d came %v from its time", h, off)
		}
	}
}

func (s timerSuite) restart(t *testing.T, p Timed) {
	start := time.Now()
	s.at(t, p, "one", start.Add(soon), "first")
	p = s.Reopen(t, p)
	s.at(t, p, "one", start.Add(2*soon), "second")
	in := s.arrives(t, p, soon)
	if len(in) != 1 || in[0].Body != "first" {
		t.Fatalf("received %+v", in)
	}
	if after := time.Since(start); after < soon-aheadMax || after > soon+s.Late {
		t.Errorf("came after %v, want %v", after, soon)
	}
	p = s.Reopen(t, p)
	s.nothing(t, p, 2*soon)
}
