package httpsend

import (
	"cmp"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"postino/shared/envelope"
	"postino/shared/outcome"
	"postino/shared/push"
)

// Sender makes attempts at HTTP(S) endpoints; it is a pipeline.Sender. It is
// safe for concurrent use and meant to be shared by everything in a process.
//
// The number of connections to a host is not limited here: a request waiting
// for its turn would use up the time of its attempt. How much goes to one
// endpoint at once is the pipeline's decision. Any port may be dialled, as SNS
// allows it; only TCP to IP addresses can be.
type Sender struct {
	transport *http.Transport
	// fresh is transport with a new connection for every request.
	fresh   *http.Transport
	timeout time.Duration
	targets *lru.Cache[string, *target]
}

// New makes a Sender. Close it when its work is done.
func New(o Options) *Sender {
	timeout := cmp.Or(o.Timeout, DefaultTimeout)
	maxIdle := cmp.Or(o.MaxIdle, DefaultMaxIdle)
	dialer := &net.Dialer{
		Timeout:        timeout,
		ControlContext: newGuard(o).control,
		Resolver:       o.Resolver,
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	targets, err := lru.New[string, *target](keptTargets)
	if err != nil { // only a size below 1 is an error
		panic(err)
	}
	transport := &http.Transport{
		Proxy:       nil, // a proxy would resolve and dial unguarded
		DialContext: dialer.DialContext,
		TLSClientConfig: &tls.Config{
			MinVersion:         tls.VersionTLS12,
			RootCAs:            o.RootCAs,
			ClientSessionCache: tls.NewLRUClientSessionCache(keptSessions),
		},
		TLSHandshakeTimeout:    timeout,
		DisableCompression:     true, // never inflate what an endpoint sends
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    min(idlePerHost, maxIdle),
		IdleConnTimeout:        idleFor,
		MaxResponseHeaderBytes: maxHeader,
		Protocols:              &protocols,
		// One dead HTTP/2 connection would hang everything that shares it.
		HTTP2: &http.HTTP2Config{SendPingTimeout: timeout, PingTimeout: timeout / 3},
	}
	fresh := transport.Clone()
	fresh.DisableKeepAlives = true
	return &Sender{transport: transport, fresh: fresh, timeout: timeout, targets: targets}
}

// Close drops the idle connections. Attempts under way are not disturbed.
func (s *Sender) Close() { s.transport.CloseIdleConnections() }

// Send posts r to endpoint and says what came of it. It returns within the
// sender's timeout; when ctx ends sooner the result says so as a fault, and it
// is for the caller to know that the fault is its own.
//
// The outcome is decided by the response's status. What follows the headers is
// read (to 64 KiB and for at most a second) only to keep the connection: a body
// that stalls, breaks off or never ends changes nothing.
//
// User-info in the URL is sent as Basic credentials at once, and a Digest
// challenge is answered with it once (RFC 7617, RFC 7616). SNS waits for a 401
// in both cases; not waiting saves every push to a protected endpoint a round
// trip. Credentials appear in no result.
//
// An endpoint may close a kept connection just as it is used again. A request
// lost that way is repeated once, on a fresh connection, within the same attempt
// and its time; one lost on a fresh connection is not. So an attempt is two
// pushes at most, and two only where the first was cut off without an answer,
// which at-least-once delivery lets happen anyway. net/http's own repetition
// (an Idempotency-Key entry) is not used: it has no such bound, and an endpoint
// that hangs up on every request would get one attempt once per kept connection.
//
// r's body must not be changed after the call; r's header is not kept.
func (s *Sender) Send(ctx context.Context, endpoint string, r envelope.Request) push.Result {
	t := s.target(endpoint)
	if t.flaw != "" {
		return unusable("endpoint is not usable: " + t.flaw)
	}
	if name, ok := badHeader(r.Header); ok {
		return unusable("request header " + name + " is not valid")
	}
	deadline := time.Now().Add(s.timeout)
	result, challenge := s.exchange(ctx, deadline, t, r, t.basic)
	if result.Status == http.StatusUnauthorized && t.user != nil {
		if answer := answerDigest(challenge, t, r.Body); answer != nil {
			result, _ = s.exchange(ctx, deadline, t, r, answer)
		}
	}
	return result
}

// exchange is one request and its response, whose header it hands on.
func (s *Sender) exchange(ctx context.Context, deadline time.Time, t *target, r envelope.Request, auth []string) (push.Result, http.Header) {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	response, conn, err := roundTrip(ctx, s.transport, t, r, auth)
	if err != nil && conn.reused.Load() && hungUp(err) && ctx.Err() == nil {
		response, conn, err = roundTrip(ctx, s.fresh, t, r, auth)
	}
	if err != nil {
		return faultOf(err, conn.had.Load()), nil
	}
	result := outcome.OfStatus(response.StatusCode)
	discard(response, cancel)
	return result, response.Header
}

// connection is what a request learns about the one it got, TLS included.
type connection struct{ had, reused atomic.Bool }

func roundTrip(ctx context.Context, via *http.Transport, t *target, r envelope.Request, auth []string) (*http.Response, *connection, error) {
	conn := new(connection)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
		conn.had.Store(true)
		conn.reused.Store(c.Reused)
	}})
	response, err := via.RoundTrip(newRequest(ctx, t, r, auth))
	return response, conn, err
}

// hungUp reports whether a connection was closed instead of an answer. An
// HTTP/2 stream that the endpoint resets is an answer of sorts: its connection
// lives.
func hungUp(err error) bool {
	return outcome.OfError(err).Fault == outcome.Reset && !strings.Contains(err.Error(), "stream error:")
}

// faultOf classifies err, knowing whether a connection was had: where a deadline
// struck, the error alone does not tell.
func faultOf(err error, connected bool) push.Result {
	result := outcome.OfError(err)
	if result.Fault == outcome.Blocked {
		result.Detail += " (POSTINO_ALLOW_NETWORKS lists the networks that are)"
	}
	if result.Fault == outcome.Timeout && !connected {
		result.Connected, result.Detail = false, "no connection in time"
	}
	return result
}

// discard reads what is left of a response, within bounds, and closes it.
func discard(response *http.Response, cancel context.CancelFunc) {
	body := response.Body
	if body == http.NoBody {
		return
	}
	if response.StatusCode != http.StatusSwitchingProtocols { // whose body is the connection
		enough := time.AfterFunc(bodyPatience, cancel)
		_, _ = io.Copy(io.Discard, io.LimitReader(body, maxBody))
		enough.Stop()
	}
	_ = body.Close()
}

func (s *Sender) target(endpoint string) *target {
	if t, ok := s.targets.Get(endpoint); ok {
		return t
	}
	t := parseTarget(endpoint)
	s.targets.Add(endpoint, t)
	return t
}

// unusable is the result of a push that is not even tried.
func unusable(detail string) push.Result {
	return push.Result{Class: push.Permanent, Fault: outcome.Blocked, Detail: detail}
}
