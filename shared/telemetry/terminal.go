package telemetry

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"postino/shared/pipeline"
	"postino/shared/push"
)

// Terminal shows people what happens, one line per attempt: time, subscriber,
// attempt and phase, outcome, what is next and why.
//
//	12:00:01.234  /flaky                 attempt 1 initial         503 Service Unavailable is retryable: attempt 2 of 6 (immediate) at once (took 1.2ms)
//
// It writes as events come, so a reader that stops reading holds the pipeline
// up: it is meant for demonstrations.
type Terminal struct {
	colour bool
	zone   *time.Location

	mu sync.Mutex
	w  io.Writer
}

// NewTerminal writes to w, in local time, with ANSI colours if colour is true.
func NewTerminal(w io.Writer, colour bool) *Terminal {
	return &Terminal{colour: colour, zone: time.Local, w: w}
}

// ANSI colours.
const (
	green, yellow, red, grey, plain = "\x1b[32m", "\x1b[33m", "\x1b[31m", "\x1b[90m", "\x1b[0m"
)

// Observe writes e's line.
func (t *Terminal) Observe(e pipeline.Event) {
	colour, what := describe(e)
	if what == "" {
		return
	}
	line := t.paint(grey, e.Time.In(t.zone).Format("15:04:05.000")) + "  " + pad(printable(subscriberOf(e)), 21) + "  " +
		pad(printable(attemptOf(e)), 24) + "  " + t.paint(colour, printable(what)) + "\n"
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = io.WriteString(t.w, line) // a closed terminal is nobody's concern
}

func (t *Terminal) paint(colour, s string) string {
	if !t.colour {
		return s
	}
	return colour + s + plain
}

// describe says what happened, what is next and why, and in which colour; ""
// for nothing to show. The reason of a failed attempt is the whole story: the
// outcome, what it means, and when which attempt follows.
func describe(e pipeline.Event) (colour, what string) {
	switch e.Kind {
	case pipeline.EventAccepted:
		return grey, fmt.Sprintf("accepted %s for %d %s", e.MessageID, e.Deliveries, plural(e.Deliveries, "delivery", "deliveries"))
	case pipeline.EventDelivered:
		return green, "delivered: " + e.Attempt.Detail + took(e)
	case pipeline.EventRetry:
		return yellow, cmp.Or(e.Reason, e.Attempt.Detail) + took(e)
	case pipeline.EventDead:
		return red, because("to dead-letter queue "+push.QueueName(e.Target), e.Reason)
	case pipeline.EventDropped:
		return grey, because("dropped", e.Reason)
	case pipeline.EventWait:
		return grey, because("waits "+rounded(max(0, e.At.Sub(e.Time))), e.Reason)
	case pipeline.EventFault:
		return red, because("failure on our side", e.Reason)
	case pipeline.EventPoison:
		return red, because("set aside what is no job", e.Reason)
	case pipeline.EventRedriven:
		return grey, fmt.Sprintf("message %s is sent again to %s from dead-letter queue %s", e.MessageID, shortSubscription(e.Subscription), push.QueueName(e.Lane))
	default:
		return "", ""
	}
}

func took(e pipeline.Event) string {
	return " (took " + rounded(e.Attempt.Ended.Sub(e.Attempt.Started)) + ")"
}

func because(what, reason string) string {
	if reason == "" {
		return what
	}
	return what + ": " + reason
}

func subscriberOf(e pipeline.Event) string {
	_, rest, ok := strings.Cut(e.Endpoint, "://")
	if !ok {
		return ""
	}
	host, path, _ := strings.Cut(rest, "/")
	if path == "" {
		return host
	}
	return "/" + path
}

// shortSubscription is the topic's name and the beginning of the subscription's
// id, the way the command line writes and takes it.
func shortSubscription(arn string) string {
	topic := push.TopicOf(arn)
	if topic == "" {
		return arn
	}
	id := arn[len(topic)+1:]
	return push.QueueName(topic) + ":" + id[:min(8, len(id))]
}

func attemptOf(e pipeline.Event) string {
	if !e.Attempted() {
		return ""
	}
	s := fmt.Sprintf("attempt %d %s", e.Attempt.Number, e.Attempt.Phase)
	switch e.Push {
	case push.SubscriptionConfirm, push.UnsubscribeConfirmation:
		s = fmt.Sprintf("confirmation attempt %d", e.Attempt.Number)
	}
	return s
}

func rounded(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	default:
		return d.Round(100 * time.Millisecond).String()
	}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// pad fills s to n columns, and shortens from the left what is longer, because
// paths differ at their ends.
func pad(s string, n int) string {
	if k := utf8.RuneCountInString(s); k > n {
		r := []rune(s)
		return "…" + string(r[k-n+1:])
	}
	return s + strings.Repeat(" ", n-utf8.RuneCountInString(s))
}

// printable replaces what could steer the terminal: endpoints are chosen by
// whoever may subscribe.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}
