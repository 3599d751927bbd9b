package httpsend

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"postino/shared/outcome"
	"postino/shared/push"
)

const yes = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

// An endpoint closes the kept connection in the very moment it is used again:
// it takes in the request (so the transport cannot know that nothing was
// written) and hangs up without a byte.
func TestAKeptConnectionThatClosesUnderARequestBurnsNoAttempt(t *testing.T) {
	for name, hangUp := range map[string]func(net.Conn){
		"with FIN": func(c net.Conn) { _ = c.Close() },
		"with RST": func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0); _ = c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int32
			var second atomic.Value
			url := listen(t, func(c net.Conn, n int) {
				text, _ := readRequest(c)
				requests.Add(1)
				if n == 2 {
					second.Store(text)
				}
				_, _ = io.WriteString(c, yes)
				if _, ok := readRequest(c); ok {
					requests.Add(1)
					hangUp(c)
				}
			})
			s := loopbackSender(t)
			for range 2 {
				if r := send(s, url); r.Class != push.Success {
					t.Fatalf("%+v", r)
				}
			}
			if requests.Load() != 3 {
				t.Errorf("%d requests seen, want 3: one, one lost, its repetition", requests.Load())
			}
			if text, _ := second.Load().(string); !strings.HasSuffix(text, string(note.Body)) {
				t.Errorf("repeated request reads %q", text)
			}
		})
	}
}

// hangingUp serves kept connections that each answer one request, all at once,
// and hang up on the next one; connections beyond those answer if healthy.
func hangingUp(t *testing.T, s *Sender, kept int, healthy bool) (url string, seen *atomic.Int32) {
	seen = new(atomic.Int32)
	var together sync.WaitGroup
	together.Add(kept)
	url = listen(t, func(c net.Conn, n int) {
		for request := 1; ; request++ {
			if _, ok := readRequest(c); !ok {
				return
			}
			old := n <= kept
			if old && request == 1 {
				together.Done()
				together.Wait() // so that no connection serves two of the first
			} else {
				seen.Add(1)
			}
			if request > 1 && old || !old && !healthy {
				_ = c.Close()
				return
			}
			_, _ = io.WriteString(c, yes)
		}
	})
	var all sync.WaitGroup
	for range kept {
		all.Go(func() {
			if r := send(s, url); r.Class != push.Success {
				t.Errorf("%+v", r)
			}
		})
	}
	all.Wait()
	return url, seen
}

// Attempts are counted honestly: an endpoint that takes requests and hangs up
// must not be pushed to once per kept connection.
func TestOneAttemptIsNeverMoreThanTwoPushes(t *testing.T) {
	s := loopbackSender(t)
	url, seen := hangingUp(t, s, 10, false)
	r := send(s, url)
	if r.Class != push.Retryable || r.Fault != outcome.Reset || !r.Connected {
		t.Errorf("%+v", r)
	}
	if n := seen.Load(); n != 2 {
		t.Errorf("one attempt was %d pushes", n)
	}
}

// Where one kept connection is stale the others are likely to be, too.
func TestTheRepetitionUsesAFreshConnection(t *testing.T) {
	s := loopbackSender(t)
	url, seen := hangingUp(t, s, 10, true)
	if r := send(s, url); r.Class != push.Success {
		t.Errorf("%+v", r)
	}
	if n := seen.Load(); n != 2 {
		t.Errorf("one attempt was %d pushes", n)
	}
}

func TestARequestThatFailsOnAFreshConnectionIsNotRepeated(t *testing.T) {
	var seen atomic.Int32
	url := listen(t, func(c net.Conn, _ int) {
		readRequest(c)
		seen.Add(1)
		_ = c.Close()
	})
	r := send(loopbackSender(t), url)
	if r.Class != push.Retryable || r.Fault != outcome.Reset || !r.Connected || seen.Load() != 1 {
		t.Errorf("%+v after %d requests", r, seen.Load())
	}
}

func TestAnHTTP2StreamThatTheEndpointResetsIsNotRepeated(t *testing.T) {
	var seen atomic.Int32
	server := serveTLS(t, func(http.ResponseWriter, *http.Request) {
		if seen.Add(1) > 1 {
			panic(http.ErrAbortHandler) // RST_STREAM
		}
	})
	s := loopbackSender(t, trust(server))
	if r := send(s, server.URL); r.Class != push.Success {
		t.Fatalf("%+v", r)
	}
	if r := send(s, server.URL); r.Class != push.Retryable || seen.Load() != 2 {
		t.Errorf("%+v after %d requests", r, seen.Load())
	}
}
