package awscall

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/aws/smithy-go"

	"postino/shared/push"
)

// Call says what was asked of whom.
type Call struct {
	// Service as people call it ("DynamoDB"), and the IAM action of the call
	// ("dynamodb:GetItem").
	Service, Action string
	// Resource is what was called upon, with the variable that names it:
	// "table postino (POSTINO_TABLE)".
	Resource string
}

// Explain makes an SDK's error one line for the log that names the permission,
// the resource or the variable to look at. Its text for callers tells none of
// that. nil stays nil; an error of ctx itself stays recognisable.
func (c Call) Explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", c.Action, ctx.Err())
	}
	why := c.why(err)
	return &push.Error{Code: push.CodeInternalError, Text: "A service that Postino stores to did not do its part. Try again.",
		Cause: fmt.Errorf("%s: %s: %w", c.Action, why, err)}
}

func (c Call) why(err error) string {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return c.unanswered(err)
	}
	switch code := api.ErrorCode(); {
	case strings.HasPrefix(code, "AccessDenied"):
		return fmt.Sprintf("the permission %s on %s is missing from the function's role, or denied", c.Action, c.Resource)
	case Credentials(code):
		return "the AWS credentials are not accepted: check the function's role, or AWS_ACCESS_KEY_ID and AWS_SESSION_TOKEN"
	case code == "ResourceNotFoundException":
		return fmt.Sprintf("%s does not exist in this account and region (AWS_REGION)", c.Resource)
	case code == "ValidationException":
		return fmt.Sprintf("%s does not take this call: is it one that Postino's template made?", c.Resource)
	case Throttled(err):
		return fmt.Sprintf("%s is throttled", c.Resource)
	}
	return fmt.Sprintf("%s answers with an error", c.Service)
}

func (c Call) unanswered(err error) string {
	var network net.Error
	var try *tryTimeoutError
	switch {
	case strings.Contains(err.Error(), "get credentials"): // the SDK has no type for it
		return "there are no AWS credentials: give the function a role, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
	case errors.As(err, &try), errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("%s does not answer in time: check AWS_ENDPOINT_URL, AWS_REGION and the network", c.Service)
	case errors.As(err, &network):
		return fmt.Sprintf("%s cannot be reached: check AWS_ENDPOINT_URL, AWS_REGION and the network", c.Service)
	}
	return fmt.Sprintf("the call to %s failed", c.Service)
}

// Credentials reports whether an error code is about who calls rather than about
// what may be called (AWS general reference, common errors).
func Credentials(code string) bool {
	switch code {
	case "UnrecognizedClientException", "UnrecognizedClient", "InvalidClientTokenId", "InvalidAccessKeyId", "MissingAuthenticationToken",
		"MissingAuthenticationTokenException", "SignatureDoesNotMatch", "InvalidSignatureException", "IncompleteSignature",
		"ExpiredToken", "ExpiredTokenException", "NotAuthorized", "OptInRequired", "RequestExpired":
		return true
	}
	return false
}

// Throttled reports whether a service wants less of us: it took nothing.
func Throttled(err error) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}
	code := api.ErrorCode()
	return strings.Contains(code, "Throttl") || code == "ProvisionedThroughputExceededException" ||
		code == "RequestLimitExceeded" || code == "TooManyRequestsException" || code == "OverLimit" || code == "SlowDown"
}
