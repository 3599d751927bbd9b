package lambdaio

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"

	"postino/shared/push"
	"postino/shared/snsapi"
)

// Gateway is to the embedded server what a Function URL is to Lambda: it serves
// HTTP by a handler of Function URL events.
type Gateway struct {
	// Handle is PublishHandler.HandleURL or one like it.
	Handle func(context.Context, events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error)
	// Refuse renders refusals of requests that never become events.
	Refuse func(code push.Code, text string) snsapi.Response
	// Limit is the most bytes a body may have, 0 for MaxBody.
	Limit int64
}

func (g Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	limit := g.Limit
	if limit == 0 {
		limit = MaxBody
	}
	e, err := FromHTTP(r, limit)
	if err != nil {
		// The rest of the body is unread: the connection is of no more use.
		w.Header().Set("Connection", "close")
		refusal := asError(err)
		WriteHTTP(w, responseOf(g.Refuse(refusal.Code, refusal.Text)))
		return
	}
	answer, err := g.Handle(r.Context(), e)
	if err != nil {
		answer = responseOf(g.Refuse(push.CodeInternalError, internalText))
	}
	WriteHTTP(w, answer)
}

// preallocated is the longest declared body that gets its buffer at once; for
// longer ones memory follows what really arrives.
const preallocated = 64 << 10

// FromHTTP makes the event a Function URL would make of r: header names in lower
// case, repeated headers joined by commas, cookies apart, path and query as they
// came. The body is passed plain where it is UTF-8, else base64. What only AWS
// has (account, API id, request id, time) and the parsed copy of the query string
// stay empty.
//
// The error is a *push.Error: RequestEntityTooLarge for a body of more than limit
// bytes, given before any of it is read when Content-Length says so; otherwise
// ValidationError for a body that cannot be read.
func FromHTTP(r *http.Request, limit int64) (events.LambdaFunctionURLRequest, error) {
	body, err := readBody(r, limit)
	if err != nil {
		return events.LambdaFunctionURLRequest{}, err
	}
	e := events.LambdaFunctionURLRequest{
		Version: "2.0", RawPath: r.URL.EscapedPath(), RawQueryString: r.URL.RawQuery,
		Headers: make(map[string]string, len(r.Header)+1),
	}
	e.Headers["host"] = r.Host
	for name, values := range r.Header {
		if name == "Cookie" {
			e.Cookies = strings.Split(strings.Join(values, "; "), "; ")
			continue
		}
		e.Headers[strings.ToLower(name)] = joined(values)
	}
	source, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		source = r.RemoteAddr
	}
	e.RequestContext.DomainName = r.Host
	e.RequestContext.HTTP = events.LambdaFunctionURLRequestContextHTTPDescription{
		Method: r.Method, Path: e.RawPath, Protocol: r.Proto, SourceIP: source, UserAgent: r.UserAgent(),
	}
	if utf8.Valid(body) {
		e.Body = string(body)
	} else {
		e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
	}
	return e, nil
}

func readBody(r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	if r.Body == nil || r.ContentLength == 0 {
		return nil, nil
	}
	var buf bytes.Buffer
	if r.ContentLength > 0 {
		// MinRead more, or ReadFrom would grow the buffer to see the end.
		buf.Grow(int(min(r.ContentLength, preallocated)) + bytes.MinRead)
	}
	if _, err := buf.ReadFrom(http.MaxBytesReader(nil, r.Body, limit)); err != nil {
		if _, over := errors.AsType[*http.MaxBytesError](err); over {
			return nil, tooLarge(limit)
		}
		return nil, &push.Error{Code: push.CodeValidationError, Text: "The request's body could not be read to its end.", Cause: err}
	}
	return buf.Bytes(), nil
}

// WriteHTTP sends a Function URL's answer. One whose body is not the base64 it
// claims to be becomes a 502, as on AWS.
func WriteHTTP(w http.ResponseWriter, r events.LambdaFunctionURLResponse) {
	for name, value := range r.Headers {
		w.Header().Set(name, value)
	}
	for _, cookie := range r.Cookies {
		w.Header().Add("Set-Cookie", cookie)
	}
	if !r.IsBase64Encoded {
		w.WriteHeader(statusOr200(r.StatusCode))
		_, _ = io.WriteString(w, r.Body) // a client that has gone is no fault of ours
		return
	}
	body, err := base64.StdEncoding.DecodeString(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	w.WriteHeader(statusOr200(r.StatusCode))
	_, _ = w.Write(body)
}

// statusOr200 is what Function URLs make of an answer without a status.
func statusOr200(status int) int {
	if status == 0 {
		return http.StatusOK
	}
	return status
}
