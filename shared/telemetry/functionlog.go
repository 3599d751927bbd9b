package telemetry

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"postino/shared/pipeline"
)

// FunctionLog is everything that a Lambda function writes to its log: log lines,
// status records and, at the end of each invocation, its metrics.
type FunctionLog struct {
	// Logger writes the lines.
	Logger *slog.Logger
	// Observer is for the pipeline.
	Observer pipeline.Observer

	o     FunctionLogOptions
	meter *EMF
	// warm is set by the first batch.
	warm atomic.Bool
}

// FunctionLogOptions of NewFunctionLog.
type FunctionLogOptions struct {
	// Out gets whole lines, and should be one that is written to at once: Lambda
	// takes a line for an event.
	Out io.Writer
	// Name is the function's.
	Name string
	// Stack is the metrics' dimension; "" means Name.
	Stack string
	Level slog.Leveler
	// SuccessSampleRate is the percent of successes that are recorded where their
	// topic says nothing.
	SuccessSampleRate int
	Queues            pipeline.QueueNames
}

// NewFunctionLog writes to o.Out from now on.
func NewFunctionLog(o FunctionLogOptions) *FunctionLog {
	log := slog.New(LambdaHandler(o.Out, o.Level))
	meter := NewEMF(EMFOptions{Out: o.Out, Stack: cmp.Or(o.Stack, o.Name), Queues: o.Queues})
	return &FunctionLog{Logger: log, Observer: Tee(Log(log), meter, StatusLog(o.Out, o.SuccessSampleRate)), o: o, meter: meter}
}

// Batch is an invocation of a function that a queue feeds.
type Batch struct {
	RequestID string
	// Queue is the source queue's ARN, Records how many of its messages came, and
	// Returned how many of them go back.
	Queue             string
	Records, Returned int
	Began, Ended      time.Time
	// Deadline is when Lambda would have stopped it, zero for never.
	Deadline time.Time
}

// Invoked ends an invocation that was no batch: its metrics are written.
func (l *FunctionLog) Invoked(now time.Time) Tally {
	// A log that cannot be written cannot be told of either.
	t, _ := l.meter.Flush(now)
	return t
}

// BatchDone ends the invocation of a batch: its metrics are written, and one line
// that tells of all of it.
func (l *FunctionLog) BatchDone(b Batch) {
	cold := !l.warm.Swap(true)
	if b.Records > 0 {
		l.meter.Batch(b.Queue, b.Records, b.Returned)
	}
	t := l.Invoked(b.Ended)
	attrs := []slog.Attr{
		slog.String("function", l.o.Name), slog.String("requestId", b.RequestID), slog.String("queue", b.Queue),
		slog.String("lane", l.o.Queues.Lane(b.Queue)), slog.Int("records", b.Records),
		slog.Int("delivered", t.Delivered), slog.Int("retried", t.Retried), slog.Int("dead", t.Dead), slog.Int("dropped", t.Dropped),
		slog.Int("waited", t.Waited+t.Throttled), slog.Int("redriven", t.Redriven), slog.Int("faults", t.Faults), slog.Int("poison", t.Poison),
		slog.Int("returned", b.Returned), slog.Duration("duration", b.Ended.Sub(b.Began)), slog.Bool("cold", cold),
	}
	if !b.Deadline.IsZero() {
		attrs = append(attrs, slog.Duration("remaining", b.Deadline.Sub(b.Ended)))
	}
	l.Logger.LogAttrs(context.Background(), slog.LevelInfo, "batch", attrs...)
}
