package sqlitequeue

import (
	"testing"
	"testing/synctest"
	"time"

	"postino/shared/pipeline"
)

func TestReceiveCountsOfWhatCameBackSurviveARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fresh(t)
		f.send(t, "q", pipeline.Outgoing{Body: "b"})
		for range 3 {
			f.receive(t, "q", 1)
			time.Sleep(time.Minute)
		}
		f.reopen(t)
		if m := f.receive(t, "q", 1)[0]; m.ReceiveCount != 4 {
			t.Errorf("receive count is %d, want 4", m.ReceiveCount)
		}
	})
}

func TestOptionsAreKeptAndMovesToADeadLetterQueueSurvive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fresh(t)
		o := Options{Visibility: 10 * time.Second, MaxReceive: 1, DeadLetter: "arn:aws:sqs:us-east-1:000000000000:dead"}
		for range 2 { // the second changes nothing
			if err := f.Ensure(t.Context(), "q", o); err != nil {
				t.Fatal(err)
			}
		}
		f.reopen(t)
		o.DeadLetter = "dead"
		if got := f.options("q"); got != o {
			t.Errorf("options are %+v, want %+v", got, o)
		}
		f.send(t, "q", pipeline.Outgoing{Body: "b", Group: "g"})
		if in, err := f.Receive(t.Context(), "q", 1, 0, 0); err != nil || len(in) != 1 { // 0: the queue's own timeout
			t.Fatal(in, err)
		}
		time.Sleep(10*time.Second + time.Millisecond)
		f.reopen(t)
		if got := f.info(t, "q"); got.Visible+got.InFlight+got.Delayed != 0 {
			t.Errorf("left behind: %+v", got)
		}
		m := f.receive(t, "dead", 1)[0]
		if m.Body != "b" || m.Group != "g" {
			t.Errorf("dead letter is %+v", m)
		}
	})
}

func TestARestartCountsAsAReceiveButMovesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fresh(t)
		if err := f.Ensure(t.Context(), "q", Options{MaxReceive: 1, DeadLetter: "dead"}); err != nil {
			t.Fatal(err)
		}
		f.send(t, "q", pipeline.Outgoing{Body: "visible"}, pipeline.Outgoing{Body: "delayed", Delay: time.Minute})
		for range 3 {
			f.reopen(t)
		}
		if m := f.receive(t, "q", 1)[0]; m.Body != "visible" || m.ReceiveCount != 2 {
			t.Errorf("received %+v, which may have been received before", m)
		}
		time.Sleep(time.Minute)
		if m := f.receive(t, "q", 1)[0]; m.Body != "delayed" || m.ReceiveCount != 1 {
			t.Errorf("received %+v, which cannot have been received before", m)
		}
	})
}

func TestAQueueThatIsItsOwnDeadLetterQueueKeepsItsMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fresh(t)
		for q, dead := range map[string]string{"a": "a", "b": "c", "c": "b"} {
			if err := f.Ensure(t.Context(), q, Options{MaxReceive: 1, DeadLetter: dead}); err != nil {
				t.Fatal(err)
			}
		}
		f.send(t, "a", pipeline.Outgoing{Body: "own"})
		f.send(t, "b", pipeline.Outgoing{Body: "ring"})
		for range 5 {
			f.receive(t, "a", 1)
			f.receive(t, "b", 1)
			f.receive(t, "c", 1)
			time.Sleep(time.Minute)
		}
		if n := f.info(t, "a").Visible; n != 1 {
			t.Errorf("%d messages in the queue", n)
		}
		if n := f.info(t, "b").Visible + f.info(t, "c").Visible; n != 1 {
			t.Errorf("%d messages in the ring", n)
		}
	})
}
