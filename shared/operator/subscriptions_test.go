package operator

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"postino/shared/push"
)

func TestPausingAndResumingSaysWhetherItChangedAnything(t *testing.T) {
	w := newWorld()
	paused := Subscription{ARN: subA, Endpoint: "https://a.example/hook", Paused: true, Changed: true}
	got, err := w.Pause(t.Context(), "aaaa1")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(paused, got); d != "" {
		t.Error(d)
	}
	if !w.directory.subs[0].Paused {
		t.Error("the subscription is not paused")
	}
	if got, err = w.Pause(t.Context(), subA); err != nil || got.Changed || !got.Paused {
		t.Errorf("pausing again gave %+v and error %v", got, err)
	}
	if got, err = w.Resume(t.Context(), subA); err != nil || !got.Changed || got.Paused || w.directory.subs[0].Paused {
		t.Errorf("resuming gave %+v and error %v", got, err)
	}
}

func TestPausingWhatIsGoneIsRefused(t *testing.T) {
	w := newWorld()
	for _, which := range []string{subC, "cccc", orders + ":dddd"} {
		_, err := w.Pause(t.Context(), which)
		refusal(t, err, push.CodeNotFound, "There is no subscription")
	}
	if w.directory.subs[2].Paused {
		t.Error("a tombstone was paused")
	}
}

func TestATestMessageGoesToOneSubscriptionAlone(t *testing.T) {
	w := newWorld()
	got, err := w.SendTest(t.Context(), "aaaa1")
	if err != nil {
		t.Fatal(err)
	}
	if got.Subscription != subA || got.Endpoint != "https://a.example/hook" || got.Paused || len(got.MessageID) != 36 {
		t.Errorf("got %+v", got)
	}
	if w.jobs.queue != "attempt" || len(w.jobs.sent) != 1 || w.jobs.sent[0].Group != "aaaa1111-0000-4000-8000-000000000001" {
		t.Fatalf("queued %d jobs in %q: %+v", len(w.jobs.sent), w.jobs.queue, w.jobs.sent)
	}
	j, err := push.DecodeJob(w.jobs.sent[0].Body)
	if err != nil {
		t.Fatal(err)
	}
	if j.Kind != push.Notification || j.Subscription != subA || j.Attempt != 1 || j.Message.ID != got.MessageID ||
		j.Message.TopicARN != orders || !j.Message.Timestamp.Equal(noon) || j.Message.Attributes[0].Name != TestAttribute {
		t.Errorf("got job %+v", j)
	}
}

func TestATestMessageForWhoCannotGetItIsRefused(t *testing.T) {
	w := newWorld()
	_, err := w.SendTest(t.Context(), subB)
	refusal(t, err, push.CodeInvalidParameter, "is not confirmed yet")
	_, err = w.SendTest(t.Context(), subC)
	refusal(t, err, push.CodeNotFound, "There is no subscription")
	w.jobs.err = errors.New("disk full")
	if _, err = w.SendTest(t.Context(), subA); !errors.Is(err, w.jobs.err) {
		t.Errorf("got %v, want the queue's error", err)
	}
}
