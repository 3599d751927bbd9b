package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"postino/shared/operator"
	"postino/shared/pipeline"
	"postino/shared/push"
)

// LetterQueue is a queue that operators look into.
type LetterQueue interface {
	Queue
	operator.Queues
}

// ExerciseLetters checks the promises of operator.Queues. Nobody but the suite
// uses the queues.
func ExerciseLetters(t *testing.T, h Harness[LetterQueue]) {
	s := lettersSuite{h}
	h.test(t, "a look shows every letter whole and leaves all there", s.looks)
	h.test(t, "a look shows given letters alone", s.looksForSome)
	h.test(t, "a look of limited size says that there is more", s.looksAtSome)
	h.test(t, "an interrupted look hides nothing", s.interruptedLook)
	h.test(t, "a take hands every letter over once, deletes what is done with and brings the rest back", s.takes)
	h.test(t, "a take hands given letters over and no others", s.takesSome)
	h.test(t, "what is taken is received by nobody else", s.takesAlone)
	h.test(t, "a take leaves letters alone that were sent later", s.takesOlder)
	h.test(t, "a take that fails deletes what is done with and brings the rest back", s.failedTake)
	h.test(t, "an interrupted take ends behind a batch and brings the rest back", s.interruptedTake)
	h.test(t, "a queue tells its size", s.sizes)
	h.test(t, "a queue that does not exist is told from an empty one", s.missing)
}

type lettersSuite struct{ Harness[LetterQueue] }

// put sends n letters, "00" and on, and gives their bodies.
func (s lettersSuite) put(t *testing.T, q LetterQueue, n int) (bodies []string) {
	t.Helper()
	for i := range n {
		bodies = append(bodies, fmt.Sprintf("%02d", i))
		send(t, q, queueName, pipeline.Outgoing{Body: bodies[i], Group: "g", Attributes: []push.Attribute{{Name: "n", Type: "Number", Value: bodies[i]}}})
	}
	return bodies
}

// look gives the letters of one look, by body.
func (s lettersSuite) look(t *testing.T, q LetterQueue, w operator.Sweep) (letters []operator.Letter, swept operator.Swept) {
	t.Helper()
	swept, err := q.Look(t.Context(), queueName, w, func(l operator.Letter) { letters = append(letters, l) })
	must(t, err)
	slices.SortFunc(letters, func(a, b operator.Letter) int { return compareText(a.Body, b.Body) })
	return letters, swept
}

func compareText(a, b string) int {
	if a < b {
		return -1
	}
	if a > b {
		return 1
	}
	return 0
}

func bodiesOf(letters []operator.Letter) (bodies []string) {
	for _, l := range letters {
		bodies = append(bodies, l.Body)
	}
	slices.Sort(bodies)
	return bodies
}

// remains checks what can be received now.
func (s lettersSuite) remains(t *testing.T, q LetterQueue, want []string) {
	t.Helper()
	var got []string
	for {
		in, err := q.Receive(t.Context(), queueName, 10, hidden, s.Late)
		must(t, err)
		if len(in) == 0 {
			break
		}
		for _, m := range in {
			got = append(got, m.Body)
		}
	}
	slices.Sort(got)
	equal(t, "what is left in the queue", got, want)
}

func (s lettersSuite) looks(t *testing.T, q LetterQueue) {
	start := time.Now().Add(-time.Minute) // clocks differ
	want := s.put(t, q, 23)
	for range 2 {
		letters, swept := s.look(t, q, operator.Sweep{})
		equal(t, "what was seen", bodiesOf(letters), want)
		equal(t, "how far", swept, operator.Swept{})
		for _, l := range letters {
			if l.ID == "" || l.Receipt != "" || l.Group != "g" || l.Bytes != len(l.Body) || l.Sent.Before(start) || len(l.Attributes) != 1 || l.Attributes[0].Value != l.Body {
				t.Errorf("seen was %+v", l)
			}
		}
	}
	s.remains(t, q, want)
}

func (s lettersSuite) looksForSome(t *testing.T, q LetterQueue) {
	want := s.put(t, q, 15)
	all, _ := s.look(t, q, operator.Sweep{})
	some, _ := s.look(t, q, operator.Sweep{IDs: []string{all[3].ID, all[11].ID, "00000000-0000-4000-8000-000000000000"}})
	equal(t, "what was seen", bodiesOf(some), []string{"03", "11"})
	s.remains(t, q, want)
}

func (s lettersSuite) looksAtSome(t *testing.T, q LetterQueue) {
	want := s.put(t, q, 15)
	some, swept := s.look(t, q, operator.Sweep{Max: 12})
	if len(some) != 12 || swept.Next == "" && swept.Left != 3 {
		t.Errorf("%d letters were seen of 15, %+v", len(some), swept)
	}
	all, swept := s.look(t, q, operator.Sweep{Max: 15})
	equal(t, "what was seen", bodiesOf(all), want)
	equal(t, "how far", swept, operator.Swept{})
	s.remains(t, q, want)
}

func (s lettersSuite) interruptedLook(t *testing.T, q LetterQueue) {
	want := s.put(t, q, 15)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, _ = q.Look(ctx, queueName, operator.Sweep{}, func(operator.Letter) { cancel() })
	s.remains(t, q, want)
}

