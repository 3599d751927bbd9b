package telemetry

import (
	"hash/fnv"
	"io"
	"log/slog"
	"strconv"
	"sync"

	"postino/shared/pipeline"
	"postino/shared/push"
)

type statusLog struct {
	out     io.Writer
	percent int

	mu sync.Mutex
}

// StatusLog writes delivery-status records to a function's log, a Record in JSON
// a line and Write: of every delivery that ends dead or dropped, and of percent in
// a hundred of those that succeed, unless their topic names another share. Their
// top-level member notification, which no other line has, finds them.
func StatusLog(out io.Writer, percent int) pipeline.Observer {
	return &statusLog{out: out, percent: percent}
}

func (l *statusLog) Observe(e pipeline.Event) {
	if e.Kind == pipeline.EventDelivered && !Sampled(keyOf(&e), l.share(&e)) {
		return
	}
	line, ends := appendRecord(nil, &e)
	if !ends {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// A log that cannot be written is nobody's to tell, and no delivery's fault.
	_, _ = l.out.Write(line)
}

func (l *statusLog) share(e *pipeline.Event) int {
	if n, err := strconv.Atoi(e.SampleRate); err == nil {
		return n
	}
	return l.percent
}

func keyOf(e *pipeline.Event) push.DeliveryKey {
	return push.DeliveryKey{Subscription: e.Subscription, MessageID: e.MessageID, Generation: e.Generation}
}

// Sampled says whether a delivery is among the percent in a hundred that are
// recorded. It depends on the key alone: who asks again, or somewhere else, gets
// the same answer, and a larger share holds all of a smaller one.
func Sampled(k push.DeliveryKey, percent int) bool {
	if percent <= 0 || percent >= 100 {
		return percent > 0
	}
	h := fnv.New64a()
	for _, s := range [...]string{k.Subscription, "/", k.MessageID, "/", k.Generation} {
		_, _ = io.WriteString(h, s)
	}
	return h.Sum64()%100 < uint64(percent)
}

// LambdaHandler is the handler of a function's log: a JSON object a line. The time
// is in "timestamp", by which Lambda's own level filter knows it (AWS Lambda
// developer guide, log-level filtering), and durations are in milliseconds.
func LambdaHandler(out io.Writer, level slog.Leveler) slog.Handler {
	return slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		switch {
		case a.Key == slog.TimeKey && len(groups) == 0:
			a.Key = "timestamp"
		case a.Value.Kind() == slog.KindDuration:
			a.Value = slog.Float64Value(milliseconds(a.Value.Duration()))
		}
		return a
	}})
}
