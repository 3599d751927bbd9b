// Package telemetry tells what happens in the pipeline: log lines for whoever
// runs Postino; on one host a delivery log that holds every delivery's end, and a
// terminal view for people who want to watch; on AWS metrics in CloudWatch's
// embedded format and status records in the function's log. Each is a
// pipeline.Observer; Tee joins them. No endpoint's credentials and no message body
// reach any of them, since no pipeline.Event holds one.
package telemetry

import (
	"slices"

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
