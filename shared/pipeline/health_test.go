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
		h.end("s", now, now, c.result)
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
		h.end("s", now, now, c.result)
		h.begin("s", now)
		h.end("s", now, now, ok)
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
	h.end("s", now.Add(900*time.Millisecond), now.Add(2*time.Second), push.Result{Class: push.Success})
	if h.Sick("s", now.Add(2*time.Second)) {
		t.Error("sick right behind a success")
	}
	if !h.Sick("s", now.Add(2*time.Second+hungAfter+1)) {
		t.Error("one success hides for good what still hangs")
	}
	h.end("s", now, now.Add(2*time.Second), push.Result{Class: push.Success})
	if len(h.subs) != 0 {
		t.Error("remembered without anything under way")
	}
}

func TestQuickFailuresDoNotHideAnAttemptThatHangs(t *testing.T) {
	var h Health
	h.begin("s", crashStart)
	for after := time.Duration(0); after < 3*time.Second; after += 100 * time.Millisecond {
		began, ended := crashStart.Add(after), crashStart.Add(after+50*time.Millisecond)
		h.begin("s", began)
		h.end("s", began, ended, unavailable)
		if sick := h.Sick("s", ended); sick != (ended.Sub(crashStart) > hungAfter) {
			t.Fatalf("with an attempt under way for %s: sick %v", ended.Sub(crashStart), sick)
		}
	}
	h.end("s", crashStart, crashStart.Add(3*time.Second), unavailable)
	if h.Sick("s", crashStart.Add(3*time.Second)) || len(h.subs) != 0 {
		t.Error("sick without anything under way")
	}
}

func TestAnEndpointThatServesMostOfItsMessagesKeepsTheFreshLaneAlthoughOneHangs(t *testing.T) {
	var h Health
	h.begin("s", crashStart)
	for after := 500 * time.Millisecond; after < 5*time.Second; after += 500 * time.Millisecond {
		at := crashStart.Add(after)
		h.begin("s", at)
		h.end("s", at, at, push.Result{Class: push.Success, Status: 200, Connected: true})
		if h.Sick("s", at.Add(400*time.Millisecond)) {
			t.Fatalf("sick %s after the start, 400 ms after a success", after)
		}
	}
}

func TestOfSeveralAttemptsUnderWayTheOldestThatIsLeftCounts(t *testing.T) {
	var h Health
	for i := range 3 {
		h.begin("s", crashStart.Add(time.Duration(i)*400*time.Millisecond))
	}
	h.end("s", crashStart, crashStart.Add(900*time.Millisecond), unavailable)
	if h.Sick("s", crashStart.Add(1400*time.Millisecond)) || !h.Sick("s", crashStart.Add(1401*time.Millisecond)) {
		t.Error("the second attempt, begun at 400 ms, is not what counts")
	}
}

func TestNoHealthIsKeptWhereThereIsNone(t *testing.T) {
	var h *Health
	h.begin("s", crashStart)
	h.end("s", crashStart, crashStart, hung)
	if h.Sick("s", crashStart) {
		t.Error("sick")
	}
}
