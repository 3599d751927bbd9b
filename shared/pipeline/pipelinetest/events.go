// Package pipelinetest makes the events that observers are tested with.
package pipelinetest

import (
	"errors"
	"time"

	"postino/shared/pipeline"
	"postino/shared/push"
)

// Noon is when the events happen.
var Noon = time.Date(2026, 3, 1, 12, 0, 0, 123_000_000, time.UTC)

// What the events are about.
const (
	TopicARN        = "arn:aws:sns:eu-west-1:123456789012:orders"
	SubscriptionARN = TopicARN + ":0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0"
	MessageID       = "11111111-2222-3333-4444-555555555555"
)

// Event is one of the given kind, as rich as the pipeline makes it, with changes.
func Event(kind pipeline.EventKind, change ...func(*pipeline.Event)) pipeline.Event {
	e := pipeline.Event{
		Kind: kind, Time: Noon, Subscription: SubscriptionARN, TopicARN: TopicARN, MessageID: MessageID, Push: push.Notification,
		Endpoint: "https://hooks.example/flaky", Lane: "postino-attempts", Accepted: Noon.Add(-1500 * time.Millisecond),
	}
	switch kind {
	case pipeline.EventDelivered:
		e.Attempt = push.Attempt{Number: 1, Phase: "initial", Started: Noon.Add(-12 * time.Millisecond), Ended: Noon.Add(-2 * time.Millisecond),
			Class: push.Success, Status: 200, Detail: "200 OK", Reason: "200 OK: delivered by attempt 1"}
	case pipeline.EventRetry, pipeline.EventDead:
		e.Attempt = push.Attempt{Number: 2, Phase: "immediate", Started: Noon.Add(-12 * time.Millisecond), Ended: Noon.Add(-2 * time.Millisecond),
			Class: push.Retryable, Status: 503, Detail: "503 Service Unavailable", Reason: "503 Service Unavailable is retryable: attempt 3 of 6 (backoff) in 4s"}
		e.Due = Noon.Add(-15 * time.Millisecond)
		e.Reason = e.Attempt.Reason
		if kind == pipeline.EventRetry {
			e.At = Noon.Add(4 * time.Second)
		} else {
			e.Reason, e.Target = "attempt 2 of 2 failed (503 Service Unavailable): retries exhausted", "arn:aws:sqs:eu-west-1:123456789012:orders-dead"
		}
	case pipeline.EventAccepted:
		e.Deliveries, e.Endpoint, e.Subscription = 3, "", ""
	case pipeline.EventWait:
		e.At, e.Reason = Noon.Add(700*time.Millisecond), "its throttle slot is not due yet"
	case pipeline.EventDropped:
		e.Reason = "the endpoint was unsubscribed"
	case pipeline.EventFault:
		e.Reason, e.Err = "the store did not answer", errors.New("disk I/O error")
	case pipeline.EventPoison:
		e = pipeline.Event{Kind: kind, Time: Noon, Lane: "postino-attempts", Target: "postino-failed", Reason: "not a job"}
	}
	for _, c := range change {
		c(&e)
	}
	return e
}

// Kinds are all there are.
var Kinds = []pipeline.EventKind{
	pipeline.EventAccepted, pipeline.EventDelivered, pipeline.EventRetry, pipeline.EventDead, pipeline.EventDropped,
	pipeline.EventWait, pipeline.EventFault, pipeline.EventPoison, pipeline.EventRedriven,
}
