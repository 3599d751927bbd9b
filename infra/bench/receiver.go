package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The receiver is the subscriber: an ordinary net/http server. The first part
// of the path says how it behaves, the last is the subscription's index:
//
//	/s/<i>          200 at once
//	/busy/<i>       503 always
//	/flaky/<k>/<i>  503 to the first k attempts of a message, then 200
//	/tenth/<i>      503 to the first attempt of every tenth message, then 200
//	/hold/<i>       no answer until the run is released, then 200
//	/late/<i>       503 to the first attempt of a message, then as /hold/
//	/hang/<i>       no answer, ever
//
// It confirms every subscription by visiting its SubscribeURL, whatever the path.
type receiver struct {
	run       atomic.Pointer[tally]
	confirmed atomic.Int64
	confirm   confirmer
	// answers to messages of a run that is over
	stale atomic.Int64
	// faults are requests that no server should make.
	mu     sync.Mutex
	faults []string
}

var bodies = sync.Pool{New: func() any { b := make([]byte, 0, 4096); return &b }}

// maxBody bounds what is read of a request.
const maxBody = 1 << 20

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	arrived := time.Now()
	buf := bodies.Get().(*[]byte)
	defer bodies.Put(buf)
	body, err := readInto((*buf)[:0], io.LimitReader(req.Body, maxBody))
	*buf = body
	if err != nil {
		return // the sender broke off
	}
	if kind := req.Header.Get("X-Amz-Sns-Message-Type"); kind != "Notification" {
		r.control(w, kind, body)
		return
	}
	m, offset, ok := findMarker(body)
	if !ok {
		r.fault("a notification came without the message that was published")
		w.WriteHeader(http.StatusOK)
		return
	}
	t := r.run.Load()
	if t == nil || t.id != m.Run {
		r.stale.Add(1)
		w.WriteHeader(http.StatusOK)
		return
	}
	lane, sub := split(req.URL.Path)
	if sub < 0 || sub >= len(t.subs) {
		r.fault("a notification came to a path that nothing subscribes: " + req.URL.Path)
		w.WriteHeader(http.StatusOK)
		return
	}
	t.keepSample(req.Header, body, offset)
	t.serve(w, req, arrival{lane: lane, sub: sub, marker: m, at: arrived})
}

// control answers what is no notification.
func (r *receiver) control(w http.ResponseWriter, kind string, body []byte) {
	w.WriteHeader(http.StatusOK)
	if kind != "SubscriptionConfirmation" {
		r.fault("a request came with the message type " + strconv.Quote(kind))
		return
	}
	link, err := subscribeURL(body)
	if err != nil {
		r.fault(err.Error())
		return
	}
	go func() {
		if err := r.confirm.visit(link); err != nil {
			r.fault(err.Error())
			return
		}
		r.confirmed.Add(1)
	}()
}

// fault notes what a server did wrong; the first few are kept.
func (r *receiver) fault(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.faults) < 5 {
		r.faults = append(r.faults, text)
	}
}

// split reads "/flaky/3/17" into "flaky/3" and 17; the index is -1 where there
// is none.
func split(path string) (lane string, sub int) {
	i := strings.LastIndexByte(path, '/')
	if i < 1 {
		return "", -1
	}
	sub, err := strconv.Atoi(path[i+1:])
	if err != nil {
		return "", -1
	}
	return path[1:i], sub
}

// readInto appends all of r to b.
func readInto(b []byte, r io.Reader) ([]byte, error) {
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		} else if err != nil {
			return b, err
		}
	}
}

// runReceiver serves until in ends.
func runReceiver(ctx context.Context, in io.Reader, out io.Writer) error {
	r := &receiver{confirm: newConfirmer()}
	live, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mortal, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: r, ReadHeaderTimeout: 20 * time.Second}
	dying := &http.Server{Handler: r, ReadHeaderTimeout: 20 * time.Second}
	defer server.Close()
	defer dying.Close()
	go server.Serve(live)  //nolint:errcheck // ends with Close
	go dying.Serve(mortal) //nolint:errcheck // ends with Close
	return serveCommands(ctx, in, out, r.commands("http://"+live.Addr().String(), dying, mortal.Addr().(*net.TCPAddr)))
}
