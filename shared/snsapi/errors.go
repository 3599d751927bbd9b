package snsapi

import (
	"context"
	"errors"
	"net/http"

	"postino/shared/push"
)

// Codes of the front door alone. MalformedQueryString is one of SNS's common
// errors (SNS API reference, common errors).
const (
	codeMalformedQuery   push.Code = "MalformedQueryString"
	codeMethodNotAllowed push.Code = "MethodNotAllowed"
)

// status is the HTTP status an error code travels with.
func status(code push.Code) int {
	if code == codeMethodNotAllowed {
		return http.StatusMethodNotAllowed
	}
	return code.HTTPStatus()
}

// refusal is what the caller is told of err. Only a push.Error has a text that
// was written to be shown.
func refusal(err error) *push.Error {
	if e, ok := errors.AsType[*push.Error](err); ok {
		return e
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return &push.Error{Code: push.CodeUnavailable, Text: "The request took too long. Send it again.", Cause: err}
	}
	return &push.Error{Code: push.CodeInternalError, Text: "The request failed because of a fault on the server. Send it again.", Cause: err}
}

// The texts of missing things (recorded from SNS).
func noTopic() error        { return push.Errorf(push.CodeNotFound, "Topic does not exist") }
func noSubscription() error { return push.Errorf(push.CodeNotFound, "Subscription does not exist") }

// notServed is the refusal of something real that Postino does not do yet.
// errUnknown is the one of an attribute that SNS does not know either.
func notServed(name string) error {
	return errors.New(name + ": this server does not serve it yet")
}

var errUnknown = errors.New("unknown attribute")

// setting and creating put the right prefix before what is wrong with one
// attribute (recorded from SNS): the first for Set*Attributes, the second for
// CreateTopic and Subscribe.
func setting(err error) error {
	if errors.Is(err, errUnknown) {
		return push.Invalid("AttributeName")
	}
	return push.Invalid("%s", clip(err.Error()))
}

func creating(name string, err error) error {
	if errors.Is(err, errUnknown) {
		return push.Invalid("Attributes Reason: Unknown attribute: %s", clip(name))
	}
	return push.Invalid("Attributes Reason: %s", clip(err.Error()))
}
