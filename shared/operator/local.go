package operator

import (
	"bytes"
	"context"
	"io"
	"net/http"
)

// Local gives a Client of h.Operator in this very process: it asks by the same
// requests and gets the same answers as over a connection. h needs no Token.
func Local(h HTTP) *Client {
	const token = "this process" // no request comes from outside
	h.Token = token
	return &Client{Server: ServerFile{URL: "http://" + token[:4], Token: token, Region: h.Operator.Region, Account: h.Operator.Account},
		HTTP: &http.Client{Transport: direct{h}}}
}

// direct hands requests to a handler. A verb ends with its request's context, and
// not before it has put its things in order: so does RoundTrip.
type direct struct{ to http.Handler }

// RoundTrip implements http.RoundTripper.
func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close() //nolint:errcheck // of memory
	}
	a := answer{header: http.Header{}, status: http.StatusOK}
	d.to.ServeHTTP(&a, r)
	// What was done before an interruption is told.
	if err := context.Cause(r.Context()); err != nil && a.status != http.StatusOK {
		return nil, err
	}
	return &http.Response{StatusCode: a.status, Header: a.header, Body: io.NopCloser(&a.body), Request: r}, nil
}

// answer keeps what a handler writes.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }
