// Package outcome says what one attempt means for its delivery: an HTTP status
// or a transport error in, a push.Result with its class out.
//
//	2xx                                  success
//	429, 5xx                             retryable
//	1xx, 3xx, other 4xx, anything else   permanent
//	timeout, DNS, TLS, refused, reset,
//	unreachable, broken HTTP             retryable
//	address the guard refuses            permanent
//
// The SNS developer guide (message delivery retries) retries 5xx, 429 and faults
// of the connection, and calls every other error permanent. It does not name
// redirects, which are never followed, nor a final 1xx (an older edition retried
// 100 and 101); both fall under "every other".
package outcome

import (
	"net/http"
	"strconv"

	"postino/shared/push"
)

// OfStatus classifies the status of an answer, 100 to 999 as net/http reads it.
// Detail is the status with its standard name, "503 Service Unavailable", or the
// bare number where it has none: the endpoint's own reason phrase is not echoed.
func OfStatus(status int) push.Result {
	r := push.Result{Class: push.Permanent, Status: status, Detail: strconv.Itoa(status), Connected: true}
	if name := http.StatusText(status); name != "" {
		r.Detail += " " + name
	}
	switch {
	case status >= 200 && status <= 299:
		r.Class = push.Success
	case status == http.StatusTooManyRequests, status >= 500 && status <= 599:
		r.Class = push.Retryable
	}
	return r
}
