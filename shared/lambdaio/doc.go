// Package lambdaio is the seam between aws-lambda-go's events and Postino: it
// turns Function URL requests, direct invokes, EventBridge events and SQS batches
// into calls of the front door and the pipeline, and their answers back. The
// embedded server calls the same handlers, with the same events, in process.
//
// A panic below a handler becomes a logged failure: on Lambda it would end the
// process and with it whatever else that instance holds.
package lambdaio

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"postino/shared/push"
)

// MaxBody is the most bytes a request's body may have, 1 MiB: a PublishBatch of
// 256 KiB stays below it even when form encoding triples every byte.
const MaxBody = 1 << 20

// guard runs f and turns a panic into an error that is safe to show. The panic
// itself goes to the log with its stack.
func guard(ctx context.Context, log *slog.Logger, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			logger(log).ErrorContext(ctx, "a handler panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = push.Errorf(push.CodeInternalError, internalText)
		}
	}()
	return f()
}

func logger(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l
}
