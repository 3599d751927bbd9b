package httpsend

import (
	"context"
	"crypto/x509"
	"encoding/binary"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"postino/shared/envelope"
	"postino/shared/push"
)

func TestMain(m *testing.M) {
	if os.Getenv(endpointRole) != "" {
		runEndpoint()
		return
	}
	goleak.VerifyTestMain(m)
}

// loopbackSender is a Sender that may dial loopback, closed with the test.
func loopbackSender(t testing.TB, change ...func(*Options)) *Sender {
	o := Options{AllowLoopback: true, Timeout: 10 * time.Second}
	for _, c := range change {
		c(&o)
	}
	s := New(o)
	t.Cleanup(s.Close)
	return s
}

func timeout(d time.Duration) func(*Options) { return func(o *Options) { o.Timeout = d } }

func trust(server *httptest.Server) func(*Options) {
	return func(o *Options) {
		o.RootCAs = x509.NewCertPool()
		o.RootCAs.AddCert(server.Certificate())
	}
}

func serve(t testing.TB, h http.HandlerFunc) *httptest.Server {
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server
}

func serveTLS(t testing.TB, h http.HandlerFunc) *httptest.Server {
	server := httptest.NewUnstartedServer(h)
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// listen accepts connections on loopback and hands each to handle with its
// number, from 1; it answers the URL. Everything is closed with the test.
func listen(t testing.TB, handle func(c net.Conn, n int)) string {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	conns := make(chan net.Conn, 1000)
	go func() {
		defer close(done)
		for n := 1; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns <- c
			go handle(c, n)
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
		close(conns)
		for c := range conns {
			_ = c.Close()
		}
	})
	return "http://" + l.Addr().String()
}

// readRequest reads one small request with a Content-Length off c.
func readRequest(c net.Conn) (text string, ok bool) {
	buf := make([]byte, 0, 4096)
	for {
		n, err := c.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if _, body, whole := strings.Cut(string(buf), "\r\n\r\n"); whole && len(body) == len(note.Body) {
			return string(buf), true
		}
		if err != nil {
			return string(buf), false
		}
	}
}

// note is the request that most tests send.
var note = envelope.Request{
	Header: http.Header{
		"Content-Type":           {"text/plain; charset=UTF-8"},
		"User-Agent":             {"Test Agent"},
		"Accept-Encoding":        {"gzip,deflate"},
		"X-Amz-Sns-Message-Type": {"Notification"},
	},
	Body: []byte(`{"Type":"Notification","Message":"hello"}`),
}

func send(s *Sender, endpoint string) push.Result {
	return s.Send(context.Background(), endpoint, note)
}

// names is a resolver whose answers come from the function, A records only;
// no address means that there is no such name.
func names(answer func(name string) []netip.Addr) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go answerDNS(server, answer)
		return client, nil
	}}
}

func name(host string, addrs ...string) *net.Resolver {
	return names(func(asked string) (found []netip.Addr) {
		for _, a := range addrs {
			if asked == host {
				found = append(found, netip.MustParseAddr(a))
			}
		}
		return found
	})
}

// answerDNS speaks DNS over a stream (RFC 1035, section 4.2.2).
func answerDNS(c net.Conn, answer func(string) []netip.Addr) {
	defer func() { _ = c.Close() }()
	for {
		var size [2]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(c, query); err != nil {
			return
		}
		reply := dnsReply(query, answer)
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)); err != nil {
			return
		}
	}
}

func dnsReply(query []byte, answer func(string) []netip.Addr) []byte {
	var labels []string
	i := 12
	for query[i] != 0 {
		labels = append(labels, string(query[i+1:i+1+int(query[i])]))
		i += 1 + int(query[i])
	}
	question := query[12 : i+5]
	var records []byte
	count, code := 0, byte(3) // NXDOMAIN
	for _, a := range answer(strings.Join(labels, ".")) {
		code = 0
		kind, data := uint16(1), a.AsSlice()
		if a.Is6() {
			kind = 28
		}
		if binary.BigEndian.Uint16(query[i+1:]) == kind {
			count++
			records = append(records, 0xc0, 12)
			records = binary.BigEndian.AppendUint16(records, kind)
			records = append(records, 0, 1, 0, 0, 0, 0)
			records = binary.BigEndian.AppendUint16(records, uint16(len(data)))
			records = append(records, data...)
		}
	}
	head := []byte{query[0], query[1], 0x81, 0x80 | code, 0, 1, 0, byte(count), 0, 0, 0, 0}
	return append(append(head, question...), records...)
}
