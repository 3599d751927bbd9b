package httpsend

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"postino/shared/envelope"
	"postino/shared/outcome"
	"postino/shared/push"
)

// within fails the test where f takes longer than limit.
func within(t *testing.T, limit time.Duration, f func()) {
	t.Helper()
	began := time.Now()
	f()
	if took := time.Since(began); took > limit {
		t.Errorf("took %s, more than %s", took, limit)
	}
}

func expect(t *testing.T, r push.Result, class push.Class, fault string) {
	t.Helper()
	if r.Class != class || r.Fault != fault || r.Detail == "" {
		t.Errorf("got %+v, want %s with fault %q", r, class, fault)
	}
}

const short = 300 * time.Millisecond

func TestAnEndpointThatNeverAnswersTimesOut(t *testing.T) {
	url := listen(t, func(c net.Conn, _ int) { readRequest(c) })
	within(t, 3*time.Second, func() {
		r := send(loopbackSender(t, timeout(short)), url)
		expect(t, r, push.Retryable, outcome.Timeout)
		if !r.Connected {
			t.Error("a connection was had")
		}
	})
}

func TestATLSHandshakeThatHangsTimesOutWithoutAConnection(t *testing.T) {
	url := listen(t, func(net.Conn, int) {}) // accepts and says nothing
	within(t, 3*time.Second, func() {
		r := send(loopbackSender(t, timeout(short)), strings.Replace(url, "http:", "https:", 1))
		expect(t, r, push.Retryable, outcome.Timeout)
		if r.Connected {
			t.Error("no connection was had")
		}
	})
}

func TestADNSServerThatNeverAnswersTimesOut(t *testing.T) {
	silent := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	within(t, 3*time.Second, func() {
		r := send(loopbackSender(t, timeout(short), func(o *Options) { o.Resolver = silent }), "http://slow.example/")
		if r.Class != push.Retryable || r.Connected || (r.Fault != outcome.Timeout && r.Fault != outcome.DNS) {
			t.Errorf("%+v", r)
		}
	})
}

func TestAnUnknownNameIsADNSFault(t *testing.T) {
	s := loopbackSender(t, func(o *Options) { o.Resolver = name("known.example", "127.0.0.1") })
	expect(t, send(s, "http://unknown.example/"), push.Retryable, outcome.DNS)
}

func TestAClosedPortIsRefused(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	r := send(loopbackSender(t), server.URL)
	expect(t, r, push.Retryable, outcome.Refused)
	if r.Connected {
		t.Error("no connection was had")
	}
}

// The status is known: whatever the body does, a success stays one, and the
// worker is not held for longer than a second.
func TestABodyThatMisbehavesChangesNoOutcome(t *testing.T) {
	head := "HTTP/1.1 200 OK\r\n"
	for name, answer := range map[string]func(net.Conn){
		"stalls before its first byte": func(c net.Conn) { _, _ = io.WriteString(c, head+"Content-Length: 10\r\n\r\n") },
		"stalls in the middle":         func(c net.Conn) { _, _ = io.WriteString(c, head+"Content-Length: 10\r\n\r\n12345") },
		"breaks off": func(c net.Conn) {
			_, _ = io.WriteString(c, head+"Content-Length: 10\r\n\r\n12345")
			_ = c.(*net.TCPConn).SetLinger(0)
			_ = c.Close()
		},
		"is chunked nonsense": func(c net.Conn) {
			_, _ = io.WriteString(c, head+"Transfer-Encoding: chunked\r\n\r\nnot a chunk\r\n")
		},
		"never ends": func(c net.Conn) {
			_, _ = io.WriteString(c, head+"\r\n")
			for {
				if _, err := io.WriteString(c, strings.Repeat("x", 8192)); err != nil {
					return
				}
			}
		},
		"drips": func(c net.Conn) {
			_, _ = io.WriteString(c, head+"\r\n")
			for range time.Tick(20 * time.Millisecond) {
				if _, err := io.WriteString(c, "x"); err != nil {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := listen(t, func(c net.Conn, _ int) {
				readRequest(c)
				answer(c)
			})
			within(t, 3*time.Second, func() {
				if r := send(loopbackSender(t), url); r.Class != push.Success || r.Status != 200 {
					t.Errorf("%+v", r)
				}
			})
		})
	}
}

// Endless headers must cost neither memory nor the time limit.
func TestHeadersWithoutEndAreCutOff(t *testing.T) {
	for name, line := range map[string]string{
		"one after another":      "X-Filler: " + strings.Repeat("x", 1000) + "\r\n",
		"in one line":            strings.Repeat("x", 1000),
		"in interim responses":   "\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n",
		"in interim 100 answers": "\r\nHTTP/1.1 100 Continue\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			var sent atomic.Int64
			url := listen(t, func(c net.Conn, _ int) {
				readRequest(c)
				start := "HTTP/1.1 200 OK\r\nX-A: "
				if strings.HasPrefix(line, "\r\n") {
					start = "HTTP/1.1 103 Early Hints\r\n"
				}
				_, _ = io.WriteString(c, start)
				for {
					n, err := io.WriteString(c, line)
					if sent.Add(int64(n)); err != nil {
						return
					}
				}
			})
			within(t, 5*time.Second, func() {
				expect(t, send(loopbackSender(t), url), push.Retryable, outcome.Protocol)
			})
			if sent.Load() > 64<<20 {
				t.Errorf("read %d bytes of headers", sent.Load())
			}
		})
	}
}

