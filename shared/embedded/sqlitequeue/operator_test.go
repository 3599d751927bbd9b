package sqlitequeue

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postino/shared/conformance"
	"postino/shared/operator"
	"postino/shared/pipeline"
	"postino/shared/push"
)

func TestTheQueueKeepsTheOperatorsPromises(t *testing.T) {
	conformance.ExerciseLetters(t, conformance.Harness[conformance.LetterQueue]{
		Open: func(t *testing.T) conformance.LetterQueue { return fresh(t).Queue },
		Run:  synctest.Test,
	})
}

func TestOperatorsSeeQueuesWithoutTouchingThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fresh(t)
		oldest := time.Now()
		for i := range 23 {
			f.send(t, "q", pipeline.Outgoing{Body: fmt.Sprintf("%02d", i), Group: fmt.Sprint(i % 2), Delay: time.Duration(i%3) * time.Minute,
				Attributes: []push.Attribute{{Name: "n", Type: "String", Value: "v"}}})
			time.Sleep(time.Second)
		}
		f.receive(t, "q", 3)
		f.send(t, "other", pipeline.Outgoing{Body: "elsewhere"})
		var got []string
		for s := (operator.Sweep{Max: 5}); ; {
			swept, err := f.Look(t.Context(), "q", s, func(l operator.Letter) {
				got = append(got, l.Body)
				if l.Receipt != "" || len(l.Attributes) != 1 {
					t.Errorf("saw %+v", l)
				}
			})
			if err != nil || swept.Left != 0 {
				t.Fatal(swept, err)
			}
			if s.After = swept.Next; s.After == "" {
				break
			}
		}
		if len(got) != 23 || !slices.IsSorted(got) {
			t.Errorf("saw %v", got)
		}
		want := operator.QueueInfo{Name: "q", Visible: 5, InFlight: 3, Delayed: 15, OldestSent: oldest.UTC()}
		if i := f.info(t, "q"); i != want {
			t.Errorf("info is %+v, want %+v", i, want)
		}
		if _, err := f.Info(t.Context(), "typo"); !push.IsNotFound(err) {
			t.Errorf("an unknown queue gives %v", err)
		}
		if all, err := f.List(t.Context()); err != nil || !slices.Equal(all, []string{"other", "q"}) {
			t.Errorf("looking made queues: %v, %v", all, err)
		}
	})
}

func TestABriefLookReadsNoBodyOfALetterThatCarriesItsNote(t *testing.T) {
	f := fresh(t)
	note := []push.Attribute{{Name: pipeline.DeadLetterAttribute, Type: "String", Value: "{}"}}
	body := strings.Repeat("ä", 1000)
	f.send(t, "q", pipeline.Outgoing{Body: body, Attributes: note}, pipeline.Outgoing{Body: body})
	f.reopen(t) // memory holds what was just sent
	var got []operator.Letter
	if _, err := f.Look(t.Context(), "q", operator.Sweep{Brief: true}, func(l operator.Letter) { got = append(got, l) }); err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
	if got[0].Body != "" || got[0].Bytes != 2000 || len(got[0].Attributes) != 1 || got[1].Body != body || got[1].Bytes != 2000 {
		t.Errorf("saw %d bytes of %d and %d of %d", len(got[0].Body), got[0].Bytes, len(got[1].Body), got[1].Bytes)
	}
}

func TestATakeGetsDelayedLettersAndLeavesWhatOthersHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fresh(t)
		f.send(t, "q", pipeline.Outgoing{Body: "theirs"}, pipeline.Outgoing{Body: "b"}, pipeline.Outgoing{Body: "later", Delay: 12 * time.Minute})
		theirs := f.receive(t, "q", 1)
		var got []string
		swept, err := f.Take(t.Context(), "q", operator.Sweep{}, func(batch []operator.Letter) ([]bool, error) {
			for _, l := range batch {
				got = append(got, l.Body)
			}
			return []bool{true, true}, nil
		})
		if err != nil || swept != (operator.Swept{Left: 1}) || !slices.Equal(got, []string{"b", "later"}) {
			t.Errorf("took %q, %+v, %v", got, swept, err)
		}
		if err := f.Delete(t.Context(), "q", []string{theirs[0].Receipt}); err != nil || f.info(t, "q").InFlight != 0 {
			t.Errorf("theirs is no longer theirs: %v", err)
		}
		for _, id := range []string{"x", f.messageID(99)} {
			if _, err := f.Take(t.Context(), "q", operator.Sweep{IDs: []string{id}}, func([]operator.Letter) ([]bool, error) {
				t.Errorf("took %q", id)
				return nil, nil
			}); err != nil {
				t.Error(err)
			}
		}
		if _, err := f.Look(t.Context(), "q", operator.Sweep{After: "x"}, nil); err == nil {
			t.Error("went on behind no message")
		}
	})
}
