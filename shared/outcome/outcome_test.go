package outcome_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"postino/shared/outcome"
	"postino/shared/push"
)

func TestEveryStatusHasItsClass(t *testing.T) {
	for status := 100; status <= 999; status++ {
		want := push.Permanent
		switch {
		case status/100 == 2:
			want = push.Success
		case status/100 == 5 || status == 429:
			want = push.Retryable
		}
		got := outcome.OfStatus(status)
		if got.Class != want || got.Status != status || !got.Connected || got.Fault != "" {
			t.Errorf("%d is %+v, want %s", status, got, want)
		}
		if !strings.HasPrefix(got.Detail, fmt.Sprint(status)) {
			t.Errorf("%d has detail %q", status, got.Detail)
		}
	}
}

func TestDetailOfAStatusNamesIt(t *testing.T) {
	for status, want := range map[int]string{503: "503 Service Unavailable", 200: "200 OK", 301: "301 Moved Permanently", 599: "599", 299: "299"} {
		if got := outcome.OfStatus(status).Detail; got != want {
			t.Errorf("%d: %q, want %q", status, got, want)
		}
	}
}

const secretURL = "https://user:s3cret@endpoint.example/path?token=s3cret"

// posted wraps err as an http.Client does.
func posted(err error) error { return &url.Error{Op: "Post", URL: secretURL, Err: err} }

func dial(err error) error {
	return posted(&net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 443}, Err: err})
}

func read(err error) error { return posted(&net.OpError{Op: "read", Net: "tcp", Err: err}) }

func system(call string, errno syscall.Errno) error { return os.NewSyscallError(call, errno) }

func TestEveryTransportErrorHasItsKind(t *testing.T) {
	retry := func(fault, detail string, connected bool) push.Result {
		return push.Result{Class: push.Retryable, Fault: fault, Detail: detail, Connected: connected}
	}
	for name, c := range map[string]struct {
		err  error
		want push.Result
	}{
		"guard":                 {dial(&outcome.BlockedError{Address: "169.254.169.254:80"}), push.Result{Class: push.Permanent, Fault: "blocked", Detail: "address 169.254.169.254:80 is not allowed"}},
		"no such host":          {dial(&net.DNSError{Err: "no such host", Name: "endpoint.example", IsNotFound: true}), retry("dns", "no such host: endpoint.example", false)},
		"DNS timeout":           {dial(&net.DNSError{Err: "i/o timeout", Name: "endpoint.example", IsTimeout: true}), retry("dns", "DNS did not answer in time for endpoint.example", false)},
		"DNS server fails":      {dial(&net.DNSError{Err: "server misbehaving", Name: "endpoint.example", IsTemporary: true}), retry("dns", "DNS lookup failed for endpoint.example", false)},
		"refused":               {dial(system("connect", syscall.ECONNREFUSED)), retry("refused", "connection refused", false)},
		"dial timeout":          {dial(os.ErrDeadlineExceeded), retry("timeout", "no connection in time", false)},
		"kernel's dial timeout": {dial(system("connect", syscall.ETIMEDOUT)), retry("timeout", "no connection in time", false)},
		"no route":              {dial(system("connect", syscall.EHOSTUNREACH)), retry("unreachable", "endpoint cannot be reached: no route to host", false)},
		"no network":            {dial(system("connect", syscall.ENETUNREACH)), retry("unreachable", "endpoint cannot be reached: network is unreachable", false)},
		"out of local ports":    {dial(system("connect", syscall.EADDRNOTAVAIL)), retry("unreachable", "endpoint cannot be reached: cannot assign requested address", false)},
		"dial, otherwise":       {dial(errors.New("s3cret")), retry("unreachable", "endpoint cannot be reached", false)},
		"host lost later":       {read(system("read", syscall.EHOSTUNREACH)), retry("unreachable", "endpoint cannot be reached: no route to host", false)},
		"deadline":              {posted(context.DeadlineExceeded), retry("timeout", "no answer in time", true)},
		"read deadline":         {read(os.ErrDeadlineExceeded), retry("timeout", "no answer in time", true)},
		"reset":                 {read(system("read", syscall.ECONNRESET)), retry("reset", "connection closed before an answer came", true)},
		"broken pipe":           {read(system("write", syscall.EPIPE)), retry("reset", "connection closed before an answer came", true)},
		"closed at once":        {posted(io.EOF), retry("reset", "connection closed before an answer came", true)},
		"closed in the answer":  {posted(io.ErrUnexpectedEOF), retry("reset", "connection closed before an answer came", true)},
		"idle connection":       {posted(errors.New("http: server closed idle connection")), retry("reset", "connection closed before an answer came", true)},
		"HTTP/2 stream reset":   {posted(errors.New("stream error: stream ID 1; INTERNAL_ERROR; received from peer")), retry("reset", "connection closed before an answer came", true)},
		"untrusted certificate": {posted(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}), retry("tls", "TLS certificate is not from a trusted authority", false)},
		"other host's":          {posted(&tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{}, Host: "endpoint.example"}}), retry("tls", "TLS certificate is for another host", false)},
		"expired certificate":   {posted(&tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Cert: &x509.Certificate{}, Reason: x509.Expired}}), retry("tls", "TLS certificate has expired or is not yet valid", false)},
		"invalid certificate":   {posted(x509.CertificateInvalidError{Cert: &x509.Certificate{}, Reason: x509.NotAuthorizedToSign}), retry("tls", "TLS certificate is invalid", false)},
		"odd certificate":       {posted(&tls.CertificateVerificationError{Err: errors.New("s3cret")}), retry("tls", "TLS certificate is invalid", false)},
		"TLS alert":             {posted(&net.OpError{Op: "remote error", Err: tls.AlertError(40)}), retry("tls", "TLS handshake failed", false)},
		"TLS versions":          {posted(errors.New("tls: server selected unsupported protocol version 301")), retry("tls", "TLS handshake failed", false)},
		"broken HTTP":           {posted(errors.New(`net/http: HTTP/1.x transport connection broken: malformed HTTP response "s3cret"`)), retry("protocol", "no valid HTTP answer came", true)},
		"stopped here":          {posted(context.Canceled), retry("", "the attempt was stopped on this side before an answer came", true)},
		"no error at all":       {nil, retry("protocol", "no valid HTTP answer came", true)},
	} {
		t.Run(name, func(t *testing.T) {
			got := outcome.OfError(c.err)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%v (-want +got):\n%s", c.err, diff)
			}
			if strings.Contains(got.Detail, "s3cret") || strings.ContainsAny(got.Detail, "\r\n") {
				t.Errorf("detail is not safe to show: %q", got.Detail)
			}
		})
	}
}