func TestInterimResponsesAreSkipped(t *testing.T) {
	url := listen(t, func(c net.Conn, _ int) {
		readRequest(c)
		_, _ = io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
	})
	if r := send(loopbackSender(t), url); r.Class != push.Success || r.Status != 202 {
		t.Errorf("%+v", r)
	}
}

func TestSwitchingProtocolsEndsTheAttemptAtOnce(t *testing.T) {
	url := listen(t, func(c net.Conn, _ int) {
		readRequest(c)
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
	})
	within(t, bodyPatience/2, func() {
		if r := send(loopbackSender(t), url); r.Status != 101 || r.Class != outcome.OfStatus(101).Class {
			t.Errorf("%+v", r)
		}
	})
}

func TestAnAnswerThatIsNotHTTPIsAProtocolFault(t *testing.T) {
	url := listen(t, func(c net.Conn, _ int) {
		readRequest(c)
		_, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.9\r\n")
	})
	r := send(loopbackSender(t), url)
	expect(t, r, push.Retryable, outcome.Protocol)
	if strings.Contains(r.Detail, "SSH") {
		t.Errorf("the endpoint's bytes are shown: %s", r.Detail)
	}
}

func TestCompressedAnswersAreNotInflated(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = z.Write(make([]byte, 32<<20))
	_ = z.Close()
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb.Bytes())
	})
	s := loopbackSender(t)
	send(s, server.URL) // connects, fills caches
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := send(s, server.URL)
	runtime.ReadMemStats(&after)
	if r.Class != push.Success {
		t.Errorf("%+v", r)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20 {
		t.Errorf("one answer cost %d bytes", used)
	}
}

func TestNoEncodingIsAskedForButTheEnvelopes(t *testing.T) {
	asked := make(chan []string, 1)
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) { asked <- r.Header["Accept-Encoding"] })
	loopbackSender(t).Send(context.Background(), server.URL, envelope.Request{Header: http.Header{}, Body: note.Body})
	if got := <-asked; got != nil {
		t.Errorf("asked for %v", got)
	}
}

