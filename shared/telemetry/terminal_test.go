package telemetry

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"postino/shared/pipeline"
	"postino/shared/push"
)

func TestTheTerminalShowsOneLinePerEvent(t *testing.T) {
	var b bytes.Buffer
	o := NewTerminal(&b, false)
	o.zone = time.UTC
	for _, k := range kinds {
		o.Observe(event(k))
	}
	o.Observe(event(pipeline.EventDelivered, func(e *pipeline.Event) { e.Push, e.Attempt.Number = push.SubscriptionConfirm, 2 }))
	o.Observe(event(pipeline.EventRetry, func(e *pipeline.Event) {
		e.Endpoint, e.Reason = "https://hooks.example:8443/a/very/long/path/to/a/subscriber", ""
		e.Attempt.Ended = e.Attempt.Started.Add(15 * time.Second)
	}))
	o.Observe(event(pipeline.EventDelivered, func(e *pipeline.Event) { e.Endpoint = "https://hooks.example/" }))
	golden(t, "terminal.txt", b.String())
}

func TestColoursAreOnlyUsedWhenAskedFor(t *testing.T) {
	for colour, want := range map[bool]string{true: "\x1b[32mdelivered: 200 OK (took 10ms)\x1b[0m", false: "  delivered: 200 OK (took 10ms)"} {
		var b bytes.Buffer
		NewTerminal(&b, colour).Observe(event(pipeline.EventDelivered))
		if !strings.Contains(b.String(), want) || strings.Contains(b.String(), "\x1b") != colour {
			t.Errorf("colour %v: %q", colour, b.String())
		}
	}
}

func TestTextOfOthersCannotSteerTheTerminal(t *testing.T) {
	var b bytes.Buffer
	o := NewTerminal(&b, false)
	const evil = "x\x1b[2J\x07\r\n\u202egnp\x00y"
	for _, k := range kinds {
		o.Observe(event(k, func(e *pipeline.Event) {
			e.Endpoint, e.Reason, e.MessageID, e.Target = "http://h/"+evil, evil, evil, evil
			e.Attempt.Detail, e.Attempt.Phase = evil, evil
		}))
	}
	if got := b.String(); strings.ContainsAny(got, "\x1b\x07\r\x00\u202e") || strings.Count(got, "\n") != len(kinds) {
		t.Errorf("%q", got)
	}
}

func TestLinesOfConcurrentEventsAreWhole(t *testing.T) {
	var b bytes.Buffer
	o := NewTerminal(&b, false)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				o.Observe(event(pipeline.EventDelivered))
			}
		})
	}
	all.Wait()
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for _, line := range lines {
		if line != lines[0] {
			t.Fatalf("%q differs from %q", line, lines[0])
		}
	}
	if len(lines) != 400 {
		t.Errorf("%d lines", len(lines))
	}
}
