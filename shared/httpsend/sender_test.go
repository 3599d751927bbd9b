package httpsend

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"postino/shared/envelope"
	"postino/shared/outcome"
	"postino/shared/push"
)

func TestTheRequestOnTheWireIsExactlyTheEnvelopesPlusHostAndLength(t *testing.T) {
	got := make(chan string, 1)
	url := listen(t, func(c net.Conn, _ int) {
		text, _ := readRequest(c)
		got <- text
		_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
	})
	if r := send(loopbackSender(t), url+"/hook?a=1&b=%20#part"); r.Class != push.Success || !r.Connected {
		t.Fatalf("%+v", r)
	}
	want := "POST /hook?a=1&b=%20 HTTP/1.1\r\n" +
		"Host: " + strings.TrimPrefix(url, "http://") + "\r\n" +
		"User-Agent: Test Agent\r\n" +
		fmt.Sprintf("Content-Length: %d\r\n", len(note.Body)) +
		"Accept-Encoding: gzip,deflate\r\n" +
		"Content-Type: text/plain; charset=UTF-8\r\n" +
		"X-Amz-Sns-Message-Type: Notification\r\n" +
		"\r\n" + string(note.Body)
	if diff := cmp.Diff(want, <-got); diff != "" {
		t.Error(diff)
	}
}

func TestTheStatusDecidesAndNoRedirectIsFollowed(t *testing.T) {
	var hits atomic.Int32
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		var status int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &status)
		w.Header().Set("Location", "/200")
		w.WriteHeader(status)
	})
	s := loopbackSender(t)
	statuses := []int{200, 201, 202, 204, 299, 300, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 408, 410, 413, 422, 429, 500, 501, 502, 503, 504, 599, 999}
	for _, status := range statuses {
		got := send(s, fmt.Sprintf("%s/%d", server.URL, status))
		want := outcome.OfStatus(status)
		want.Connected = true
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("status %d: %s", status, diff)
		}
		if status/100 == 3 && got.Class != push.Permanent {
			t.Errorf("redirect %d is %s, want permanent", status, got.Class)
		}
	}
	if int(hits.Load()) != len(statuses) {
		t.Errorf("%d requests for %d sends", hits.Load(), len(statuses))
	}
}

func TestSequentialSendsUseOneConnection(t *testing.T) {
	for _, body := range []int{0, 1, 4096, maxBody} {
		t.Run(fmt.Sprintf("answers of %d bytes", body), func(t *testing.T) {
			conns := make(chan string, 50)
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				conns <- r.RemoteAddr
				_, _ = io.WriteString(w, strings.Repeat("x", body))
			})
			s := loopbackSender(t)
			for range 50 {
				if r := send(s, server.URL); r.Class != push.Success {
					t.Fatalf("%+v", r)
				}
			}
			for first := <-conns; len(conns) > 0; {
				if next := <-conns; next != first {
					t.Fatal("50 sends used more than one connection")
				}
			}
		})
	}
}

func TestHTTP2IsSpokenToHTTPSAndSharesOneConnection(t *testing.T) {
	var mu sync.Mutex
	remotes, protos, extra := map[string]int{}, map[string]int{}, []string(nil)
	server := serveTLS(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		remotes[r.RemoteAddr]++
		protos[r.Proto]++
		if string(body) != string(note.Body) || r.Header.Get("User-Agent") != "Test Agent" {
			extra = append(extra, "wrong body or agent")
		}
	})
	s := loopbackSender(t, trust(server))
	if r := send(s, server.URL); r.Class != push.Success {
		t.Fatalf("%+v", r)
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if r := send(s, server.URL); r.Class != push.Success {
				t.Errorf("%+v", r)
			}
		})
	}
	all.Wait()
	if len(remotes) != 1 || protos["HTTP/2.0"] != 21 || extra != nil {
		t.Errorf("connections %v, protocols %v, unexpected %v", remotes, protos, extra)
	}
}

func TestHTTP1IsSpokenToAnHTTPSEndpointThatKnowsNoBetter(t *testing.T) {
	proto := make(chan string, 1)
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { proto <- r.Proto }))
	defer server.Close()
	if r := send(loopbackSender(t, trust(server)), server.URL); r.Class != push.Success {
		t.Fatalf("%+v", r)
	}
	if p := <-proto; p != "HTTP/1.1" {
		t.Errorf("spoke %s", p)
	}
}

func TestACallerThatGivesUpGetsAResultAtOnce(t *testing.T) {
	arrived := make(chan struct{})
	url := listen(t, func(c net.Conn, _ int) {
		readRequest(c)
		close(arrived)
	})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-arrived
		cancel()
	}()
	began := time.Now()
	r := loopbackSender(t).Send(ctx, url, note)
	if r.Class != push.Retryable || !r.Connected || time.Since(began) > 5*time.Second {
		t.Errorf("%+v after %s", r, time.Since(began))
	}
}

func TestAnEmptyBodyIsSentAsOne(t *testing.T) {
	length := make(chan int64, 1)
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) { length <- r.ContentLength })
	r := loopbackSender(t).Send(context.Background(), server.URL, envelope.Request{})
	if n := <-length; r.Class != push.Success || n != 0 {
		t.Errorf("%+v, length %d", r, n)
	}
}

func TestConcurrentSendsToManyHostsAllArrive(t *testing.T) {
	var got atomic.Int32
	s := loopbackSender(t)
	var all sync.WaitGroup
	for range 20 {
		server := serve(t, func(_ http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if string(body) == string(note.Body) {
				got.Add(1)
			}
		})
		for range 20 {
			all.Go(func() {
				if r := send(s, server.URL); r.Class != push.Success {
					t.Errorf("%+v", r)
				}
			})
		}
	}
	all.Wait()
	if got.Load() != 400 {
		t.Errorf("%d of 400 bodies arrived whole", got.Load())
	}
}
