//go:build integration

package integration

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// pushed is what an endpoint got.
type pushed struct {
	Type, MessageId, TopicArn, Subject, Message, Timestamp, Token, SubscribeURL, UnsubscribeURL string //nolint:revive // SNS's names
	SignatureVersion, Signature, SigningCertURL                                                 string

	body   string
	path   string
	header http.Header
	// at is when it came and answered just before the sender knows the answer;
	// both by the wall clock, which the functions go by too.
	at, answered time.Time
}

// answer is what an endpoint does with a push.
type answer func(w http.ResponseWriter, r *http.Request)

func status(code int) answer {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// endpoint is a subscriber on loopback.
type endpoint struct {
	t      *testing.T
	url    string
	got    chan pushed
	server *httptest.Server

	mu     sync.Mutex
	script map[string][]answer
}

// listen starts an endpoint that answers 200 to everything that no script says
// otherwise of.
func listen(t *testing.T) *endpoint {
	t.Helper()
	e := unstarted(t)
	e.serve(httptest.NewServer(e))
	return e
}

func unstarted(t *testing.T) *endpoint {
	return &endpoint{t: t, got: make(chan pushed, 2000), script: map[string][]answer{}}
}

func (e *endpoint) serve(server *httptest.Server) {
	e.t.Cleanup(server.Close)
	e.server, e.url = server, server.URL+"/hook"
}

// answer names the answers to notifications, one after another, the last for ever.
func (e *endpoint) answer(statuses ...int) {
	answers := make([]answer, len(statuses))
	for i, s := range statuses {
		answers[i] = status(s)
	}
	e.on("Notification", answers...)
}

// on is answer for pushes of one type.
func (e *endpoint) on(messageType string, answers ...answer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.script[messageType] = answers
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Now().Round(0)
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender has gone, and will come again
	}
	p := pushed{body: string(b), path: r.URL.Path, header: r.Header, at: at}
	_ = json.Unmarshal(b, &p) // raw pushes are no JSON
	defer func() {
		p.answered = time.Now().Round(0)
		e.got <- p
	}()
	e.reply(r.Header.Get("X-Amz-Sns-Message-Type"))(w, r)
}

func (e *endpoint) reply(messageType string) answer {
	e.mu.Lock()
	defer e.mu.Unlock()
	left := e.script[messageType]
	if len(left) == 0 {
		return status(http.StatusOK)
	}
	if len(left) > 1 {
		e.script[messageType] = slices.Clone(left[1:])
	}
	return left[0]
}

// next waits for a push.
func (e *endpoint) next() pushed {
	e.t.Helper()
	select {
	case p := <-e.got:
		return p
	case <-time.After(patience):
		e.t.Fatal("nothing was pushed")
		return pushed{}
	}
}

// late is by how much a busy machine may be late, beyond a queue's whole seconds
// and the tenth that jitter adds. Early is never.
const late = 30 * time.Second

// after waits for the push that comes delay after another was answered.
func (e *endpoint) after(last pushed, delay time.Duration) pushed {
	e.t.Helper()
	p := e.next()
	switch gap := p.at.Sub(last.answered); {
	case gap < delay:
		e.t.Errorf("it came %v after the one before was answered, early: the policy says %v", gap, delay)
	case gap > delay+delay/10+time.Second+late:
		e.t.Errorf("it came %v after the one before was answered, late: the policy says %v", gap, delay)
	}
	return p
}

// quiet fails when something was pushed that nobody has taken, or is within d.
func (e *endpoint) quiet(d time.Duration) {
	e.t.Helper()
	var p pushed
	select {
	case p = <-e.got:
	case <-time.After(d):
		// Of two that are ready, select takes either.
		if len(e.got) == 0 {
			return
		}
		p = <-e.got
	}
	e.t.Errorf("pushed was %.2000s", p.body)
}

// messages waits for n pushes and counts them by message.
func (e *endpoint) messages(n int) map[string]int {
	e.t.Helper()
	got := map[string]int{}
	for range n {
		got[e.next().Message]++
	}
	return got
}

// once waits for as many pushes as there are messages: one of each.
func (e *endpoint) once(messages ...string) {
	e.t.Helper()
	got := e.messages(len(messages))
	for _, m := range messages {
		if got[m] != 1 {
			e.t.Errorf("%q was pushed %d times, want once", m, got[m])
		}
	}
}

func fetch(t *testing.T, url string) (status int, body []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err = io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, body
}
