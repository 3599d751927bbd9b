package host_test

import (
	"errors"
	"io/fs"
	"testing"
	"time"

	"postino/shared/operator"
	"postino/shared/pipeline"
	"postino/shared/push"
)

func TestPromise3AStopBurnsNoAttempt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before  []int // answers before the push that hangs
		attempt int   // the number of that push
	}{
		"first attempt":   {nil, 1},
		"a later attempt": {[]int{503}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			h, s := open(t, dir)
			run(t, h, s)
			r := receive(t, statuses(append(c.before, hang)...))
			topic := s.topic("stopped")
			s.subscribe(topic, r, r.at("/s"), "DeliveryPolicy", immediate(3))
			id := s.publish(topic, "hello")
			take(t, r.got, c.attempt)
			if took := s.stop(); took > 10*time.Second {
				t.Errorf("the server took %s to stop", took)
			}
			r.nothing(t)
			if _, err := operator.Dial(dir); err == nil {
				t.Error("a stopped server left its address behind")
			}

			r.answer(statuses(200))
			began := time.Now()
			s = startOn(t, dir)
			a := next(t, r.got)
			if a.id() != id || a.at.Sub(began) > 5*time.Second {
				t.Errorf("message %s came %s after the start", a.id(), a.at.Sub(began))
			}
			e := s.events.wait(t, 1, kind(pipeline.EventDelivered))[0]
			if e.Attempt.Number != c.attempt {
				t.Errorf("the push was made as attempt %d, broken off was attempt %d", e.Attempt.Number, c.attempt)
			}
			r.nothing(t)
		})
	}
}

func TestARetryThatIsDueWhileTheServerIsDownIsMadeAtItsStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h, s := open(t, dir)
	run(t, h, s)
	r := receive(t, statuses(503, 200))
	topic := s.topic("waiting")
	s.subscribe(topic, r, r.at("/w"), "DeliveryPolicy", everySecond(1))
	id := s.publish(topic, "hello")
	planned := s.events.wait(t, 1, kind(pipeline.EventRetry))[0].At
	s.stop()
	if !time.Now().Before(planned) {
		t.Fatal("the stop took longer than the delay")
	}
	s = startOn(t, dir)
	if a := take(t, r.got, 2)[1]; a.at.Before(planned) || a.id() != id {
		t.Errorf("attempt 2 came at %s, planned was %s", a.at, planned)
	}
	s.events.wait(t, 1, kind(pipeline.EventDelivered))
	if d := s.show(id); d.State != push.Delivered || d.Attempts != 2 {
		t.Errorf("shown as %+v", d)
	}
}

func TestAHostThatNeverRanClosesCleanly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h, _ := open(t, dir)
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if _, err := operator.ReadServerFile(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the server file: %v", err)
	}
	startOn(t, dir)
}
