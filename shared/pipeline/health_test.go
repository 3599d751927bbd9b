package pipeline

import (
	"testing"
	"time"

	"postino/shared/push"
)

func TestWhoHangsOrCannotBeReachedIsSickForAMinuteOrUntilASuccess(t *testing.T) {
	ok := push.Result{Class: push.Success, Status: 200, Connected: true}
	for name, c := range map[string]struct {
		result push.Result
		sick   bool
	}{
		"success":              {ok, false},
		"an error it answered": {unavailable, false},
		"permanent":            {gone, false},
		"timeout":              {hung, true},
		"refused":              {push.Result{Class: push.Retryable, Fault: "refused"}, true},
		"no such host":         {push.Result{Class: push.Retryable, Fault: "dns"}, true},
		"reset while open":     {push.Result{Class: push.Retryable, Fault: "reset", Connected: true}, false},
	} {
		var h Health
		now := crashStart
		h.begin("s", now)
		h.end("s", now, c.result)
		if h.Sick("s", now) != c.sick || h.Sick("other", now) {
			t.Errorf("%s: sick %v", name, !c.sick)
		}
		if h.Sick("s", now.Add(sickFor)) {
			t.Errorf("%s: still sick after %s", name, sickFor)
		}
		if len(h.subs) != 0 {
			t.Errorf("%s: it is remembered although it is well", name)
		}
		h.begin("s", now)
		h.end("s", now, c.result)
		h.begin("s", now)
		h.end("s", now, ok)
		if h.Sick("s", now) || len(h.subs) != 0 {
			t.Errorf("%s: a success does not forget it", name)
		}
	}
}

func TestAnAttemptThatIsUnderWayForASecondCountsAsHanging(t *testing.T) {
	var h Health
	now := crashStart
	h.begin("s", now)
	h.begin("s", now.Add(900*time.Millisecond))
	if h.Sick("s", now.Add(hungAfter)) || !h.Sick("s", now.Add(hungAfter+1)) {
		t.Error("the older of two attempts is not what counts")
	}
	h.end("s", now.Add(2*time.Second), push.Result{Class: push.Success})
	if h.Sick("s", now.Add(2*time.Second)) {
		t.Error("sick right behind a success")
	}
	h.end("s", now.Add(2*time.Second), push.Result{Class: push.Success})
	if len(h.subs) != 0 {
		t.Error("remembered without anything under way")
	}
}

func TestNoHealthIsKeptWhereThereIsNone(t *testing.T) {
	var h *Health
	h.begin("s", crashStart)
	h.end("s", crashStart, hung)
	if h.Sick("s", crashStart) {
		t.Error("sick")
	}
}
