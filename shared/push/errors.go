package push

import (
	"errors"
	"fmt"
	"strings"
)

// Code is an error code as it stands on the wire (SNS API reference, common and
// per-action errors): "InvalidParameter", not "InvalidParameterException".
type Code string

// The codes Postino answers with.
const (
	CodeInvalidParameter      Code = "InvalidParameter"
	CodeParameterValueInvalid Code = "ParameterValueInvalid"
	CodeValidationError       Code = "ValidationError"
	CodeInvalidAction         Code = "InvalidAction"
	CodeMissingAction         Code = "MissingAction"
	CodeNotFound              Code = "NotFound"
	CodeResourceNotFound      Code = "ResourceNotFound"
	CodeAuthorizationError    Code = "AuthorizationError"
	CodeMissingToken          Code = "MissingAuthenticationToken"
	CodeIncompleteSignature   Code = "IncompleteSignature"
	CodeInvalidClientToken    Code = "InvalidClientTokenId"
	CodeSignatureMismatch     Code = "SignatureDoesNotMatch"
	CodeTooManyEntries        Code = "TooManyEntriesInBatchRequest"
	CodeBatchIDsNotDistinct   Code = "BatchEntryIdsNotDistinct"
	CodeInvalidBatchEntryID   Code = "InvalidBatchEntryId"
	CodeBatchTooLong          Code = "BatchRequestTooLong"
	CodeEmptyBatch            Code = "EmptyBatchRequest"
	CodeTagLimit              Code = "TagLimitExceeded"
	CodeConcurrentAccess      Code = "ConcurrentAccess"
	CodeRequestTooLarge       Code = "RequestEntityTooLarge"
	CodeThrottling            Code = "Throttling"
	CodeInternalError         Code = "InternalError"
	CodeUnavailable           Code = "ServiceUnavailable"
)

// HTTPStatus is the status the code travels with (botocore's model of SNS; SNS API
// reference, common errors).
func (c Code) HTTPStatus() int {
	switch c {
	case CodeNotFound, CodeResourceNotFound:
		return 404
	case CodeAuthorizationError, CodeMissingToken, CodeInvalidClientToken, CodeSignatureMismatch:
		return 403
	case CodeThrottling:
		return 429
	case CodeRequestTooLarge:
		return 413
	case CodeInternalError:
		return 500
	case CodeUnavailable:
		return 503
	default:
		return 400
	}
}

// Error is a refusal or fault: a code for machines, a text that is safe to show
// to the caller, and a cause that is only for logs.
type Error struct {
	Code  Code
	Text  string
	Cause error
}

// Errorf makes an Error without a cause.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Text: fmt.Sprintf(format, args...)}
}

// Invalid makes the commonest refusal: InvalidParameter, its text behind SNS's
// prefix "Invalid parameter: ".
func Invalid(format string, args ...any) *Error {
	return Errorf(CodeInvalidParameter, "Invalid parameter: "+format, args...)
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return string(e.Code) + ": " + e.Text + ": " + e.Cause.Error()
	}
	return string(e.Code) + ": " + e.Text
}

func (e *Error) Unwrap() error { return e.Cause }

// CodeOf is the code of the first Error in err's chain, else InternalError.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternalError
}

// IsNotFound reports whether err says that a topic or subscription is missing.
func IsNotFound(err error) bool { return err != nil && CodeOf(err) == CodeNotFound }

// Clip keeps what a caller wrote to a length that texts can quote, of 200 bytes.
func Clip(s string) string { return ClipTo(s, 200) }

// ClipTo does so with another length. What it cuts is valid UTF-8, whatever s is.
func ClipTo(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
