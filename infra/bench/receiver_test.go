package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// notify sends one message to the receiver and gives the status.
func notify(t *testing.T, r *receiver, path string, m marker) int {
	t.Helper()
	message := newMessage()
	m.put(message)
	req := httptest.NewRequest(http.MethodPost, path, strings.NewReader(string(message)))
	req.Header.Set("X-Amz-Sns-Message-Type", "Notification")
	w := httptest.NewRecorder()
	r.ServeHTTP(w, req)
	return w.Code
}

func begun(run uint32, subs int, wait time.Duration) *receiver {
	r := &receiver{}
	r.run.Store(newTally(run, subs, wait))
	return r
}

func TestTheReceiverTellsNewMessagesFromDuplicatesAndStaleOnes(t *testing.T) {
	r := begun(7, 2, 0)
	for _, m := range []struct {
		path string
		m    marker
	}{
		{"/s/0", marker{7, 0, 1}}, {"/s/1", marker{7, 0, 1}}, {"/s/1", marker{7, 1, 1}},
		{"/s/0", marker{7, 0, 1}}, // again
		{"/s/0", marker{6, 5, 1}}, // of an earlier run
	} {
		if code := notify(t, r, m.path, m.m); code != http.StatusOK {
			t.Errorf("%s answers %d", m.path, code)
		}
	}
	p := r.progress()
	if p.Unique != 3 || p.Duplicates != 1 || p.Stale != 1 || len(p.Faults) != 0 {
		t.Errorf("%+v, want 3 new, 1 duplicate, 1 stale, no faults", p)
	}
	var accepted bitmap
	accepted.add(0)
	accepted.add(1)
	if n := r.run.Load().missing(accepted, 1); n != 1 {
		t.Errorf("%d missing, want 1: message 1 at subscription 0", n)
	}
	if n := r.run.Load().missing(accepted, 2); n != 0 {
		t.Errorf("%d missing over two topics, want 0: message n is for subscription n", n)
	}
}

func TestWhatNoServerShouldSendIsAFault(t *testing.T) {
	r := begun(1, 1, 0)
	notify(t, r, "/s/9", marker{Run: 1})
	notify(t, r, "/s/x", marker{Run: 1})
	for _, kind := range []string{"Notification", "", "SubscriptionConfirmation"} {
		req := httptest.NewRequest(http.MethodPost, "/s/0", strings.NewReader("{}"))
		req.Header.Set("X-Amz-Sns-Message-Type", kind)
		r.ServeHTTP(httptest.NewRecorder(), req)
	}
	if p := r.progress(); len(p.Faults) != 5 || p.Unique != 0 {
		t.Errorf("%d faults, want 5: %q", len(p.Faults), p.Faults)
	}
}

func TestOnlyLoopbackSubscribeURLsAreVisited(t *testing.T) {
	for link, ok := range map[string]bool{
		"http://127.0.0.1:4575/?Action=ConfirmSubscription&Token=ab": true,
		"http://[::1]:4575/":         true,
		"http://192.0.2.1/":          false,
		"http://localhost.example/":  false,
		"https://127.0.0.1/":         false,
		"http://127.0.0.1@192.0.2.1": false,
		"":                           false,
	} {
		body, err := json.Marshal(map[string]string{"SubscribeURL": link})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := subscribeURL(body); (err == nil) != ok || ok && got != link {
			t.Errorf("%q: %q, %v", link, got, err)
		}
	}
}

func TestAFlakyMessageIsRefusedSoOftenAndItsRetriesAreTimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := begun(1, 1, time.Second)
		want := []int{503, 503, 200}
		for i, gap := range []time.Duration{0, time.Second + 30*time.Millisecond, time.Second - 2*time.Millisecond} {
			<-time.After(gap)
			if code := notify(t, r, "/flaky/2/0", marker{Run: 1, At: 1}); code != want[i] {
				t.Errorf("attempt %d answers %d, want %d", i+1, code, want[i])
			}
		}
		f := &r.run.Load().flaky
		if n, late := f.lateness.TotalCount(), f.lateness.Max(); n != 2 || late < 29_900 || late > 30_100 {
			t.Errorf("%d retries, %d µs late at most; want 2 and 30,000", n, late)
		}
		if f.earliest != -2*time.Millisecond {
			t.Errorf("the earliest retry was %s behind its delay, want -2ms", f.earliest)
		}
		if p := r.progress(); p.Unique != 1 || p.Refused != 2 {
			t.Errorf("%+v, want 1 delivered, 2 refused", p)
		}
	})
}

