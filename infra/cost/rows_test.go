//go:build integration

package main

import (
	"net/http"
	"testing"
)

const unavailable = http.StatusServiceUnavailable

// scenarios are the rows of docs/cost.md. What comes alone finds caches cold, what
// comes in full batches warm, unless the name says otherwise.
var scenarios = []func(*testing.T) Counted{
	first{fanout: 10, messages: 5, fill: 10, body: small}.row("first-10", "First attempt that succeeds, fan-out 10"),
	first{fanout: 10, messages: 5, fill: 10, body: small, cold: true}.row("first-10-cold", "First attempt that succeeds, fan-out 10, caches cold"),
	first{fanout: 10, messages: 2, fill: 1, body: small, cold: true}.row("first-10-alone", "First attempt that succeeds, fan-out 10, each by itself"),
	first{fanout: 1, messages: 10, fill: 10, body: small}.row("first-1", "First attempt that succeeds, fan-out 1"),
	first{fanout: 1, messages: 10, fill: 10, body: small, cold: true}.row("first-1-cold", "First attempt that succeeds, fan-out 1, caches cold"),
	first{fanout: 1, messages: 5, fill: 1, body: small, cold: true}.row("first-1-alone", "First attempt that succeeds, fan-out 1, each by itself"),
	first{fanout: 1, messages: 3, fill: 1, body: large, cold: true}.row("first-large", "First attempt that succeeds, fan-out 1, 256 KiB, each by itself"),
	paged,
	throttled,
	failed(unavailable, "first-failed", "First attempt that fails, the next by the queue"),
	failed(http.StatusNotFound, "first-dead", "First attempt that fails for good (404): dead letter"),
	later{messages: 10, fill: 10, rounds: 3, retries: 50, status: unavailable, push: answerTime}.row("retry", "Retry that fails, the 1st to 3rd"),
	later{messages: 10, fill: 10, before: 49, rounds: 1, retries: 60, status: unavailable, push: answerTime}.row("retry-late", "Retry that fails, the 50th"),
	later{messages: 5, fill: 1, rounds: 2, retries: 50, status: unavailable, push: answerTime, cold: true}.row("retry-alone", "Retry that fails, by itself"),
	later{messages: 10, fill: 10, rounds: 2, retries: 50, push: hangTime}.row("hang", "Retry that hangs until its timeout, the 1st and 2nd"),
	later{messages: 10, fill: 10, before: 49, rounds: 1, retries: 60, push: hangTime}.row("hang-late", "Retry that hangs until its timeout, the 50th"),
	later{messages: 3, fill: 1, rounds: 1, retries: 50, push: hangTime, cold: true}.row("hang-alone", "Retry that hangs until its timeout, by itself"),
	later{messages: 10, fill: 10, rounds: 1, retries: 50, status: http.StatusOK, push: answerTime}.row("recovered", "Retry that succeeds"),
	later{messages: 10, fill: 10, rounds: 1, retries: 1, status: unavailable, push: answerTime}.row("dead", "Last attempt: dead letter"),
	scheduled,
}
