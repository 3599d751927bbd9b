package httpsend

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"postino/shared/outcome"
	"postino/shared/push"
)

// An endpoint that answers at length must not make the server read it all: a
// megabyte is far beyond what is read of either part.
func TestTheHeadersOfAnAnswerAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		line  string
		lines int
		class push.Class
		fault string
	}{
		"32 KiB in 32 headers":   {"X-Filler: " + strings.Repeat("x", 1000) + "\r\n", 32, push.Success, ""},
		"1 MiB in 1000 headers":  {"X-Filler: " + strings.Repeat("x", 1000) + "\r\n", 1000, push.Retryable, outcome.Protocol},
		"1 MiB in one header":    {"X-Filler: " + strings.Repeat("x", 1<<20) + "\r\n", 1, push.Retryable, outcome.Protocol},
		"128 KiB in 128 headers": {"X-Filler: " + strings.Repeat("x", 1000) + "\r\n", 128, push.Retryable, outcome.Protocol},
	} {
		t.Run(name, func(t *testing.T) {
			url := listen(t, func(conn net.Conn, _ int) {
				readRequest(conn)
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"+strings.Repeat(c.line, c.lines)+"\r\n")
			})
			if r := send(loopbackSender(t), url); r.Class != c.class || r.Fault != c.fault {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestALongBodyIsNotReadAndCostsItsConnection(t *testing.T) {
	for _, size := range []int{1 << 20, 128 << 10} {
		t.Run(fmt.Sprintf("answers of %d bytes", size), func(t *testing.T) {
			conns := make(chan string, 2)
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				conns <- r.RemoteAddr
				_, _ = io.WriteString(w, strings.Repeat("x", size))
			})
			s := loopbackSender(t)
			for range 2 {
				if r := send(s, server.URL); r.Class != push.Success {
					t.Fatalf("%+v", r)
				}
			}
			if first, second := <-conns, <-conns; first == second {
				t.Error("the connection was kept: the body was read to its end")
			}
		})
	}
}
