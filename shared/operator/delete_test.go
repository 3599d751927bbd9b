package operator

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDeletingTakesOutWhatWasNamedAndSendsNothing(t *testing.T) {
	w := newWorld()
	for i := range 4 {
		w.queues.put("dlq", letter(fmt.Sprint("l", i), i-10))
	}
	w.queues.find("dlq", "l3").hidden = true // someone else is receiving it
	got, err := w.DeleteDeadLetters(t.Context(), "dlq", DeleteRequest{IDs: []string{"l0", "l2", "l3", "l9"}})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(DeleteResult{Deleted: 2, Missing: []string{"l3", "l9"}}, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"l1", "l3"}, w.queues.ids("dlq")); d != "" {
		t.Error(d)
	}
	if len(w.redriver.sent) > 0 {
		t.Errorf("sent was %+v", w.redriver.sent)
	}
}

func TestDeletingAllLeavesWhatComesMeanwhile(t *testing.T) {
	w := newWorld()
	for i := range 5 {
		w.queues.put("dlq", letter(fmt.Sprint("l", i), i-10))
	}
	request, total := DeleteRequest{All: true, Max: 2}, 0
	for calls := 1; ; calls++ {
		got, err := w.DeleteDeadLetters(t.Context(), "dlq", request)
		if err != nil {
			t.Fatal(err)
		}
		w.queues.put("dlq", letter(fmt.Sprint("m", calls), 1))
		if total += got.Deleted; got.After == "" || calls > 10 {
			break
		}
		request.After, request.Before = got.After, got.Before
	}
	if d := cmp.Diff([]string{"m1", "m2", "m3"}, w.queues.ids("dlq")); d != "" || total != 5 {
		t.Errorf("deleted %d: %s", total, d)
	}
}

// What is told to be deleted is: a batch that a fault met is told apart.
func TestDeletingCountsOnlyWhatIsKnownToBeGone(t *testing.T) {
	w := newWorld()
	w.queues.put("dlq", letter("l1", -1))
	w.queues.deleteFails = errors.New("disk full")
	done, err := w.DeleteDeadLetters(t.Context(), "dlq", DeleteRequest{IDs: []string{"l1"}})
	if !errors.Is(err, w.queues.deleteFails) || done.Deleted != 0 || done.Perhaps != 1 || done.Missing != nil {
		t.Errorf("got %+v, %v", done, err)
	}
	told, err := serve(t, w).DeleteDeadLetters(t.Context(), "dlq", DeleteRequest{All: true})
	if err != nil || told.Perhaps != 1 || told.Stopped == "" {
		t.Errorf("over HTTP: %+v, %v", told, err)
	}
}
