package schedulertimer

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/scheduler"

	"postino/shared/pipeline"
)

func TestALowerNearSchedulesSoonerAndAimsCloser(t *testing.T) {
	for name, c := range map[string]struct {
		near, wait time.Duration
		// fires is the schedule's time, "" where the queue's own delay is used.
		fires string
		delay time.Duration
	}{
		"within it":                  {15 * time.Second, 15 * time.Second, "", 15 * time.Second},
		"beyond it":                  {15 * time.Second, 27 * time.Second, "at(2000-01-01T00:00:20)", 0},
		"beyond it and no time left": {10 * time.Second, 10500 * time.Millisecond, "at(2000-01-01T00:00:06)", 0},
		"three minutes":              {3 * time.Minute, 200 * time.Second, "at(2000-01-01T00:02:00)", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.near(t, c.near)
				if err := w.timer.At(t.Context(), "n", epoch.Add(c.wait), retryQueue, pipeline.Outgoing{Body: "job"}); err != nil {
					t.Fatal(err)
				}
				if c.fires == "" {
					if len(w.schedules) != 0 || len(w.queues.sent) != 1 || w.queues.sent[0].Delay != c.delay {
						t.Errorf("%d schedules, sent %+v", len(w.schedules), w.queues.sent)
					}
					return
				}
				if len(w.schedules) != 1 || w.schedules[0].ScheduleExpression != c.fires {
					t.Errorf("schedules %+v, sent %+v", w.schedules, w.queues.sent)
				}
			})
		})
	}
}

func TestAHopIsNoLongerThanNear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.near(t, 30*time.Second)
		w.err = net.ErrClosed
		if err := w.timer.At(t.Context(), "n", epoch.Add(time.Hour), retryQueue, pipeline.Outgoing{Body: "job"}); err != nil {
			t.Fatal(err)
		}
		if len(w.queues.sent) != 1 || w.queues.sent[0].Delay != 30*time.Second {
			t.Errorf("sent %+v", w.queues.sent)
		}
	})
}

// near makes the timer anew with another limit.
func (w *world) near(t *testing.T, near time.Duration) {
	t.Helper()
	client, ok := w.timer.Client.(*scheduler.Client)
	if !ok {
		t.Fatal("the timer has no client of Scheduler's")
	}
	var err error
	w.timer, err = New(Config{Client: client, Queues: w.queues, Payloads: w.payloads, Group: "postino", Role: role, DeadLetter: failedJobs, Near: near})
	if err != nil {
		t.Fatal(err)
	}
}
