// Package sigv4 checks AWS Signature Version 4, in the Authorization header or,
// presigned, in the query string (IAM user guide, "AWS Signature Version 4 for
// API requests"). A signature is checked by signing the same request once more,
// with smithy-go's signer, and comparing.
//
// It judges requests to SNS: the service in a credential's scope must be sns and
// bodies are always signed. The region in the scope may be any: it selects
// nothing where the host has been chosen by hand.
package sigv4

import (
	"net/http"
	"strings"
	"time"

	"postino/shared/push"
)

// Request is one HTTP request as it came in. Header includes Host.
type Request struct {
	Method, Path, RawQuery string
	Header                 http.Header
	Body                   []byte
}

const (
	algorithm  = "AWS4-HMAC-SHA256"
	service    = "sns"
	terminator = "aws4_request"
	timeForm   = "20060102T150405Z"
	dateForm   = "20060102"
)

// Window is how far the caller's clock may be off, either way, and how long a
// signature in the Authorization header is good.
const Window = 15 * time.Minute

// maxExpires is the longest a presigned request may be good for.
const maxExpires = 7 * 24 * time.Hour

// Signature is what a request says of its own signature. Nothing of it is proven
// before Verify.
type Signature struct {
	// KeyID is the access key's, letters, digits and underscores.
	KeyID string
	// Region is the one in the scope.
	Region string
	// Date is when the request was signed, to the second.
	Date time.Time
	// Expires is how long a presigned request is good, 0 for one that does not say.
	Expires time.Duration

	value     string   // in hexadecimal
	headers   []string // signed ones, in lower case, ascending
	request   Request
	inQuery   bool     // a presigned request's
	canonical string   // the query string without the signature
	sum       [32]byte // of the body
}

// Present reports whether r carries a signature at all, be it a good one or not.
func Present(r Request) bool {
	return strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-") || strings.Contains("&"+r.RawQuery, "&X-Amz-Signature=")
}

// Value is the signature itself. Two requests that differ in anything signed have
// different ones.
func (s *Signature) Value() string { return s.value }

// NeverRepeated reports whether the signature covers the two headers by which AWS
// SDKs tell apart not only calls but the tries of a call: whoever sends the same
// signature again has copied it. The SDK for Go signs them; boto3 and the AWS CLI
// send them unsigned, and two of their tries within a second have one signature.
func (s *Signature) NeverRepeated() bool {
	return s.signs("amz-sdk-invocation-id") && s.signs("amz-sdk-request")
}

// Current refuses a signature that is too old, or made in the future. The texts
// are AWS's, with what to do.
func (s *Signature) Current(now time.Time) error {
	now = now.UTC()
	good := Window
	if s.Expires > 0 {
		good = s.Expires
	}
	switch {
	case s.Date.After(now.Add(Window)):
		return mismatch("Signature not yet current: %s is still later than %s (%s + 15 min.): the caller's clock is ahead, set it.",
			s.Date.Format(timeForm), now.Add(Window).Format(timeForm), now.Format(timeForm))
	case s.Expires > 0 && now.After(s.Date.Add(good)):
		return mismatch("Signature expired: the presigned request was good until %s, and now it is %s.", s.Date.Add(good).Format(timeForm), now.Format(timeForm))
	case now.After(s.Date.Add(good)):
		return mismatch("Signature expired: %s is now earlier than %s (%s - 15 min.): the request was held up, or the caller's clock is behind, set it.",
			s.Date.Format(timeForm), now.Add(-Window).Format(timeForm), now.Format(timeForm))
	}
	return nil
}

func mismatch(format string, args ...any) error {
	return push.Errorf(push.CodeSignatureMismatch, format, args...)
}

func incomplete(format string, args ...any) error {
	return push.Errorf(push.CodeIncompleteSignature, format, args...)
}
