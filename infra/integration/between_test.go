//go:build integration

package integration

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
)

// between stands between a stack's functions and AWS: it counts their calls, and
// fails those that a test wants to fail, with AWS's own answers.
type between struct {
	url string

	mu    sync.Mutex
	calls []call
	fault func(call) *fault
}

// call is one try of one call. The operation is SQS's, DynamoDB's or Scheduler's.
type call struct {
	operation, body string
}

// write reports whether the call changes the table.
func (c call) write() bool {
	switch c.operation {
	case "PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem":
		return true
	}
	return false
}

// send reports whether the call puts messages into a queue.
func (c call) send() bool { return c.operation == "SendMessage" || c.operation == "SendMessageBatch" }

// fault is an error of AWS's.
type fault struct {
	status  int
	code    string
	message string
}

// Answers that AWS gives.
var (
	broken    = &fault{http.StatusInternalServerError, "InternalServerError", "Internal server error"}
	throttled = &fault{http.StatusTooManyRequests, "ThrottlingException", "Rate exceeded"}
)

// stand puts a between in front of AWS for the functions named.
func stand(t *testing.T, s *stack, functions ...string) *between {
	t.Helper()
	to, err := url.Parse(os.Getenv("AWS_ENDPOINT_URL"))
	if err != nil {
		t.Fatal(err)
	}
	b := &between{}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host // the signature covers it
	}, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { b.pass(proxy, w, r) }))
	t.Cleanup(server.Close)
	b.url = server.URL
	for _, f := range functions {
		s.change(f, map[string]string{"AWS_ENDPOINT_URL_DYNAMODB": b.url, "AWS_ENDPOINT_URL_SQS": b.url, "AWS_ENDPOINT_URL_SCHEDULER": b.url})
	}
	return b
}

func (b *between) pass(proxy http.Handler, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the function has gone
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	c := call{operationOf(r), string(body)}
	b.mu.Lock()
	b.calls = append(b.calls, c)
	fail := b.fault
	b.mu.Unlock()
	if fail != nil {
		if f := fail(c); f != nil {
			f.answer(w)
			return
		}
	}
	proxy.ServeHTTP(w, r)
}

// answer is the fault as the JSON protocols have it (AWS JSON 1.0 and REST JSON).
func (f *fault) answer(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.Header().Set("X-Amzn-Errortype", f.code)
	body := fmt.Appendf(nil, `{"__type":"com.amazonaws#%s","message":%q}`, f.code, f.message)
	w.Header().Set("X-Amz-Crc32", fmt.Sprint(crc32.ChecksumIEEE(body))) // DynamoDB's; others' clients ignore it
	w.WriteHeader(f.status)
	_, _ = w.Write(body) // the function may have gone
}

// operationOf reads the operation of a JSON protocol's target, or Scheduler's one.
func operationOf(r *http.Request) string {
	if target := r.Header.Get("X-Amz-Target"); target != "" {
		return target[strings.IndexByte(target, '.')+1:]
	}
	if r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/schedules/") {
		return "CreateSchedule"
	}
	return r.Method + " " + r.URL.Path
}

// failing lets the calls fail for which which gives a fault, nil ends it.
func (b *between) failing(which func(call) *fault) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fault = which
}

// take gives the calls so far and begins anew.
func (b *between) take() (calls []call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	calls, b.calls = b.calls, nil
	return calls
}

// count is how many calls are of a kind.
func count(calls []call, kind func(call) bool) (n int) {
	for _, c := range calls {
		if kind(c) {
			n++
		}
	}
	return n
}
