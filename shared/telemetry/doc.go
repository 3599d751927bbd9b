// Package telemetry tells what happens in the pipeline: log lines for whoever
// runs Postino; on one host a delivery log that holds every delivery's end,
// Prometheus metrics, and a terminal view for people who want to watch; on AWS
// metrics in CloudWatch's embedded format and status records in the function's
// log. Each is a pipeline.Observer; Tee joins them. No endpoint's credentials and no message
// body reach any of them, since no pipeline.Event holds one.
package telemetry

import (
	"slices"
	"time"

	"postino/shared/pipeline"
)

type tee []pipeline.Observer

// Tee hands every event to all observers in order; nil ones are left out.
func Tee(observers ...pipeline.Observer) pipeline.Observer {
	return tee(slices.DeleteFunc(slices.Clone(observers), func(o pipeline.Observer) bool { return o == nil }))
}

func (t tee) Observe(e pipeline.Event) {
	for _, o := range t {
		o.Observe(e)
	}
}

// attempted reports whether e is about an attempt that was made.
func attempted(e pipeline.Event) bool { return e.Attempt.Number > 0 }

// lateness is how long after its due time an attempt began; ok is false where
// none was made or none was due.
func lateness(e pipeline.Event) (d time.Duration, ok bool) {
	if !attempted(e) || e.Due.IsZero() {
		return 0, false
	}
	return e.Attempt.Started.Sub(e.Due), true
}
