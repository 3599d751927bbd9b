package pipeline

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"postino/shared/push"
)

var errDown = errors.New("queue down")

func TestWhatAQueueDoesNotTakeIsSentAgainThenParkedThenTheEntrysError(t *testing.T) {
	for name, c := range map[string]struct {
		refuse       func(tries map[string]int, queue, body string) bool
		jobs, parked int
		failed       bool
	}{
		"all is well":         {func(map[string]int, string, string) bool { return false }, 3, 0, false},
		"the first try fails": {func(tries map[string]int, queue, body string) bool { return tries[body] == 1 }, 3, 0, false},
		"one subscription's job fails twice": {func(tries map[string]int, queue, body string) bool {
			return queue == crashNames.Attempt && strings.Contains(body, subARN(topicA, 1))
		}, 2, 1, false},
		"the lane is down": {func(tries map[string]int, queue, body string) bool { return queue == crashNames.Attempt }, 0, 3, false},
		"all is down":      {func(map[string]int, string, string) bool { return true }, 0, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakes(3)
			tries := map[string]int{}
			f.refuse = func(queue string, e Outgoing) error {
				tries[e.Body]++
				if c.refuse(tries, queue, e.Body) {
					return errDown
				}
				return nil
			}
			results, err := f.publish().Publish(t.Context(), PublishRequest{TopicARN: topicA, Entries: one("m")})
			if err != nil {
				t.Fatal(err)
			}
			if jobs, parked := len(f.in(crashNames.Attempt)), len(f.in(crashNames.Fanout)); jobs != c.jobs || parked != c.parked {
				t.Errorf("%d jobs and %d parked pages, want %d and %d", jobs, parked, c.jobs, c.parked)
			}
			for _, m := range f.in(crashNames.Fanout) {
				if page, err := decodePage(m.Body); err != nil || len(page.Only) != 1 || len(page.Messages) != 1 {
					t.Errorf("parked page %+v, %v", page, err)
				}
			}
			if failed := results[0].Err != nil; failed != c.failed {
				t.Errorf("error %v", results[0].Err)
			}
			if c.failed && (push.CodeOf(results[0].Err) != push.CodeInternalError || !errors.Is(results[0].Err, errDown) || results[0].MessageID != "" || f.kinds() != "fault") {
				t.Errorf("%+v, events %q", results[0], f.kinds())
			}
		})
	}
}

func TestAParkedPageBecomesTheJobThatTheLaneDidNotTake(t *testing.T) {
	f := newFakes(2)
	f.refuse = func(queue string, e Outgoing) error {
		if queue == crashNames.Attempt && strings.Contains(e.Body, subARN(topicA, 1)) {
			return errDown
		}
		return nil
	}
	if _, err := f.publish().Publish(t.Context(), PublishRequest{TopicARN: topicA, Entries: one("m")}); err != nil {
		t.Fatal(err)
	}
	parked := f.in(crashNames.Fanout)
	f.refuse, f.sent = nil, nil
	if failed := f.fanout().Handle(t.Context(), []Record{{ID: "p", Body: parked[0].Body}}); failed != nil {
		t.Fatal(failed)
	}
	if j, _ := f.onlyJob(t, crashNames.Attempt); j.Subscription != subARN(topicA, 1) || j.Message.Body != "m" {
		t.Errorf("job %+v", j)
	}
}

func TestAnEntrysFailureIsItsOwn(t *testing.T) {
	f := newFakes(1)
	f.refuse = func(queue string, e Outgoing) error {
		if j, err := push.DecodeJob(e.Body); err != nil || j.Message.Body == "bad" {
			return errDown
		}
		return nil
	}
	results, err := f.publish().Publish(t.Context(), PublishRequest{TopicARN: topicA, Entries: []push.Publication{{EntryID: "1", Message: "bad"}, {EntryID: "2", Message: "good"}}})
	if err != nil || results[0].Err == nil || results[1].Err != nil {
		t.Errorf("%+v, %v", results, err)
	}
}

func TestBatchesHoldAtMostTenEntriesAndAMebibyteOfOneQueueInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []addressed
		for i := range rapid.IntRange(0, 60).Draw(t, "entries") {
			size := rapid.SampledFrom([]int{10, 1000, 120_000, 400_000}).Draw(t, "size")
			queue := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "queue")
			all = append(all, addressed{entry: i, queue: queue, out: Outgoing{Body: strings.Repeat("x", size)}})
		}
		seen := map[string][]int{}
		for _, b := range batch(all) {
			bytes := 0
			for _, a := range b {
				if a.queue != b[0].queue {
					t.Fatalf("a batch for %s and %s", a.queue, b[0].queue)
				}
				bytes += len(a.out.Body)
				seen[a.queue] = append(seen[a.queue], a.entry)
			}
			if len(b) == 0 || len(b) > MaxBatch || bytes > 1<<20 {
				t.Fatalf("a batch of %d entries and %d bytes", len(b), bytes)
			}
		}
		want := map[string][]int{}
		for _, a := range all {
			want[a.queue] = append(want[a.queue], a.entry)
		}
		if fmt.Sprint(seen) != fmt.Sprint(want) {
			t.Fatalf("batches hold %v, want %v", seen, want)
		}
	})
}

func TestManyBatchesGoOutSideBySideAndEachJobOnce(t *testing.T) {
	f := newFakes(95)
	if _, err := f.publish().Publish(t.Context(), PublishRequest{TopicARN: topicA, Entries: []push.Publication{{EntryID: "1", Message: "x"}, {EntryID: "2", Message: "y"}}}); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, m := range f.in(crashNames.Attempt) {
		seen[m.Body]++
	}
	if len(seen) != 190 || len(f.sent) != 190 || len(f.batches) != 19 {
		t.Errorf("%d different jobs of %d in %d batches, want 190 of 190 in 19", len(seen), len(f.sent), len(f.batches))
	}
}
