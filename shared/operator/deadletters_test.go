package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"postino/shared/pipeline"
	"postino/shared/push"
)

const note = `{"v":1,"subscription":"` + subA + `","topic":"` + orders + `","messageId":"m1","attempts":4,"status":503,"reason":"retries exhausted","published":"2026-05-04T11:00:00Z"}`

func letter(id string, minute int) Letter {
	return Letter{Incoming: pipeline.Incoming{ID: id, Body: "body of " + id, Group: "g", Sent: noon.Add(time.Duration(minute) * time.Minute),
		Attributes: []push.Attribute{{Name: "colour", Type: "String", Value: "red"}, {Name: "Postino", Type: "String", Value: note}}}}
}

func TestOnlyDeadLetterQueuesAreListed(t *testing.T) {
	w := newWorld()
	w.Names.Retry = queueARN("retry")
	w.queues.names = []string{"retry", "attempt", queueARN("failed"), "fanout", queueARN("dead")}
	w.queues.put("orders-dlq", letter("l1", -10))
	got, err := w.ListQueues(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []QueueInfo{{Name: "dead", ARN: queueARN("dead")}, {Name: "failed", ARN: queueARN("failed")},
		{Name: "orders-dlq", ARN: queueARN("orders-dlq"), Visible: 1, OldestSent: noon.Add(-10 * time.Minute)}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestQueuesThatSubscriptionsNameAreListedToo(t *testing.T) {
	w := newWorld()
	const abroad = "arn:aws:sqs:us-west-2:111122223333:far"
	for i, target := range []string{queueARN("dead"), queueARN("theirs"), abroad} {
		w.directory.subs[i].RedrivePolicy = `{"deadLetterTargetArn":"` + target + `"}`
		w.directory.subs[i].DeletedAt = time.Time{}
	}
	w.directory.subs = append(w.directory.subs, push.Subscription{ARN: subC + "0", RedrivePolicy: `{"deadLetterTargetArn":"` + queueARN("not-made-yet") + `"}`},
		push.Subscription{ARN: subC + "1", RedrivePolicy: `{"deadLetterTargetArn":"` + queueARN("retry") + `"}`})
	w.queues.names, w.queues.denied = []string{queueARN("dead"), queueARN("theirs")}, []string{abroad}
	w.Aliases = map[string]string{"DeadLetterQueue": queueARN("dead")}
	got, err := w.ListQueues(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []QueueInfo{{Name: "DeadLetterQueue", ARN: queueARN("dead")}, {Name: abroad, ARN: abroad, Problem: "sqs:GetQueueAttributes is missing"},
		{Name: "theirs", ARN: queueARN("theirs")}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, name := range []string{"DeadLetterQueue", "dead", queueARN("dead")} {
		if _, err := w.ListDeadLetters(t.Context(), name, "", 0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = w.ListDeadLetters(t.Context(), abroad, "", 0)
	refusal(t, err, push.CodeInvalidParameter, "cannot be looked into: sqs:GetQueueAttributes is missing; `postino dlq list` shows")
}

func TestALookThatDidNotComeToAllLettersSaysSo(t *testing.T) {
	w := newWorld()
	w.queues.put("dlq", letter("l1", -10))
	w.queues.left = 900
	page, err := w.ListDeadLetters(t.Context(), "dlq", "", 0)
	if err != nil || page.Left != 900 || len(page.DeadLetters) != 1 {
		t.Errorf("got %+v, %v", page, err)
	}
	if _, err := w.ShowDeadLetter(t.Context(), "dlq", "l1"); err != nil {
		t.Error(err)
	}
	_, err = w.ShowDeadLetter(t.Context(), "dlq", "l9")
	refusal(t, err, push.CodeNotFound, "about 900 others were not looked at")
	done, err := w.Redrive(t.Context(), "dlq", RedriveRequest{IDs: []string{"l9"}})
	if err != nil || done.Left != 900 || len(done.Missing) != 1 {
		t.Errorf("got %+v, %v", done, err)
	}
}

func TestLettersAreListedWithoutTheirBodies(t *testing.T) {
	w := newWorld()
	for i := range 3 {
		w.queues.put("dlq", letter(fmt.Sprint("l", i), i-10))
	}
	first, err := w.ListDeadLetters(t.Context(), "arn:aws:sqs:eu-west-1:111122223333:dlq", "", 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.DeadLetters) != 2 || first.Next != "l1" {
		t.Fatalf("got %d letters and next %q", len(first.DeadLetters), first.Next)
	}
	l := first.DeadLetters[0]
	if l.Body != "" || l.Bytes != len("body of l0") || l.Attributes != nil || l.Note == nil || l.Note.Attempts != 4 {
		t.Errorf("got %+v", l)
	}
	rest, err := w.ListDeadLetters(t.Context(), "dlq", first.Next, 0)
	if err != nil || len(rest.DeadLetters) != 1 || rest.DeadLetters[0].ID != "l2" || rest.Next != "" {
		t.Errorf("got %+v and error %v", rest, err)
	}
}

func TestShowingALetterDoesNotReceiveIt(t *testing.T) {
	w := newWorld()
	w.queues.put("dlq", letter("l1", -10))
	job := push.Job{Kind: push.Notification, Subscription: subB, Attempt: 3, Message: push.Message{ID: "m7", Body: "secret"}}
	w.queues.put("failed", Letter{Incoming: pipeline.Incoming{ID: "l2", Body: job.Encode(), Sent: noon}})
	got, err := w.ShowDeadLetter(t.Context(), "dlq", "l1")
	if err != nil {
		t.Fatal(err)
	}
	want := DeadLetter{
		ID: "l1", Queue: "dlq", Sent: noon.Add(-10 * time.Minute), Bytes: 10, Body: "body of l1",
		Attributes: []Attribute{{"colour", "String", "red"}, {"Postino", "String", note}},
		Note: &pipeline.DeadLetterNote{V: 1, Subscription: subA, Topic: orders, MessageID: "m1", Attempts: 4, Status: 503,
			Reason: "retries exhausted", Published: noon.Add(-time.Hour)},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	failed, err := w.ShowDeadLetter(t.Context(), "failed", "l2")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(&Job{Kind: push.Notification, Subscription: subB, MessageID: "m7", Attempt: 3}, failed.Job); d != "" {
		t.Error(d)
	}
	if l := w.queues.find("dlq", "l1"); l.hidden || l.ReceiveCount != 0 {
		t.Error("looking at a letter received it")
	}
	_, err = w.ShowDeadLetter(t.Context(), "dlq", "l9")
	refusal(t, err, push.CodeNotFound, `has no message "l9"`)
}

func TestANoteOfAnotherSenderIsNoNote(t *testing.T) {
	for _, value := range []string{"", "hello", "[]", `{"v":2}`, `{"v":1,"attempts":"many"}`} {
		if got := readNote(value); got != nil {
			t.Errorf("%q was read as %+v", value, got)
		}
	}
}

func TestQueuesThatCarryDeliveriesAreNoDeadLetterQueues(t *testing.T) {
	w := newWorld()
	w.queues.names = []string{queueARN("retry"), queueARN("dlq")}
	for _, name := range []string{"retry", "arn:aws:sqs:eu-west-1:111122223333:retry"} {
		_, err := w.ListDeadLetters(t.Context(), name, "", 0)
		refusal(t, err, push.CodeInvalidParameter, "on their way")
		_, err = w.Redrive(t.Context(), name, RedriveRequest{All: true})
		refusal(t, err, push.CodeInvalidParameter, "on their way")
		_, err = w.DeleteDeadLetters(t.Context(), name, DeleteRequest{All: true})
		refusal(t, err, push.CodeInvalidParameter, "on their way")
	}
	_, err := w.ShowDeadLetter(t.Context(), "nowhere", "l1")
	refusal(t, err, push.CodeNotFound, `no queue "nowhere"`)
}

func TestRedrivingSendsDeletesAndReportsWhatStays(t *testing.T) {
	w := newWorld()
	for i := range 4 {
		w.queues.put("dlq", letter(fmt.Sprint("l", i), i-10))
	}
	w.queues.find("dlq", "l3").hidden = true // someone else is receiving it
	w.redriver.refuse = map[string]error{"l1": &pipeline.UnsendableError{Reason: "its subscription no longer exists"}, "l2": errors.New("queue down")}
	got, err := w.Redrive(t.Context(), "dlq", RedriveRequest{IDs: []string{"l0", "l1", "l2", "l3", "l9"}})
	if err != nil {
		t.Fatal(err)
	}
	want := RedriveResult{Redriven: 1, Missing: []string{"l3", "l9"}, Kept: []Kept{
		{"l1", "its subscription no longer exists"}, {"l2", "it could not be queued just now: try again"},
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"l1", "l2", "l3"}, w.queues.ids("dlq")); d != "" {
		t.Error(d)
	}
	r := w.redriver.sent[0]
	if r.Queue != "arn:aws:sqs:eu-west-1:111122223333:dlq" || r.Body != "body of l0" || r.Group != "g" || r.ReceiveCount != 1 || len(r.Attributes) != 2 {
		t.Errorf("the verb got %+v", r)
	}
	forced, err := w.Redrive(t.Context(), "dlq", RedriveRequest{IDs: []string{"l1"}, Force: true})
	if err != nil || forced.Redriven != 1 {
		t.Errorf("force gave %+v and error %v", forced, err)
	}
}

func TestRedrivingAllDoesNotMeetAgainWhatDiesAgain(t *testing.T) {
	w := newWorld()
	for i := range 5 {
		w.queues.put("dlq", letter(fmt.Sprint("l", i), i-10))
	}
	w.redriver.then = func(r pipeline.Record) { w.queues.put("dlq", letter("m-"+r.ID, 1)) }
	request, total, calls := RedriveRequest{All: true, Max: 2}, 0, 0
	for {
		got, err := w.Redrive(t.Context(), "dlq", request)
		if err != nil {
			t.Fatal(err)
		}
		total += got.Redriven
		if calls++; got.After == "" || calls > 10 {
			break
		}
		request.After, request.Before = got.After, got.Before
	}
	if total != 5 || calls != 3 {
		t.Errorf("redrove %d letters in %d calls, want 5 in 3", total, calls)
	}
	if d := cmp.Diff([]string{"m-l0", "m-l1", "m-l2", "m-l3", "m-l4"}, slices.Sorted(slices.Values(w.queues.ids("dlq")))); d != "" {
		t.Error(d)
	}
}

// A schedule may have left a job's body elsewhere: what is shown and sent is the
// job, not what stands for it.
func TestALetterThatStandsForAnotherIsOpened(t *testing.T) {
	w := newWorld()
	job := push.Job{Kind: push.Notification, Subscription: subA, Attempt: 2, Message: push.Message{ID: "m", TopicARN: orders, Body: "large"}}.Encode()
	for _, id := range []string{"l1", "l2"} {
		l := letter(id, -1)
		l.Body, l.Attributes = "stands for "+id, nil
		w.queues.put("failed", l)
	}
	w.Open = func(_ context.Context, r pipeline.Record) (pipeline.Record, error) {
		if r.ID == "l2" {
			return r, errors.New("the table does not answer")
		}
		r.Body = job
		return r, nil
	}
	shown, err := w.ShowDeadLetter(t.Context(), "failed", "l1")
	if err != nil || shown.Body != job || shown.Bytes != len(job) || shown.Job == nil || shown.Job.Subscription != subA {
		t.Errorf("shown is %+v, %v", shown, err)
	}
	if closed, err := w.ShowDeadLetter(t.Context(), "failed", "l2"); err != nil || closed.Body != "stands for l2" || closed.Job != nil {
		t.Errorf("shown is %+v, %v", closed, err)
	}
	got, err := w.Redrive(t.Context(), "failed", RedriveRequest{All: true})
	if err != nil || got.Redriven != 1 || len(got.Kept) != 1 || got.Kept[0].ID != "l2" || len(w.redriver.sent) != 1 || w.redriver.sent[0].Body != job {
		t.Errorf("redriven %+v, %v, sent %+v", got, err, w.redriver.sent)
	}
}

func TestALetterThatCouldNotBeDeletedIsAnError(t *testing.T) {
	w := newWorld()
	w.queues.put("dlq", letter("l1", -1))
	w.queues.deleteFails = errors.New("disk full")
	if done, err := w.Redrive(t.Context(), "dlq", RedriveRequest{IDs: []string{"l1"}}); !errors.Is(err, w.queues.deleteFails) || done.Redriven != 1 {
		t.Errorf("got %+v, %v", done, err)
	}
}

func TestAStrangeLetterStaysAndEndsNothing(t *testing.T) {
	w := newWorld()
	strange := letter("l1", -1)
	strange.Body = "panics"
	w.queues.put("dlq", strange)
	w.queues.put("dlq", letter("l2", -1))
	got, err := w.Redrive(t.Context(), "dlq", RedriveRequest{All: true})
	if err != nil || got.Redriven != 1 || len(got.Kept) != 1 || got.Kept[0].ID != "l1" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestUnclearRequestsAreRefused(t *testing.T) {
	w := newWorld()
	w.queues.names = []string{queueARN("dlq")}
	for _, r := range []RedriveRequest{{}, {All: true, IDs: []string{"l1"}}, {All: true, Max: 1001}, {IDs: make([]string, 1001)}} {
		_, err := w.Redrive(t.Context(), "dlq", r)
		refusal(t, err, push.CodeInvalidParameter, "")
		_, err = w.DeleteDeadLetters(t.Context(), "dlq", DeleteRequest{IDs: r.IDs, All: r.All, Max: r.Max})
		refusal(t, err, push.CodeInvalidParameter, "")
	}
}
