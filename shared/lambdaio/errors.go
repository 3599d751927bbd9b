package lambdaio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"postino/shared/push"
)

// internalText is all that a caller learns of a failure on our side.
const internalText = "The request could not be completed because of an internal failure."

// asError finds the push.Error in err's chain, or wraps err in an InternalError
// that shows nothing of it.
func asError(err error) *push.Error {
	if e, ok := errors.AsType[*push.Error](err); ok {
		return e
	}
	return &push.Error{Code: push.CodeInternalError, Text: internalText, Cause: err}
}

// strict decodes exactly one JSON value and refuses members that v does not have.
func strict(raw []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("json: something follows the value")
	}
	return nil
}

// jsonProblem completes "… cannot be read: " for a decoding error, in terms of
// JSON rather than of Go.
func jsonProblem(err error) string {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		// Field names the embedded struct too, which is Go's business alone.
		return fmt.Sprintf("member %q must not be of type %s", strings.ReplaceAll(e.Field, "DirectMessage.", ""), e.Value)
	}
	text := strings.TrimPrefix(err.Error(), "json: ")
	return strings.Replace(text, "unknown field", "unknown member", 1)
}
