package awscall

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
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

// Failure is a call that was not carried out, the cause of what Explain gives.
type Failure struct {
	Call
	// Why completes a sentence that begins with the call's action, for whoever can
	// put it right: it names the permission, resource or variable to look at.
	Why string
	// InFunction goes on with Why where a function has called, which nobody at a
	// terminal has.
	InFunction string
	Err        error
}

func (f *Failure) Error() string {
	return fmt.Sprintf("%s: %s%s: %v", f.Action, f.Why, f.InFunction, f.Err)
}

// Unwrap gives the SDK's error.
func (f *Failure) Unwrap() error { return f.Err }

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
	why, inFunction := c.why(err)
	return &push.Error{Code: push.CodeInternalError, Text: "A service that Postino stores to did not do its part. Try again.",
		Cause: &Failure{Call: c, Why: why, InFunction: inFunction, Err: err}}
}

// Tell is what a person is told whose own credentials made the call that failed
// with err: one sentence and what to do. It answers "" for errors of other kinds.
func Tell(err error) string {
	f, ok := errors.AsType[*Failure](err)
	if !ok {
		return ""
	}
	return strings.ToUpper(f.Why[:1]) + f.Why[1:]
}

func (c Call) why(err error) (why, inFunction string) {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return c.unanswered(err)
	}
	switch code := api.ErrorCode(); {
	case strings.HasPrefix(code, "AccessDenied"):
		return fmt.Sprintf("the permission %s on %s is missing from the role or user whose credentials are used, or denied", c.Action, c.Resource), ""
	case expired(code):
		return "the AWS credentials have expired: renew them, with `aws sso login` or a new AWS_SESSION_TOKEN", ""
	case Credentials(code):
		return "the AWS credentials are not accepted: check AWS_PROFILE, AWS_ACCESS_KEY_ID and AWS_SESSION_TOKEN", ", or the function's role"
	case code == "ResourceNotFoundException":
		return fmt.Sprintf("%s does not exist in this account and region (AWS_REGION)", c.Resource), ""
	case code == "ValidationException":
		return fmt.Sprintf("%s does not take this call: is it one that Postino's template made?", c.Resource), ""
	case Throttled(err):
		return fmt.Sprintf("%s is throttled: try again", c.Resource), ""
	}
	return fmt.Sprintf("%s answers with an error (%s): try again", c.Service, api.ErrorCode()), ""
}

func (c Call) unanswered(err error) (why, inFunction string) {
	var network net.Error
	var try *tryTimeoutError
	text := err.Error()
	switch {
	case strings.Contains(text, "get credentials"): // the SDK has no type for it
		return noCredentials(text)
	case errors.As(err, &try), errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("%s does not answer in time: check AWS_ENDPOINT_URL, AWS_REGION and the network", c.Service), ""
	case errors.As(err, &network):
		return fmt.Sprintf("%s cannot be reached: check AWS_ENDPOINT_URL, AWS_REGION and the network", c.Service), ""
	}
	var answer *awshttp.ResponseError
	if errors.As(err, &answer) {
		return fmt.Sprintf("what answers for %s (status %d) does not speak its protocol: check AWS_ENDPOINT_URL and whether a proxy stands in between", c.Service, answer.HTTPStatusCode()), ""
	}
	return fmt.Sprintf("the call to %s failed", c.Service), ""
}

// noCredentials tells those that are nowhere from those that could not be made.
// The last place where the SDK looks is the machine's own metadata service.
func noCredentials(text string) (why, inFunction string) {
	if strings.Contains(text, "IMDS") || !strings.Contains(text, "refresh cached credentials") {
		return "there are no AWS credentials: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", ", or give the function a role"
	}
	return "the AWS credentials that are configured cannot be used: renew them, with `aws sso login` say, or check AWS_PROFILE", ""
}

func expired(code string) bool {
	return code == "ExpiredToken" || code == "ExpiredTokenException" || code == "RequestExpired"
}

// Credentials reports whether an error code is about who calls rather than about
// what may be called (AWS general reference, common errors).
func Credentials(code string) bool {
	switch code {
	case "UnrecognizedClientException", "UnrecognizedClient", "InvalidClientTokenId", "InvalidAccessKeyId", "MissingAuthenticationToken",
		"MissingAuthenticationTokenException", "SignatureDoesNotMatch", "InvalidSignatureException", "IncompleteSignature",
		"NotAuthorized", "OptInRequired":
		return true
	}
	return expired(code)
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
