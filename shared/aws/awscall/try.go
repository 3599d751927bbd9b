package awscall

import (
	"context"
	"fmt"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
)

// limitTries gives every single try a time limit of its own, inside the SDK's
// retries.
func limitTries(stack *middleware.Stack) error {
	return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("PostinoTryTimeout",
		func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
			limit := tryTimeout
			if awsmiddleware.GetOperationName(ctx) == "ReceiveMessage" {
				limit = pollTimeout
			}
			try, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			out, metadata, err := next.HandleFinalize(try, in)
			if err != nil && try.Err() != nil && ctx.Err() == nil {
				err = &tryTimeoutError{limit}
			}
			return out, metadata, err
		}), "Retry", middleware.After)
}

// tryTimeoutError hides the cancelled context, which the SDK would take for the
// caller's wish and not try again.
type tryTimeoutError struct{ after time.Duration }

func (e *tryTimeoutError) Error() string         { return fmt.Sprintf("no answer within %v", e.after) }
func (e *tryTimeoutError) Timeout() bool         { return true }
func (e *tryTimeoutError) ConnectionError() bool { return true } // the SDK's sign for "try again"
