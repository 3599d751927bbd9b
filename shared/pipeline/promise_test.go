package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Every exploration checks promises 1 to 4 at every point (see explorer.broken);
// the tests differ in what the world may do.

// threeFaults explores every schedule of up to three faults for a policy with
// two retries, once for all tests that ask.
var threeFaults = sync.OnceValues(func() (*explorer, *violation) {
	return explore(newCode(crashPolicy), limits{faults: 3, waits: 1, retries: 2, stalls: true})
})

func TestPromise1AcceptedIsNeverLostUnderEveryScheduleOfThreeFaults(t *testing.T) {
	e, v := threeFaults()
	report(t, e)
	holds(t, 1, v)
}

func TestPromise2ADeliveryNeverForksUnderEveryScheduleOfThreeFaults(t *testing.T) {
	_, v := threeFaults()
	holds(t, 2, v)
}

func TestPromise3NoAttemptIsMadeTooOftenUnderEveryScheduleOfThreeFaults(t *testing.T) {
	_, v := threeFaults()
	holds(t, 3, v)
}

func TestPromise4NoRetryIsEarlyUnderEveryScheduleOfThreeFaults(t *testing.T) {
	_, v := threeFaults()
	holds(t, 4, v)
}

// holds fails the test of a promise when that promise is broken; the others say
// only that they could not be judged to the end.
func holds(t *testing.T, promise int, v *violation) {
	t.Helper()
	switch {
	case v == nil:
	case v.promise == promise:
		t.Errorf("%s", v)
	default:
		t.Errorf("the exploration ended at a broken promise %d", v.promise)
	}
}

func report(t *testing.T, e *explorer) {
	t.Helper()
	t.Logf("%d points, %d steps, %d ends; the code was run to %d nodes", len(e.points), len(e.edges), len(e.ends), e.code.nodes)
}

func TestPromises1To4HoldInEveryOtherWorld(t *testing.T) {
	const noRetries = `{"healthyRetryPolicy":{"minDelayTarget":20,"maxDelayTarget":20,"numRetries":0}}`
	for name, w := range map[string]struct {
		policy string
		limits
	}{
		"without faults, with three waits":           {crashPolicy, limits{waits: 3, retries: 2, exact: true, permanent: true}},
		"messages told apart by all that they carry": {crashPolicy, limits{faults: 1, waits: 2, retries: 2, stalls: true, exact: true}},
		"permanent answers":                          {crashPolicy, limits{faults: 2, waits: 1, retries: 2, stalls: true, permanent: true}},
		"a dead letter is sent again":                {crashPolicy, limits{faults: 1, waits: 1, retries: 2, stalls: true, redrives: 1}},
		"a policy without retries":                   {noRetries, limits{faults: 3, waits: 1, stalls: true, permanent: true, redrives: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			e, v := explore(newCode(w.policy), w.limits)
			report(t, e)
			if v != nil {
				t.Errorf("%s", v)
			}
		})
	}
}

func TestWithoutFaultsWaitsBurnNoAttemptAndEveryAttemptIsMade(t *testing.T) {
	e, v := explore(newCode(crashPolicy), limits{waits: 3, retries: 2, exact: true})
	if v != nil {
		t.Fatalf("%s", v)
	}
	var most int8
	for _, end := range e.ends {
		most = max(most, e.points[end].pushes)
	}
	if most != 3 {
		t.Errorf("an endpoint that never answers well gets %d pushes, want 3", most)
	}
}

func TestTheCrashTestsRefuteWrongVariants(t *testing.T) {
	for name, w := range map[string]struct {
		variant func(*code) handler
		limits
		promise, faults int
	}{
		"no-send: acknowledges without sending the successor":  {noSend, limits{waits: 1, retries: 2}, 1, 0},
		"ack-lost-claim: acknowledges when the claim was lost": {ackLostClaim, limits{waits: 1, retries: 2}, 1, 3},
		"one-generation: redrives under the old key":           {oneGeneration, limits{waits: 1, retries: 2, redrives: 1}, 1, 0},
		"unclaimed-repeat: pushes a repeated first attempt":    {unclaimedRepeat, limits{waits: 1, retries: 2}, 1, 1},
		"unrecorded: sends the successor without recording":    {unrecorded, limits{waits: 1, retries: 2}, 1, 0},
		"hasty: makes the delay too short":                     {hasty, limits{waits: 1, retries: 2}, 4, 0},
		"forking: sends the successor twice":                   {forking, limits{waits: 1, retries: 2}, 2, 0},
		"greedy: pushes though its claim was refused":          {greedy, limits{waits: 1, retries: 2}, 3, 1},
	} {
		t.Run(name, func(t *testing.T) {
			for w.limits.faults = 0; w.limits.faults <= 3; w.limits.faults++ {
				c := newCode(crashPolicy)
				c.handle = w.variant(c)
				e, v := explore(c, w.limits)
				if v == nil {
					continue
				}
				t.Logf("after %d points: %s", len(e.points), v)
				if w.limits.faults != w.faults || v.promise != w.promise {
					t.Errorf("refuted with %d faults by promise %d, want %d faults and promise %d", w.limits.faults, v.promise, w.faults, w.promise)
				}
				return
			}
			t.Error("three faults do not refute it")
		})
	}
}

func TestOrderOfStepsThatCommuteDoesNotMatter(t *testing.T) {
	ends := func(unreduced bool) string {
		e, v := explore(newCode(crashPolicy), limits{faults: 1, waits: 1, retries: 2, stalls: true, exact: true, unreduced: unreduced})
		if v != nil {
			t.Fatalf("%s", v)
		}
		report(t, e)
		found := map[string]bool{}
		for _, i := range e.ends {
			p := e.points[i]
			found[fmt.Sprintf("%+v ended %v pushes %d", e.records[p.recs[0].id], p.ended, p.pushes+int8(p.faults))] = true
		}
		return strings.Join(slices.Sorted(maps.Keys(found)), "\n")
	}
	if all, fewer := ends(true), ends(false); all != fewer {
		t.Errorf("every order ends in\n%s\nbut the reduced exploration in\n%s", all, fewer)
	}
}
