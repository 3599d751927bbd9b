package deliverypolicy

import (
	"net/http"
	"strconv"
	"time"

	"postino/shared/push"
)

// Action is what a delivery does next.
type Action string

// The actions.
const (
	// Done: the endpoint took the message.
	Done Action = "done"
	// Retry: another attempt follows.
	Retry Action = "retry"
	// DeadLetter: no attempt follows; the message goes to a dead-letter queue.
	DeadLetter Action = "dead-letter"
)

// Decision is what follows an attempt, and why.
type Decision struct {
	Action Action
	// After is the pause before the next attempt, jitter included, in whole
	// milliseconds wherever the schedule's own delays are; 0 unless Action is
	// Retry.
	After time.Duration
	// At is the earliest start of the next attempt: the end of the last one plus
	// After, rounded up to a whole millisecond, in UTC. Jobs carry milliseconds,
	// so rounding down would start a retry early. Zero unless Action is Retry.
	At time.Time
	// Phase is that of the next attempt, or of the last one when none follows.
	Phase Phase
	// Reason is the decision as a sentence for a log or a terminal.
	Reason string
}

// Decide says what follows the given attempt (counted from 1) that ended at
// ended with r. random, in [0,1), becomes the jitter, which only ever adds: at
// most a tenth of the delay or, where the schedule has one, at most its Spread.
// A delay of 0 stays 0. A class that is neither success nor permanent is taken
// as retryable, because a doubt must not lose a message.
func (s Schedule) Decide(attempt int, ended time.Time, r push.Result, random float64) Decision {
	attempt = max(attempt, 1)
	switch {
	case r.Class == push.Success:
		return Decision{Action: Done, Phase: s.PhaseOf(attempt), Reason: doneReason(attempt, r)}
	case r.Class == push.Permanent:
		return Decision{Action: DeadLetter, Phase: s.PhaseOf(attempt), Reason: permanentReason(r)}
	case attempt > s.Retries():
		return Decision{Action: DeadLetter, Phase: s.PhaseOf(attempt), Reason: s.exhaustedReason(attempt, r)}
	}
	delay, phase := s.Delay(attempt)
	after := add(delay, s.jitter(delay, random))
	return Decision{
		Action: Retry, After: after, At: ceiling(ended.Add(after)), Phase: phase,
		Reason: s.retryReason(attempt+1, after, phase, r),
	}
}

// jitter is a random part, in whole milliseconds, of what may be added to delay.
// It stays below that limit, so that rounding At up does not cross it.
func (s Schedule) jitter(delay time.Duration, random float64) time.Duration {
	if delay == 0 || !(random > 0) { // the negation also stops NaN
		return 0
	}
	limit := delay / 10
	if s.Spread > 0 {
		limit = s.Spread
	}
	steps := limit / time.Millisecond
	return min(time.Duration(random*float64(steps)), max(steps-1, 0)) * time.Millisecond
}

// ceiling is t in UTC rounded up to a whole millisecond.
func ceiling(t time.Time) time.Time {
	t = t.Round(0).UTC() // without the monotonic clock, which does not travel
	whole := t.Truncate(time.Millisecond)
	if whole.Before(t) {
		whole = whole.Add(time.Millisecond)
	}
	return whole
}

// The reasons are appended to one buffer each: a decision is made for every
// failed attempt, and must cost next to nothing.

func doneReason(attempt int, r push.Result) string {
	var buf [128]byte
	b := appendResult(buf[:0], r)
	b = append(b, ": delivered by attempt "...)
	return string(strconv.AppendInt(b, int64(attempt), 10))
}

func permanentReason(r push.Result) string {
	var buf [128]byte
	return string(append(appendResult(buf[:0], r), " is permanent: no retry"...))
}

func (s Schedule) retryReason(next int, after time.Duration, phase Phase, r push.Result) string {
	var buf [128]byte
	b := appendResult(buf[:0], r)
	b = append(b, " is retryable: attempt "...)
	b = strconv.AppendInt(b, int64(next), 10)
	b = append(b, " of "...)
	b = strconv.AppendUint(b, s.attempts(), 10)
	b = append(b, " ("...)
	b = append(b, phase...)
	if after == 0 {
		return string(append(b, ") at once"...))
	}
	return string(append(append(b, ") in "...), after.String()...))
}

func (s Schedule) exhaustedReason(attempt int, r push.Result) string {
	var buf [128]byte
	b := append(buf[:0], "attempt "...)
	b = strconv.AppendInt(b, int64(attempt), 10)
	shortened := uint64(attempt) > s.attempts()
	if !shortened {
		b = append(b, " of "...)
		b = strconv.AppendUint(b, s.attempts(), 10)
	}
	b = append(b, " failed ("...)
	b = appendResult(b, r)
	b = append(b, "): retries exhausted"...)
	if shortened { // the policy was changed under way
		b = append(b, ", the policy now allows "...)
		b = strconv.AppendUint(b, s.attempts(), 10)
	}
	return string(b)
}

// attempts is the initial attempt and all retries; it does not overflow.
func (s Schedule) attempts() uint64 { return uint64(s.Retries()) + 1 }

// appendResult names what happened: the fault, else the HTTP status.
func appendResult(b []byte, r push.Result) []byte {
	switch r.Fault {
	case "":
	case "dns":
		return append(b, "DNS failure"...)
	case "refused":
		return append(b, "connection refused"...)
	case "reset":
		return append(b, "connection reset"...)
	case "unreachable":
		return append(b, "host unreachable"...)
	case "tls":
		return append(b, "TLS failure"...)
	case "blocked":
		return append(b, "blocked address"...)
	case "protocol":
		return append(b, "protocol error"...)
	default: // "timeout", and what may come
		return append(b, r.Fault...)
	}
	if r.Status == 0 {
		return append(b, "no answer"...)
	}
	b = strconv.AppendInt(b, int64(r.Status), 10)
	if text := http.StatusText(r.Status); text != "" {
		b = append(append(b, ' '), text...)
	}
	return b
}