func TestABusyLaneCountsWhatItRefuses(t *testing.T) {
	r := begun(1, 1, 0)
	for range 2 {
		if code := notify(t, r, "/busy/0", marker{Run: 1, Seq: 4}); code != http.StatusServiceUnavailable {
			t.Errorf("answers %d", code)
		}
	}
	if p := r.progress(); p.Unique != 1 || p.Duplicates != 1 || p.Refused != 2 {
		t.Errorf("%+v, want 1 new and 1 again", p)
	}
}

func TestWhatWasHeldWhenItsConnectionBrokeIsInFlightUntilItComesAgain(t *testing.T) {
	r := begun(1, 2, 0)
	hold := func(ctx context.Context, path string, seq int64) (done chan int) {
		message := newMessage()
		marker{Run: 1, Seq: seq}.put(message)
		req := httptest.NewRequest(http.MethodPost, path, strings.NewReader(string(message))).WithContext(ctx)
		req.Header.Set("X-Amz-Sns-Message-Type", "Notification")
		done = make(chan int, 1)
		go func() {
			w := httptest.NewRecorder()
			r.ServeHTTP(w, req)
			done <- w.Body.Len()
		}()
		return done
	}
	synctest.Test(t, func(t *testing.T) {
		r.run.Store(newTally(1, 2, 0))
		broke, cancel := context.WithCancel(t.Context())
		if code := notify(t, r, "/late/1", marker{Run: 1, Seq: 5}); code != http.StatusServiceUnavailable {
			t.Errorf("the late lane answers %d to a first attempt", code)
		}
		a, b, c := hold(broke, "/hold/0", 0), hold(broke, "/hold/0", 1), hold(broke, "/late/1", 5)
		synctest.Wait()
		if p := r.progress(); p.Held != 3 || p.Unique != 0 {
			t.Errorf("%d held, %d counted; want 3 and 0", p.Held, p.Unique)
		}
		cancel()
		<-a
		<-b
		<-c
		if p := r.progress(); p.Held != 0 || p.Unique != 0 {
			t.Errorf("%d held, %d counted after the break; want none", p.Held, p.Unique)
		}
		r.run.Load().held.release()
		for _, seq := range []int64{1, 1, 7} { // 1 comes twice, 7 was never in flight, 0 does not come
			notify(t, r, "/hold/0", marker{Run: 1, Seq: seq})
		}
		notify(t, r, "/late/1", marker{Run: 1, Seq: 5})
		rs := r.run.Load().resumptions()
		if rs[0].InFlight != 2 || rs[0].Back != 1 || rs[1].InFlight != 1 || rs[1].Back != 1 || rs[0].First == 0 {
			t.Errorf("%+v, want 1 of 2 and 1 of 1 back", rs)
		}
		if rs[0].Duplicates != 1 || rs[1].Duplicates != 0 {
			t.Errorf("%+v, want the one duplicate at subscription 0", rs)
		}
		if p := r.progress(); p.Unique != 3 || p.Duplicates != 1 {
			t.Errorf("%+v, want 3 delivered and 1 duplicate", p)
		}
	})
}

func TestHeldRequestsAreAnsweredWhenReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := begun(1, 1, 0)
		code := make(chan int, 1)
		go func() { code <- notify(t, r, "/hold/0", marker{Run: 1}) }()
		synctest.Wait()
		r.run.Load().held.release()
		if got := <-code; got != http.StatusOK {
			t.Errorf("answers %d", got)
		}
		if rs := r.run.Load().resumptions(); rs[0].InFlight != 0 {
			t.Errorf("%+v is in flight though it was answered", rs)
		}
	})
}

func TestADeadPortRefusesAndIsNoSource(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().(*net.TCPAddr)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := keepClosed(addr); err != nil {
		t.Fatal(err)
	}
	if c, err := net.Dial("tcp4", addr.String()); err == nil {
		c.Close()
		t.Error("a dead port takes connections")
	}
	other, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	from := net.Dialer{LocalAddr: addr}
	if c, err := from.Dial("tcp4", other.Addr().String()); err == nil {
		c.Close()
		t.Error("a dead port was the source of a connection")
	}
}

func TestWorkersAnswerInOrderAndSayWhatIsWrong(t *testing.T) {
	var out strings.Builder
	in := strings.NewReader(`{"name":"double","args":21}` + "\n" + `{"name":"dance"}` + "\n" + `{"name":"double","args":"x"}`)
	err := serveCommands(context.Background(), in, &out, map[string]handler{
		"double": handle(func(_ context.Context, n int) (int, error) { return 2 * n, nil }),
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || lines[0] != `{"result":42}` || lines[1] != `{"error":"no such command"}` || !strings.Contains(lines[2], "error") {
		t.Errorf("answered %q", lines)
	}
	if err := serveCommands(context.Background(), strings.NewReader("nonsense"), io.Discard, nil); err == nil {
		t.Error("no error from nonsense")
	}
}
