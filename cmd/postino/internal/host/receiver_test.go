package host_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// arrival is one push as an endpoint got it.
type arrival struct {
	path   string
	header http.Header
	body   []byte
	at     time.Time
	// nth counts the pushes of this message to this path, from 1.
	nth int
}

// id is the message id. Header names stand in lower case on the wire.
func (a arrival) id() string { return a.header.Get("x-amz-sns-message-id") }

// answer is what an endpoint does with a push; 0 hangs until the other side
// gives up or the test ends.
type answer func(a arrival) (status int)

// statuses answers the first push of a message with the first, and so on; the
// last one stands for all that follow.
func statuses(s ...int) answer {
	return func(a arrival) int { return s[min(a.nth, len(s))-1] }
}

const hang = 0

// receiver is an HTTP endpoint. Pushes of notifications come out of got,
// confirmations by their path.
type receiver struct {
	*httptest.Server
	got chan arrival

	mu            sync.Mutex
	reply         answer
	seen          map[string]int
	confirmations map[string]chan arrival
	release       chan struct{}
}

func receive(t *testing.T, reply answer) *receiver {
	r := &receiver{got: make(chan arrival, 100_000), reply: reply, seen: map[string]int{}, confirmations: map[string]chan arrival{}, release: make(chan struct{})}
	r.Server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(r.end)
	return r
}

// end lets what hangs go.
func (r *receiver) end() {
	close(r.release)
	r.Close()
}

func (r *receiver) serve(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	a := arrival{path: req.URL.Path, header: req.Header, body: body, at: time.Now()}
	if k := a.header.Get("x-amz-sns-message-type"); k != "Notification" {
		r.box(k + a.path) <- a
		return
	}
	r.mu.Lock()
	r.seen[a.path+a.id()]++
	a.nth = r.seen[a.path+a.id()]
	reply := r.reply
	r.mu.Unlock()
	r.got <- a
	status := reply(a)
	if status == hang {
		select {
		case <-req.Context().Done():
		case <-r.release:
		}
		return
	}
	w.Header().Set("Location", "/elsewhere")
	w.WriteHeader(status)
}

// answer changes what the endpoint does from now on.
func (r *receiver) answer(reply answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reply = reply
}

func (r *receiver) box(name string) chan arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.confirmations[name] == nil {
		r.confirmations[name] = make(chan arrival, 10)
	}
	return r.confirmations[name]
}

// confirmation is what an endpoint of this receiver is asked to confirm with.
func (r *receiver) confirmation(t *testing.T, endpoint string) arrival {
	t.Helper()
	return next(t, r.box("SubscriptionConfirmation"+strings.TrimPrefix(endpoint, r.URL)))
}

// at is the URL of one of the receiver's endpoints.
func (r *receiver) at(path string) string { return r.URL + path }

// next takes the next of a channel.
func next[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal("nothing comes")
		panic("unreachable")
	}
}

// take takes the next n.
func take[T any](t *testing.T, c <-chan T, n int) []T {
	t.Helper()
	out := make([]T, n)
	for i := range out {
		out[i] = next(t, c)
	}
	return out
}

// nothing fails the test if anything is left in c.
func (r *receiver) nothing(t *testing.T) {
	t.Helper()
	select {
	case a := <-r.got:
		t.Errorf("push %d of message %s to %s was one too many", a.nth, a.id(), a.path)
	default:
	}
}
