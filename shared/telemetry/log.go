package telemetry

import (
	"context"
	"log/slog"
	"time"

	"postino/shared/pipeline"
	"postino/shared/push"
)

type logObserver struct{ logger *slog.Logger }

// Log writes one wide line per event. What runs as it should (accepted,
// delivered, a wait for a throttle slot) is at debug level and costs nothing
// when that is off: successes are in the delivery log and the metrics. A failed
// attempt that will be repeated, a dropped and a redriven delivery are
// information, a dead one is a warning, and what went wrong on our own side is
// an error.
//
// A line's attributes: subscription, topic, message, generation, kind, endpoint,
// queue, attempt, phase, class, status, fault, detail, duration, late (past the
// due time), next (time of the next attempt or of a waiting job's return),
// target, refused (why the subscription's own queue did not take a dead letter),
// deliveries, trace, error, reason; those that say nothing are left out.
func Log(logger *slog.Logger) pipeline.Observer { return logObserver{logger} }

func (l logObserver) Observe(e pipeline.Event) {
	level := levelOf(e.Kind)
	if !l.logger.Enabled(context.Background(), level) {
		return
	}
	l.logger.LogAttrs(context.Background(), level, string(e.Kind), attributes(e)...)
}

func levelOf(k pipeline.EventKind) slog.Level {
	switch k {
	case pipeline.EventAccepted, pipeline.EventDelivered, pipeline.EventWait:
		return slog.LevelDebug
	case pipeline.EventDead:
		return slog.LevelWarn
	case pipeline.EventFault, pipeline.EventPoison:
		return slog.LevelError
	default:
		return slog.LevelInfo
	}
}

func attributes(e pipeline.Event) []slog.Attr {
	a := make([]slog.Attr, 0, 20)
	text := func(name, value string) {
		if value != "" {
			a = append(a, slog.String(name, value))
		}
	}
	text("subscription", e.Subscription)
	text("topic", e.TopicARN)
	text("message", e.MessageID)
	text("generation", e.Generation)
	if e.Push != push.Notification {
		text("kind", string(e.Push))
	}
	text("endpoint", e.Endpoint)
	text("queue", e.Lane)
	if e.Attempted() {
		a = append(a, slog.Int("attempt", e.Attempt.Number), slog.String("phase", e.Attempt.Phase),
			slog.String("class", string(e.Attempt.Class)))
		if e.Attempt.Status != 0 {
			a = append(a, slog.Int("status", e.Attempt.Status))
		}
		text("fault", e.Attempt.Fault)
		text("detail", e.Attempt.Detail)
		a = append(a, slog.Duration("duration", e.Attempt.Ended.Sub(e.Attempt.Started).Round(time.Microsecond)))
	}
	if d, ok := e.Lateness(); ok {
		a = append(a, slog.Duration("late", d.Round(time.Microsecond)))
	}
	if !e.At.IsZero() {
		a = append(a, slog.Time("next", e.At))
	}
	text("target", e.Target)
	text("refused", e.Refused)
	if e.Kind == pipeline.EventAccepted {
		a = append(a, slog.Int("deliveries", e.Deliveries))
	}
	text("trace", e.TraceID)
	if e.Err != nil {
		text("error", e.Err.Error())
	}
	text("reason", e.Reason)
	return a
}
