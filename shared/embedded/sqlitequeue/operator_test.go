package sqlitequeue

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"postino/shared/pipeline"
	"postino/shared/push"
)

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
		for after := ""; ; {
			page, next, err := f.Peek(t.Context(), "q", after, 5)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range page {
				got = append(got, m.Body)
				if m.Receipt != "" || len(m.Attributes) != 1 {
					t.Errorf("peeked %+v", m)
				}
			}
			if next == "" {
				break
			}
			after = next
		}
		if len(got) != 23 || !slices.IsSorted(got) {
			t.Errorf("peeked %v", got)
		}
		want := QueueInfo{Name: "q", Options: Options{Visibility: defaultVisibility}, Visible: 5, InFlight: 3, Delayed: 15, OldestSent: oldest.UTC()}
		if i := f.info(t, "q"); i != want {
			t.Errorf("info is %+v, want %+v", i, want)
		}
		if page, next, err := f.Peek(t.Context(), "typo", "", 5); err != nil || len(page) > 0 || next != "" {
			t.Errorf("an unknown queue holds %v, %q, %v", page, next, err)
		}
		if all, err := f.List(t.Context()); err != nil || len(all) != 2 {
			t.Errorf("looking made queues: %v, %v", all, err)
		}
	})
}

func TestOneGivenMessageIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fresh(t)
		f.send(t, "q", pipeline.Outgoing{Body: "a"}, pipeline.Outgoing{Body: "b"}, pipeline.Outgoing{Body: "c", Delay: time.Hour / 5})
		page, _, err := f.Peek(t.Context(), "q", "", 10)
		if err != nil || len(page) != 3 {
			t.Fatal(page, err)
		}
		for _, want := range page[1:] {
			got, found, err := f.Take(t.Context(), "q", want.ID, time.Minute)
			if err != nil || !found || got.Body != want.Body || got.Receipt == "" || got.ReceiveCount != 1 {
				t.Errorf("took %+v, %v, %v, want %+v", got, found, err, want)
			}
			if _, found, err := f.Take(t.Context(), "q", want.ID, time.Minute); found || err != nil {
				t.Errorf("taken twice: %v, %v", found, err)
			}
			if err := f.Delete(t.Context(), "q", []string{got.Receipt}); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range []string{"", "x", page[1].ID, f.messageID(99)} {
			if _, found, err := f.Take(t.Context(), "q", id, time.Minute); found || err != nil {
				t.Errorf("took %q: %v, %v", id, found, err)
			}
		}
		if _, found, err := f.Take(t.Context(), "typo", page[0].ID, time.Minute); found || err != nil {
			t.Errorf("taken from another queue: %v, %v", found, err)
		}
		if got := bodies(f.receive(t, "q", 10)); !slices.Equal(got, []string{"a"}) {
			t.Errorf("left: %v", got)
		}
	})
}
