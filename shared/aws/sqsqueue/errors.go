package sqsqueue

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"postino/shared/aws/awscall"
	"postino/shared/push"
)

// explain sorts an error of an SQS action ("SendMessage") into final noes
// (*pipeline.RefusedError) and the rest, which may pass: throttling, timeouts,
// server faults, and credentials, which are no fault of the queue's.
func explain(ctx context.Context, action, queue string, err error) error {
	if err == nil || ctx.Err() != nil {
		return awscall.Call{Action: "sqs:" + action}.Explain(ctx, err)
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		if isMissing(api.ErrorCode()) {
			return &missingError{queue}
		}
		if reason := final(api.ErrorCode(), action, queue, api.ErrorMessage()); reason != "" {
			return refuse("%s", reason)
		}
	}
	c := awscall.Call{Service: "SQS", Action: "sqs:" + action, Resource: "the queue " + queue}
	return c.Explain(ctx, err)
}

// missingError is the refusal of a queue that is not there.
type missingError struct{ queue string }

func (e *missingError) Error() string { return e.Unwrap().Error() }
func (e *missingError) Unwrap() error {
	return refuse("the queue %s does not exist", e.queue)
}

// bare takes off what older protocols put around an error's name.
func bare(code string) string {
	return strings.TrimSuffix(code[strings.LastIndexByte(code, '.')+1:], "Exception")
}

func isMissing(code string) bool {
	code = bare(code)
	return code == "QueueDoesNotExist" || code == "NonExistentQueue"
}

// final says why a code is a no for ever, "" when it may pass. The same codes
// come for whole calls and for single entries (SQS API reference, errors of
// SendMessage and SendMessageBatch).
func final(code, action, queue, message string) string {
	switch code = bare(code); code {
	case "AccessDenied":
		return fmt.Sprintf("the permission sqs:%s on the queue %s is missing from the role or user whose credentials are used, or the queue's policy denies it", action, queue)
	case "KmsAccessDenied", "KmsDisabled", "KmsInvalidKeyUsage", "KmsInvalidState", "KmsNotFound", "KmsOptInRequired":
		return fmt.Sprintf("the key of the queue %s cannot be used (%s): the role or user whose credentials are used needs kms:GenerateDataKey and kms:Decrypt on it", queue, code)
	case "InvalidMessageContents":
		return "the message has characters that SQS does not take"
	case "BatchRequestTooLong", "InvalidParameterValue", "InvalidAttributeValue", "InvalidAttributeName", "InvalidAddress", "UnsupportedOperation", "InvalidSecurity":
		return fmt.Sprintf("the queue %s does not take the message (%s: %.200s)", queue, code, message)
	}
	return ""
}

// stale reports whether err says that a receipt is no longer good.
func stale(err error) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}
	code := bare(api.ErrorCode())
	return code == "ReceiptHandleIsInvalid" || code == "MessageNotInflight"
}

// entryFault is the error of an entry that SQS did not take for reasons of its
// own.
func entryFault(action, queue string, r types.BatchResultErrorEntry) error {
	return &push.Error{Code: push.CodeInternalError, Text: "The queue did not do its part. Try again.",
		Cause: fmt.Errorf("sqs:%s: the queue %s did not take an entry: %s: %.200s", action, queue, aws.ToString(r.Code), aws.ToString(r.Message))}
}
