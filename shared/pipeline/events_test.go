package pipeline

import (
	"context"
	"testing"
	"time"

	"postino/shared/push"
)

func TestASuccessTellsWhatShareItsTopicWantsRecorded(t *testing.T) {
	f := newFakes(1)
	f.topics[topicA] = push.Topic{ARN: topicA, Version: 1, CreatedAt: crashStart, SuccessSampleRate: "7"}
	f.answer = func(context.Context) push.Result {
		if len(f.pushed) == 1 {
			return unavailable
		}
		return push.Result{Class: push.Success, Status: 200}
	}
	f.start(f.job(0))
	f.run(t, f.deliver())
	if e := f.events[len(f.events)-1]; e.Kind != EventDelivered || e.SampleRate != "7" || e.Attempt.Number != 2 || e.Time.Sub(crashStart) < time.Second {
		t.Errorf("%+v", e)
	}
}