// The errors above are what net/http is believed to return; here it returns them.
func TestFaultsOfRealConnectionsAreTold(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes are meant to fail
	secure.StartTLS()
	defer secure.Close()
	trusting := secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs

	for name, c := range map[string]struct {
		url   string
		roots *x509.CertPool
		want  string
	}{
		"closed port":           {closedPort(t), nil, "refused"},
		"untrusted":             {secure.URL, nil, "tls"},
		"another host":          {strings.Replace(secure.URL, "127.0.0.1", "localhost", 1), trusting, "tls"},
		"plain server":          {strings.Replace(plain.URL, "http:", "https:", 1), nil, "tls"},
		"hangs":                 {answering(t, hang), nil, "timeout"},
		"hangs in handshake":    {strings.Replace(answering(t, hang), "http:", "https:", 1), nil, "timeout"},
		"closes":                {answering(t, ""), nil, "reset"},
		"closes in the headers": {answering(t, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"), nil, "reset"},
		"talks nonsense":        {answering(t, "hello\r\n\r\n"), nil, "protocol"},
		"endless 1xx":           {answering(t, strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 1000)), nil, "protocol"},
	} {
		t.Run(name, func(t *testing.T) {
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 4096, TLSClientConfig: &tls.Config{RootCAs: c.roots}}}
			patience := time.Minute // a busy machine must not make timeouts of other faults
			if c.want == "timeout" {
				patience = 100 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader("x"))
			if err != nil {
				t.Fatal(err)
			}
			answer, err := client.Do(r)
			if err == nil {
				answer.Body.Close()
				t.Fatalf("got %s", answer.Status)
			}
			if got := outcome.OfError(err); got.Fault != c.want || got.Class != push.Retryable {
				t.Errorf("%v is %+v, want %s", err, got, c.want)
			}
		})
	}
}

func closedPort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

const hang = "hang"

// answering listens, reads a request's first line and answers with raw bytes.
func answering(t *testing.T, raw string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if raw == hang {
					_, _ = io.Copy(io.Discard, c) // until the client gives up
					return
				}
				requestEnds(c)
				_, _ = io.WriteString(c, raw)
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

// requestEnds reads a whole request, so that closing sends no reset.
func requestEnds(c net.Conn) {
	if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
		_, _ = io.Copy(io.Discard, r.Body)
	}
}

func TestAFaultOfThisHostIsNotTheEndpoints(t *testing.T) {
	for _, e := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		err := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", e)}
		if r := outcome.OfError(err); r.Fault != outcome.Local || !r.Connected {
			t.Errorf("%v is %+v", e, r)
		}
	}
}