func TestFaultsOfTLSAreNamed(t *testing.T) {
	ok := func(http.ResponseWriter, *http.Request) {}
	trusted := serveTLS(t, ok)
	expired := httptest.NewUnstartedServer(http.HandlerFunc(ok))
	expired.Config.ErrorLog = trusted.Config.ErrorLog
	expired.TLS = &tls.Config{Certificates: []tls.Certificate{expiredCertificate(t)}}
	expired.StartTLS()
	t.Cleanup(expired.Close)
	_, port, _ := net.SplitHostPort(trusted.Listener.Addr().String())
	plain := serve(t, ok)

	for name, c := range map[string]struct {
		endpoint string
		change   func(*Options)
	}{
		"self-signed":   {trusted.URL, func(*Options) {}},
		"expired":       {expired.URL, trust(expired)},
		"another host":  {"https://other.test:" + port, func(o *Options) { trust(trusted)(o); o.Resolver = namedLoopback("other.test") }},
		"no TLS at all": {strings.Replace(plain.URL, "http:", "https:", 1), func(*Options) {}},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, send(loopbackSender(t, c.change), c.endpoint), push.Retryable, outcome.TLS)
		})
	}
}

func namedLoopback(host string) *net.Resolver { return name(host, "127.0.0.1") }

func expiredCertificate(t *testing.T) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "127.0.0.1"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1, 0), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestTextCannotBecomeAHeader(t *testing.T) {
	var hits atomic.Int32
	server := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	s := loopbackSender(t)
	for _, h := range []http.Header{
		{"Content-Type": {"text/plain\r\nX-Evil: 1"}}, {"Content-Type": {"a\nb"}}, {"Content-Type": {"a\x00b"}}, {"Content-Type": {"a\x7fb"}},
		{"X-Evil: 1\r\nY": {"v"}}, {"": {"v"}}, {"X Y": {"v"}}, {"Naïve": {"v"}},
	} {
		r := s.Send(context.Background(), server.URL, envelope.Request{Header: h})
		if r.Class != push.Permanent || r.Detail == "" || strings.ContainsAny(r.Detail, "\r\n") {
			t.Errorf("%q: %+v", h, r)
		}
	}
	if hits.Load() != 0 {
		t.Errorf("%d requests arrived", hits.Load())
	}
	for _, path := range []string{"/a%0d%0aX-Evil:%201", "/?q=%0d%0aX-Evil:1"} {
		if r := send(s, server.URL+path); r.Class != push.Success {
			t.Errorf("%s: %+v", path, r)
		}
	}
}

func TestADeadHTTP2ConnectionIsGivenUp(t *testing.T) {
	server := serveTLS(t, func(http.ResponseWriter, *http.Request) {})
	var dark atomic.Bool // from now on the first connection carries nothing
	url := listen(t, func(c net.Conn, n int) {
		up, err := net.Dial("tcp4", server.Listener.Addr().String())
		if err != nil {
			return
		}
		defer func() { _ = up.Close() }()
		forward := func(to, from net.Conn) {
			buf := make([]byte, 4096)
			for {
				got, err := from.Read(buf)
				if err != nil {
					return
				}
				if n > 1 || !dark.Load() {
					_, _ = to.Write(buf[:got])
				}
			}
		}
		go forward(c, up)
		forward(up, c)
	})
	s := loopbackSender(t, timeout(short), trust(server))
	endpoint := strings.Replace(url, "http:", "https:", 1)
	if r := send(s, endpoint); r.Class != push.Success {
		t.Fatalf("%+v", r)
	}
	dark.Store(true)
	for try := 1; ; try++ {
		r := send(s, endpoint)
		if r.Class == push.Success {
			break
		}
		if expect(t, r, push.Retryable, r.Fault); try == 10 {
			t.Fatalf("still no new connection: %+v", r)
		}
	}
}

func TestAResultNeverShowsCredentials(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	s := loopbackSender(t, func(o *Options) { o.Resolver = name("known.example", "127.0.0.1") })
	for _, host := range []string{
		strings.TrimPrefix(gone.URL, "http://"), "unknown.example", "bad_host.example", "10.0.0.1", "h:99999", "h:0", "1.2", " ", "[::1", "h\n",
	} {
		for _, scheme := range []string{"http", "https", "ftp", ""} {
			r := send(s, fmt.Sprintf("%s://user:hunter2@%s/?token=hunter2", scheme, host))
			if r.Class == push.Success || strings.Contains(fmt.Sprintf("%+v", r), "hunter2") {
				t.Errorf("%s: %+v", host, r)
			}
		}
	}
}
