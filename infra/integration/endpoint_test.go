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
	header http.Header
	at     time.Time
}

// endpoint is a subscriber on loopback.
type endpoint struct {
	t   *testing.T
	url string
	got chan pushed

	mu       sync.Mutex
	statuses []int
}

// listen starts an endpoint that answers 200, or, to notifications, the statuses
// that answer names, one after another, the last for ever.
func listen(t *testing.T) *endpoint {
	t.Helper()
	e := &endpoint{t: t, got: make(chan pushed, 1000)}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	e.url = server.URL + "/hook"
	return e
}

func (e *endpoint) answer(statuses ...int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.statuses = statuses
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender has gone, and will come again
	}
	p := pushed{body: string(b), header: r.Header, at: time.Now()}
	_ = json.Unmarshal(b, &p) // raw pushes are no JSON
	status := http.StatusOK
	if r.Header.Get("X-Amz-Sns-Message-Type") == "Notification" {
		status = e.status()
	}
	w.WriteHeader(status)
	e.got <- p
}

func (e *endpoint) status() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.statuses) == 0 {
		return http.StatusOK
	}
	status := e.statuses[0]
	if len(e.statuses) > 1 {
		e.statuses = slices.Delete(e.statuses, 0, 1)
	}
	return status
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

// quiet fails when something is pushed within d.
func (e *endpoint) quiet(d time.Duration) {
	e.t.Helper()
	select {
	case p := <-e.got:
		e.t.Errorf("pushed was %s", p.body)
	case <-time.After(d):
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