// take hands each batch to done, which tells of each body whether it is done with.
func (s lettersSuite) take(t *testing.T, q LetterQueue, w operator.Sweep, done func(body string) bool) (taken []string) {
	t.Helper()
	for {
		swept, err := q.Take(t.Context(), queueName, w, func(batch []operator.Letter) (flags []bool, err error) {
			if len(batch) == 0 || len(batch) > pipeline.MaxBatch {
				t.Errorf("a batch of %d", len(batch))
			}
			for _, l := range batch {
				if l.Receipt == "" || l.ReceiveCount < 1 || len(l.Attributes) != 1 || l.Group != "g" {
					t.Errorf("taken was %+v", l)
				}
				taken, flags = append(taken, l.Body), append(flags, done(l.Body))
			}
			return flags, nil
		})
		must(t, err)
		equal(t, "what could not be taken", swept.Left, 0)
		if w.After = swept.Next; w.After == "" {
			slices.Sort(taken)
			return taken
		}
	}
}

func (s lettersSuite) takes(t *testing.T, q LetterQueue) {
	want := s.put(t, q, 25)
	taken := s.take(t, q, operator.Sweep{Max: 12}, func(body string) bool { return body != "07" && body != "13" })
	equal(t, "what was taken", taken, want)
	s.remains(t, q, []string{"07", "13"})
}

func (s lettersSuite) takesSome(t *testing.T, q LetterQueue) {
	want := s.put(t, q, 15)
	all, _ := s.look(t, q, operator.Sweep{})
	taken := s.take(t, q, operator.Sweep{IDs: []string{all[2].ID, all[9].ID, all[14].ID}}, func(body string) bool { return body != "09" })
	equal(t, "what was taken", taken, []string{"02", "09", "14"})
	s.remains(t, q, slices.DeleteFunc(want, func(b string) bool { return b == "02" || b == "14" }))
}

func (s lettersSuite) takesAlone(t *testing.T, q LetterQueue) {
	s.put(t, q, 3)
	met := 0
	_, err := q.Take(t.Context(), queueName, operator.Sweep{}, func(batch []operator.Letter) ([]bool, error) {
		met += len(batch)
		others, err := q.Receive(t.Context(), queueName, 10, hidden, 0)
		must(t, err)
		for _, o := range others {
			if slices.ContainsFunc(batch, func(l operator.Letter) bool { return l.ID == o.ID }) {
				t.Errorf("%s was received while it was taken", o.Body)
			}
		}
		return slices.Repeat([]bool{true}, len(batch)), nil
	})
	must(t, err)
	if met == 0 {
		t.Error("nothing was taken")
	}
}

func (s lettersSuite) takesOlder(t *testing.T, q LetterQueue) {
	s.put(t, q, 3)
	letters, _ := s.look(t, q, operator.Sweep{})
	latest := letters[0].Sent
	for _, l := range letters {
		if l.Sent.After(latest) {
			latest = l.Sent
		}
	}
	time.Sleep(10 * time.Millisecond)
	send(t, q, queueName, pipeline.Outgoing{Body: "new"})
	taken := s.take(t, q, operator.Sweep{Before: latest}, func(string) bool { return true })
	equal(t, "what was taken", taken, []string{"00", "01", "02"})
	s.remains(t, q, []string{"new"})
}

func (s lettersSuite) failedTake(t *testing.T, q LetterQueue) {
	s.put(t, q, 3)
	fault, first := errors.New("no more"), ""
	_, err := q.Take(t.Context(), queueName, operator.Sweep{}, func(batch []operator.Letter) ([]bool, error) {
		if first != "" {
			t.Error("a take goes on after its fault")
		}
		first = batch[0].Body
		return append([]bool{true}, make([]bool, len(batch)-1)...), fault
	})
	if !errors.Is(err, fault) {
		t.Errorf("got %v", err)
	}
	s.remains(t, q, slices.DeleteFunc([]string{"00", "01", "02"}, func(b string) bool { return b == first }))
}

func (s lettersSuite) interruptedTake(t *testing.T, q LetterQueue) {
	want := s.put(t, q, 25)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var gone []string
	_, err := q.Take(ctx, queueName, operator.Sweep{}, func(batch []operator.Letter) ([]bool, error) {
		cancel()
		gone = append(gone, bodiesOf(batch)...)
		return slices.Repeat([]bool{true}, len(batch)), nil
	})
	if !errors.Is(err, context.Canceled) || len(gone) == 0 || len(gone) > pipeline.MaxBatch {
		t.Errorf("%d letters were taken, %v", len(gone), err)
	}
	s.remains(t, q, slices.DeleteFunc(want, func(b string) bool { return slices.Contains(gone, b) }))
}

func (s lettersSuite) sizes(t *testing.T, q LetterQueue) {
	s.put(t, q, 5)
	in, err := q.Receive(t.Context(), queueName, 2, hidden, s.Late)
	must(t, err)
	info, err := q.Info(t.Context(), queueName)
	must(t, err)
	if info.Visible != 5-len(in) || info.InFlight != len(in) || info.Delayed != 0 || info.Problem != "" || info.MovesAfter != 0 {
		t.Errorf("told is %+v", info)
	}
	names, err := q.List(t.Context())
	must(t, err)
	if !slices.Contains(names, queueName) {
		t.Errorf("listed are %q", names)
	}
}

func (s lettersSuite) missing(t *testing.T, q LetterQueue) {
	const name = "postino-no-such-queue"
	_, err := q.Info(t.Context(), name)
	if _, refused := pipeline.Refused(err); !refused && !push.IsNotFound(err) {
		t.Errorf("told is %v", err)
	}
	send(t, q, queueName, pipeline.Outgoing{Body: "b"})
	swept, err := q.Look(t.Context(), queueName, operator.Sweep{IDs: []string{"no such id"}}, func(l operator.Letter) { t.Errorf("seen was %+v", l) })
	must(t, err)
	equal(t, "how far", swept, operator.Swept{})
}
