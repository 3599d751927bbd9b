package outcome

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"postino/shared/push"
)

// Kinds of connection-level fault, the values of push.Result.Fault.
const (
	Timeout     = "timeout"
	DNS         = "dns"
	Refused     = "refused"
	Reset       = "reset"
	Unreachable = "unreachable"
	TLS         = "tls"
	Blocked     = "blocked"
	Protocol    = "protocol"
	Local       = push.LocalFault
)

// BlockedError is what a dial guard returns for an address that it refuses.
type BlockedError struct {
	// Address is the address as dialled, with or without a port.
	Address string
}

func (e *BlockedError) Error() string { return "address " + e.Address + " is not allowed" }

// OfError classifies a transport error: anything an http.RoundTripper or a
// net.Dialer returned instead of an answer. Detail is written here and holds at
// most a host name or address of the error, never its URL, which may carry
// credentials, nor bytes the endpoint sent.
//
// Connected is judged by the error alone: true unless the fault lies in finding,
// dialling or shaking hands with the endpoint. A sender whose deadline ran out
// knows better from its connection trace and may correct it.
//
// A cancelled context is this side's doing: retryable, with no fault kind.
func OfError(err error) push.Result {
	r := push.Result{Class: push.Retryable, Connected: true}
	if blocked, ok := errors.AsType[*BlockedError](err); ok {
		return push.Result{Class: push.Permanent, Fault: Blocked, Detail: blocked.Error()}
	}
	if errors.Is(err, context.Canceled) {
		r.Detail = "the attempt was stopped on this side before an answer came"
		return r
	}
	if isOurs(err) {
		r.Fault, r.Detail = Local, "this host has run out of file descriptors or memory"
		return r
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		r.Fault, r.Detail, r.Connected = DNS, dnsDetail(dns), false
		return r
	}
	dialling := false
	if op, ok := errors.AsType[*net.OpError](err); ok {
		dialling = op.Op == "dial"
	}
	r.Connected = !dialling
	switch detail := tlsDetail(err); {
	case detail != "":
		r.Fault, r.Detail, r.Connected = TLS, detail, false
	case isTimeout(err):
		r.Fault, r.Detail = Timeout, "no answer in time"
		switch {
		case dialling:
			r.Detail = "no connection in time"
		case strings.Contains(err.Error(), "TLS handshake timeout"): // net/http does not export the type
			r.Detail, r.Connected = "no TLS handshake in time", false
		}
	case errors.Is(err, syscall.ECONNREFUSED):
		r.Fault, r.Detail, r.Connected = Refused, "connection refused", false
	case isReset(err):
		r.Fault, r.Detail = Reset, "connection closed before an answer came"
	case dialling, isUnreachable(err):
		r.Fault, r.Detail, r.Connected = Unreachable, unreachableDetail(err), false
	default:
		r.Fault, r.Detail = Protocol, "no valid HTTP answer came"
	}
	return r
}

func dnsDetail(e *net.DNSError) string {
	// A resolver's host is only bytes of the endpoint's URL between "//" and the
	// port; user-info is never part of it.
	host := e.Name
	if len(host) > 253 { // the longest legal name, RFC 1035
		host = host[:253]
	}
	switch {
	case e.IsNotFound:
		return "no such host: " + host
	case e.IsTimeout:
		return "DNS did not answer in time for " + host
	default:
		return "DNS lookup failed for " + host
	}
}

// tlsDetail is "" when err is no TLS fault. A certificate's names are the
// endpoint's own bytes and are left out.
func tlsDetail(err error) string {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "TLS certificate is not from a trusted authority"
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "TLS certificate is for another host"
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		if invalid.Reason == x509.Expired {
			return "TLS certificate has expired or is not yet valid"
		}
		return "TLS certificate is invalid"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "TLS certificate is invalid"
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "endpoint does not speak TLS"
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && (op.Op == "remote error" || op.Op == "local error") {
		return "TLS handshake failed" // how crypto/tls reports an alert, received or sent
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		switch m := e.Error(); {
		case strings.HasPrefix(m, "http: server gave HTTP response to HTTPS client"):
			return "endpoint does not speak TLS"
		case strings.HasPrefix(m, "tls: "), strings.HasPrefix(m, "x509: "):
			return "TLS handshake failed"
		}
	}
	return ""
}

func isTimeout(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, syscall.ETIMEDOUT) {
		return true
	}
	t, ok := errors.AsType[net.Error](err)
	return ok && t.Timeout()
}

func isReset(err error) bool {
	for _, target := range []error{syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed} {
		if errors.Is(err, target) {
			return true
		}
	}
	if err == nil {
		return false
	}
	// Not exported by net/http: an idle connection that closed under a request,
	// and HTTP/2's ways of hanging up.
	m := err.Error()
	return strings.Contains(m, "server closed idle connection") || strings.Contains(m, "server sent GOAWAY") ||
		strings.Contains(m, "stream error:") || strings.Contains(m, "client connection lost")
}

func isUnreachable(err error) bool {
	for _, target := range []error{syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EHOSTDOWN, syscall.ENETDOWN, syscall.EADDRNOTAVAIL} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// unreachableDetail names the system's error, which is one of a fixed list.
func unreachableDetail(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return "endpoint cannot be reached: " + errno.Error()
	}
	return "endpoint cannot be reached"
}

// isOurs reports whether the fault is this host's and says nothing of the
// endpoint.
func isOurs(err error) bool {
	for _, ours := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, ours) {
			return true
		}
	}
	return false
}
