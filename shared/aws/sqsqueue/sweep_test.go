package sqsqueue_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"postino/shared/operator"
)

// box is a queue in memory with SQS's answers; each receive takes it a while.
type box struct {
	t     testing.TB
	slow  time.Duration
	grows bool

	mu      sync.Mutex
	next    int
	hidden  map[string]time.Time // message id to the end of its visibility timeout
	entries map[string][]int     // of calls, by operation
}

func newBox(t testing.TB, letters int, slow time.Duration) *box {
	b := &box{t: t, slow: slow, hidden: map[string]time.Time{}, entries: map[string][]int{}}
	for range letters {
		b.add()
	}
	return b
}

func (b *box) add() {
	b.hidden[fmt.Sprintf("m%d", b.next)] = time.Time{}
	b.next++
}

func (b *box) answer(operation string, body []byte) (int, string, error) {
	var in struct {
		MaxNumberOfMessages, VisibilityTimeout int
		Entries                                []struct {
			ReceiptHandle     string
			VisibilityTimeout int
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		b.t.Error(err)
	}
	if operation == "ReceiveMessage" {
		time.Sleep(b.slow)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entries[operation] = append(b.entries[operation], len(in.Entries))
	out := map[string]any{}
	switch operation {
	case "GetQueueUrl":
		out["QueueUrl"] = "https://sqs.test/q"
	case "GetQueueAttributes":
		out["Attributes"] = map[string]string{"ApproximateNumberOfMessages": fmt.Sprint(b.visible())}
	case "ReceiveMessage":
		out["Messages"] = b.receive(in.MaxNumberOfMessages, time.Duration(in.VisibilityTimeout)*time.Second)
	case "ChangeMessageVisibilityBatch":
		for _, e := range in.Entries {
			b.hidden[e.ReceiptHandle] = time.Now().Add(time.Duration(e.VisibilityTimeout) * time.Second)
		}
	case "DeleteMessageBatch":
		for _, e := range in.Entries {
			delete(b.hidden, e.ReceiptHandle)
		}
	}
	answer, err := json.Marshal(out)
	if err != nil {
		b.t.Error(err)
	}
	return http.StatusOK, string(answer), nil
}

func (b *box) receive(limit int, visibility time.Duration) (messages []map[string]any) {
	for i := 0; b.grows && i < limit; i++ {
		b.add()
	}
	// Those that have been visible longest come first, as queues by and large do it.
	ids := slices.SortedFunc(maps.Keys(b.hidden), func(x, y string) int {
		return cmp.Or(b.hidden[x].Compare(b.hidden[y]), cmp.Compare(x, y))
	})
	for _, id := range ids {
		if len(messages) == limit {
			break
		}
		if !b.hidden[id].After(time.Now()) {
			b.hidden[id] = time.Now().Add(visibility)
			messages = append(messages, map[string]any{"MessageId": id, "ReceiptHandle": id, "Body": id,
				"Attributes": map[string]string{"SentTimestamp": fmt.Sprint(time.Now().UnixMilli())}})
		}
	}
	return messages
}

func (b *box) visible() (n int) {
	for _, until := range b.hidden {
		if !until.After(time.Now()) {
			n++
		}
	}
	return n
}

// tidy checks that everything is visible and that no call had too many entries.
func (b *box) tidy(letters int) {
	b.t.Helper()
	if n := b.visible(); n != letters {
		b.t.Errorf("%d letters are visible, want %d", n, letters)
	}
	for operation, calls := range b.entries {
		for _, n := range calls {
			if n > 10 {
				b.t.Errorf("%s had %d entries", operation, n)
			}
		}
	}
}

func TestALookEndsBeforeWhatItSawComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, seen := newBox(t, 1000, time.Second), map[string]bool{}
		swept, err := queueOn(t, b.answer).Look(t.Context(), "q", operator.Sweep{}, func(l operator.Letter) { seen[l.ID] = true })
		if err != nil || swept.Left != 1000-len(seen) || len(seen) < 400 || len(seen) > 470 {
			t.Errorf("%d were seen, %+v, %v", len(seen), swept, err)
		}
		b.tidy(1000)
	})
}

func TestATakeOfAllMeetsNothingTwiceHoweverLongItTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, met := newBox(t, 1000, time.Second), map[string]int{}
		swept, err := queueOn(t, b.answer).Take(t.Context(), "q", operator.Sweep{}, func(batch []operator.Letter) ([]bool, error) {
			for _, l := range batch {
				met[l.ID]++
			}
			return append([]bool{true}, make([]bool, len(batch)-1)...), nil // most stay, and come back meanwhile
		})
		if err != nil {
			t.Fatal(err)
		}
		gone := 0
		for id, n := range met {
			if n != 1 {
				t.Errorf("%s was taken %d times", id, n)
			}
		}
		gone = 1000 - len(b.hidden)
		if len(met) != 1000 || gone < 100 {
			t.Errorf("%d letters were taken, %d are gone, %+v", len(met), gone, swept)
		}
		b.tidy(len(b.hidden))
	})
}

func TestATakeIsNotKeptGoingByWhatArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, 0, 0)
		b.grows = true
		swept, err := queueOn(t, b.answer).Take(t.Context(), "q", operator.Sweep{Before: time.Now().Add(-time.Second)}, func(batch []operator.Letter) ([]bool, error) {
			t.Errorf("taken was %v", batch)
			return nil, errors.New("never")
		})
		if err != nil {
			t.Error(swept, err)
		}
		b.grows = false
		b.tidy(b.next)
	})
}

func TestASweepThatIsInterruptedPutsAllBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, 200, time.Millisecond)
		ctx, cancel := context.WithCancel(t.Context())
		seen := 0
		_, err := queueOn(t, b.answer).Look(ctx, "q", operator.Sweep{}, func(operator.Letter) {
			if seen++; seen == 95 {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) || seen < 95 || seen > 110 {
			t.Errorf("%d were seen, %v", seen, err)
		}
		b.tidy(200)
	})
}

func TestAPlaceToGoOnIsRefused(t *testing.T) {
	_, err := queueOn(t, nil).Look(t.Context(), "q", operator.Sweep{After: "id"}, nil)
	if err == nil {
		t.Error("went on behind a message")
	}
}
