package operator

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"postino/shared/access"
	"postino/shared/pipeline"
	"postino/shared/push"
)

// Prefix is where the operator's API lives; its version is part of it.
const Prefix = "/_postino/v1/"

// maxRequest bounds a request's body: a thousand message ids fit many times, and
// so does the largest publication, each byte of it escaped as \u0000 is.
const maxRequest = 8 * push.MaxPublication

// HTTP serves an Operator as JSON. Every request must carry the bearer token;
// an empty Token lets nobody in. Errors are {"code", "message"} with the status
// of the code.
type HTTP struct {
	Operator *Operator
	Token    string
	// Log gets the causes of answers that say InternalError; nil for none.
	Log *slog.Logger
}

// ServeHTTP answers one request under Prefix.
func (h HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !h.Allowed(r) {
		h.fail(w, r, push.Errorf(push.CodeAuthorizationError, "The operator's API needs the token of this server's data directory"))
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
	answer, err := h.route(r)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, answer)
}

// Allowed reports whether r carries the token. It compares hashes, so that neither
// content nor length is told by time.
func (h HTTP) Allowed(r *http.Request) bool {
	got, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	a, b := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(h.Token))
	return ok && h.Token != "" && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// route finds the verb by method and path segments. Segments are unescaped one
// by one, so that a queue's ARN or a delivery's key may stand in one.
func (h HTTP) route(r *http.Request) (any, error) {
	s, err := segments(r)
	if err != nil {
		return nil, err
	}
	o, ctx, q := h.Operator, r.Context(), r.URL.Query()
	switch op := r.Method + " " + pattern(s); op {
	case "GET deliveries":
		limit, err := number(q.Get("limit"))
		if err != nil {
			return nil, err
		}
		return o.ListDeliveries(ctx, ListRequest{
			State: q.Get("state"), Subscription: q.Get("subscription"), Topic: q.Get("topic"), Limit: limit,
		})
	case "GET deliveries/*":
		since, err := instant(q.Get("since"))
		if err != nil {
			return nil, err
		}
		return o.ShowDelivery(ctx, s[1], since)
	case "GET queues":
		return o.ListQueues(ctx)
	case "GET queues/*/messages":
		limit, err := number(q.Get("limit"))
		if err != nil {
			return nil, err
		}
		return o.ListDeadLetters(ctx, s[1], q.Get("after"), limit)
	case "GET queues/*/messages/*":
		return o.ShowDeadLetter(ctx, s[1], s[3])
	case "POST queues/*/redrive":
		var in RedriveRequest
		if err := readJSON(r, &in); err != nil {
			return nil, err
		}
		done, err := o.Redrive(ctx, s[1], in)
		if err != nil && (done.Redriven > 0 || len(done.Kept) > 0) {
			done.Stopped, err = h.word(r, err).Text, nil
		}
		return done, err
	case "POST queues/*/delete":
		var in DeleteRequest
		if err := readJSON(r, &in); err != nil {
			return nil, err
		}
		done, err := o.DeleteDeadLetters(ctx, s[1], in)
		if err != nil && done.Deleted+done.Perhaps > 0 {
			done.Stopped, err = h.word(r, err).Text, nil
		}
		return done, err
	case "GET subscriptions":
		return o.ListPaused(ctx)
	case "POST topics/*/messages":
		var in PublishInput
		if err := readJSON(r, &in); err != nil {
			return nil, err
		}
		return o.Publish(ctx, s[1], in)
	case "GET keys":
		return o.ListKeys(ctx)
	case "POST keys":
		var in access.Grant
		if err := readJSON(r, &in); err != nil {
			return nil, err
		}
		return o.AddKey(ctx, in)
	case "POST keys/*/revoke":
		return o.RevokeKey(ctx, s[1])
	case "POST subscriptions/*/pause":
		return o.Pause(ctx, s[1])
	case "POST subscriptions/*/resume":
		return o.Resume(ctx, s[1])
	case "POST subscriptions/*/send-test":
		return o.SendTest(ctx, s[1])
	default:
		return nil, push.Errorf(push.CodeNotFound, "The operator's API has no %s", push.Clip(op))
	}
}

// pattern replaces every second segment, which names a thing, by a star.
func pattern(segments []string) string {
	p := make([]string, len(segments))
	for i, s := range segments {
		if p[i] = s; i%2 == 1 {
			p[i] = "*"
		}
	}
	return strings.Join(p, "/")
}

func instant(s string) (t time.Time, err error) {
	if s == "" {
		return t, nil
	}
	if t, err = time.Parse(time.RFC3339, s); err != nil {
		return t, push.Errorf(push.CodeInvalidParameter, "%q is no time: write it as 2006-01-02T15:04:05Z", push.Clip(s))
	}
	return t, nil
}

func number(s string) (int, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, push.Errorf(push.CodeInvalidParameter, "%q is no number", push.Clip(s))
	}
	return n, nil
}

func readJSON(r *http.Request, into any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		// What follows the one value must be nothing.
		switch _, err = d.Token(); err {
		case io.EOF: //nolint:errorlint // json.Decoder returns it bare
			return nil
		case nil:
			err = errors.New("more than one JSON value")
		}
	}
	if _, big := errors.AsType[*http.MaxBytesError](err); big {
		return push.Errorf(push.CodeRequestTooLarge, "The request's body is larger than %d bytes", maxRequest)
	}
	return &push.Error{Code: push.CodeInvalidParameter, Text: "The request's body is not the JSON this operation takes", Cause: err}
}

// failure is an error on the wire.
type failure struct {
	Code    push.Code `json:"code"`
	Message string    `json:"message"`
}

func (h HTTP) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := h.word(r, err)
	status := e.Code.HTTPStatus()
	if e.Code == push.CodeAuthorizationError {
		status = http.StatusUnauthorized
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	writeJSON(w, status, failure{Code: e.Code, Message: e.Text})
}

// word is what a caller is told of err; the log gets the cause of a fault of ours.
func (h HTTP) word(r *http.Request, err error) *push.Error {
	e, ok := errors.AsType[*push.Error](err)
	if reason, refused := pipeline.Refused(err); refused && !ok {
		e = push.Errorf(push.CodeInvalidParameter, "The queue refuses: %s", reason)
	} else if !ok {
		e = push.Errorf(push.CodeInternalError, "The server could not do this: its log says why")
	}
	if text := h.Operator.explain(err); text != "" {
		e = push.Errorf(e.Code, "%s", text)
	}
	if e.Code.HTTPStatus() >= 500 && h.Log != nil {
		h.Log.ErrorContext(r.Context(), "operator request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	return e
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil { // only strings, numbers and times: cannot fail
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // a caller that left needs no answer
}
