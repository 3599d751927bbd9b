package snsapi

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"postino/shared/push"
	"postino/shared/sigv4"
)

// API answers requests. Directory, Publisher, Region and Account must be set;
// the zero values of the others are usable. It is safe for concurrent use.
type API struct {
	Directory Directory
	Publisher Publisher
	// Region and Account are the ones in ARNs, "us-east-1" and "000000000000"
	// say; requests that name others are refused.
	Region, Account string
	Certificate     Certificate
	// Gate decides who may call; nil lets everybody in.
	Gate Gate
	// Reserved says of a queue's ARN that no RedrivePolicy may name it; nil
	// reserves none.
	Reserved func(queueARN string) bool
	// Now is the clock, time.Now when nil.
	Now func() time.Time
	// Random feeds tokens and UUIDs and must be safe for concurrent use;
	// crypto/rand when nil.
	Random io.Reader
	// Log gets one line per request: faults of ours at error level with their
	// cause, refusals at info, the rest at debug; of refusals that strangers may
	// cause, so many a second. Nothing is logged when nil.
	Log *slog.Logger

	refusals refusalLog
}

// Certificate is the certificate that subscribers check signatures against.
type Certificate struct {
	// Path is where GET answers it, "/SimpleNotificationService-….pem"; "" serves
	// none.
	Path string
	PEM  []byte
}

// call is one request on its way to its handler.
type call struct {
	params params
	header http.Header
	// signed: the request carries an AWS signature, which the gate has verified
	// unless it stands open.
	signed bool
	// key is the id of the key that has signed, "" where none was asked for.
	key string
	// now is in UTC and whole milliseconds, as everything that is stored.
	now time.Time
	out answer
}

// Serve answers one request. Every answer but the certificate is XML and carries
// its request id twice, in the header x-amzn-RequestId and in the body, because
// older SDKs read one and newer ones the other. Serve returns no error: a fault
// on our side is a 500 with a neutral text whose cause is only logged.
func (a *API) Serve(ctx context.Context, r Request) Response {
	if r.Method == http.MethodGet && a.Certificate.Path != "" && r.Path == a.Certificate.Path {
		return Response{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-pem-file"}}, Body: a.Certificate.PEM}
	}
	began := a.now()
	id, err := a.uuid()
	if err != nil {
		id = uuid.Nil.String() // the cause is met again, and logged, by whatever needs randomness
	}
	c := &call{header: r.Header, now: began}
	name, err := a.run(ctx, r, c)
	resp := Response{Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/xml"}}}
	resp.Header.Set("x-amzn-RequestId", id)
	var failure *push.Error
	if err == nil {
		resp.Body = c.out.response(name, id)
	} else {
		failure = refusal(err)
		resp.Status, resp.Body = status(failure.Code), errorXML(failure, id)
		if failure.Code == codeMethodNotAllowed {
			resp.Header.Set("Allow", "GET, POST")
		}
	}
	a.log(ctx, name, id, c.key, resp.Status, failure, err)
	return resp
}

// run finds the action and performs it. The name is for the log and the answer.
func (a *API) run(ctx context.Context, r Request, c *call) (name string, err error) {
	if err := acceptable(r); err != nil {
		return "", err
	}
	if c.params, err = decode(r); err != nil {
		return "", err
	}
	name = c.params["Action"]
	if name == "" {
		return "", push.Errorf(push.CodeMissingAction, "The request names no Action.")
	}
	act, err := find(name, c.params["Version"])
	if err != nil {
		return clip(name), err
	}
	if err := a.admit(ctx, r, c, name, act); err != nil {
		return name, err
	}
	if r.Method == http.MethodGet && !act.link && c.key == "" {
		// A page in a browser can make its reader's browser GET anything, but sign
		// nothing: presigned URLs are good.
		return name, push.Errorf(codeMethodNotAllowed, "%s is served by POST only.", name)
	}
	return name, act.do(a, ctx, c)
}

// admit asks the gate. An action that messages carry as a link needs no
// signature, but one that is there counts and is therefore checked.
func (a *API) admit(ctx context.Context, r Request, c *call, name string, act action) (err error) {
	signed := sigv4.Present(sigv4.Request(r))
	if a.Gate != nil && (signed || !act.link) {
		if c.key, err = a.Gate.Admit(ctx, sigv4.Request(r), name, act.topic(a, c.params)); err != nil {
			return err
		}
	}
	c.signed = signed
	return nil
}

// acceptable refuses what is no Query request at all.
func acceptable(r Request) error {
	if r.Path != "/" && r.Path != "" {
		return push.Errorf(push.CodeNotFound, "There is nothing at this path: send requests to /.")
	}
	if r.Method != http.MethodGet && r.Method != http.MethodPost {
		return push.Errorf(codeMethodNotAllowed, "Requests are made by POST, the links in messages by GET.")
	}
	// A form on any web page can POST to a server on its reader's machine; browsers
	// say so (W3C Fetch Metadata), SDKs send no such header.
	// Our own pushes carry the message type; an endpoint that is this server must
	// not make them requests.
	if r.Header.Get("X-Amz-Sns-Message-Type") != "" {
		return push.Errorf(push.CodeAuthorizationError, "Pushes are no requests: this server is not an endpoint.")
	}
	switch strings.ToLower(r.Header.Get("Sec-Fetch-Site")) {
	case "cross-site", "same-site":
		if r.Method == http.MethodPost {
			return push.Errorf(push.CodeAuthorizationError, "Requests from pages of other sites are refused.")
		}
	}
	content := strings.ToLower(r.Header.Get("Content-Type"))
	if r.Header.Get("X-Amz-Target") != "" || strings.HasPrefix(content, "application/x-amz-json") || strings.HasPrefix(content, "application/cbor") {
		return push.Errorf(push.CodeInvalidAction, "This server speaks the AWS Query protocol only: send application/x-www-form-urlencoded with an Action parameter.")
	}
	return nil
}

func (a *API) now() time.Time {
	now := time.Now
	if a.Now != nil {
		now = a.Now
	}
	return now().UTC().Truncate(time.Millisecond)
}

func (a *API) random() io.Reader {
	if a.Random == nil {
		return rand.Reader
	}
	return a.Random
}

func (a *API) uuid() (string, error) {
	id, err := uuid.NewRandomFromReader(a.random())
	return id.String(), err
}

func (a *API) log(ctx context.Context, action, id, key string, status int, failure *push.Error, err error) {
	if a.Log == nil {
		return
	}
	attrs := []slog.Attr{slog.String("action", action), slog.String("request", id), slog.Int("status", status)}
	if key != "" {
		attrs = append(attrs, slog.String("key", key))
	}
	level, text := slog.LevelDebug, "request served"
	switch {
	case failure != nil && status >= 500:
		level, text = slog.LevelError, "request failed"
		attrs = append(attrs, slog.String("code", string(failure.Code)), slog.Any("error", err))
	case failure != nil:
		if key == "" {
			logged, left := a.refusals.log(failure.Code, a.now())
			if !logged {
				return
			}
			if left > 0 {
				attrs = append(attrs, slog.Int("unlogged", left))
			}
		}
		level, text = slog.LevelInfo, "request refused"
		attrs = append(attrs, slog.String("code", string(failure.Code)), slog.String("text", failure.Text))
	}
	a.Log.LogAttrs(ctx, level, text, attrs...)
}

// answer collects the elements inside an action's result.
type answer struct{ bytes.Buffer }
