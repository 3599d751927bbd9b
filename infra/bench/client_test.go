package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var front = &url.URL{Scheme: "http", Host: "127.0.0.1:4575", Path: "/"}

const arn = "arn:aws:sns:us-east-1:000000000000:t"

func TestPublicationsAreFormsThatCarryTheirMessages(t *testing.T) {
	for _, batch := range []int{1, 10} {
		l := publication(front, arn, batch)
		l.fill(marker{3, 40, 5})
		form, err := url.ParseQuery(string(l.body))
		if err != nil {
			t.Fatal(err)
		}
		if form.Get("TopicArn") != arn || form.Get("Version") != "2010-03-31" {
			t.Errorf("batch of %d: %v", batch, form)
		}
		for i := range batch {
			message, action := form.Get("Message"), "Publish"
			if batch > 1 {
				message, action = form.Get(fmt.Sprintf("PublishBatchRequestEntries.member.%d.Message", i+1)), "PublishBatch"
				if form.Get(fmt.Sprintf("PublishBatchRequestEntries.member.%d.Id", i+1)) == "" {
					t.Errorf("entry %d has no id", i+1)
				}
			}
			m, offset, ok := findMarker([]byte(message))
			want := marker{Run: 3, Seq: 40 + int64(i), At: 5}
			if form.Get("Action") != action || len(message) != messageLen || !ok || offset != 0 || m != want {
				t.Errorf("batch of %d: %s of %d bytes with %+v, want %+v", batch, form.Get("Action"), len(message), m, want)
			}
		}
	}
}

func TestAStraightPOSTIsTheSampleWithANewMarker(t *testing.T) {
	message := newMessage()
	marker{Run: 1, Seq: 1, At: 1}.put(message)
	s := sample{
		Header: http.Header{"User-Agent": {"x"}, "Content-Length": {"9"}, "Connection": {"close"}},
		Body:   append([]byte(`{"Message":"`), message...), Offset: 12,
	}
	l := straight(front, s)
	l.fill(marker{2, 3, 4})
	if diff := cmp.Diff(http.Header{"User-Agent": {"x"}}, l.header); diff != "" {
		t.Error(diff)
	}
	m, _, _ := findMarker(l.body)
	if m != (marker{2, 3, 4}) || len(l.body) != len(s.Body) || !bytes.Equal(l.body[:12], s.Body[:12]) {
		t.Errorf("%+v in %q", m, l.body)
	}
	if old, _, _ := findMarker(s.Body); old.Run != 1 {
		t.Error("the sample itself was changed")
	}
}

func TestAnAnswerCountsWhenItHasAnIDForEveryMessage(t *testing.T) {
	for _, c := range []struct {
		status int
		answer string
		n      int
		ok     bool
	}{
		{200, "<MessageId>a</MessageId>", 1, true},
		{200, "<MessageId>a</MessageId><Failed><member/></Failed>", 2, false},
		{200, "", 1, false},
		{500, "<MessageId>a</MessageId>", 1, false},
	} {
		if err := accepted(c.status, []byte(c.answer), c.n); (err == nil) != c.ok {
			t.Errorf("%d %q for %d: %v", c.status, c.answer, c.n, err)
		}
	}
}

// serverFunc answers requests in process.
type serverFunc func(body []byte) (status int)

func (f serverFunc) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: f(body), Body: io.NopCloser(strings.NewReader(""))}, nil
}

// to makes the senders of single messages to a server.
func to(server http.RoundTripper) func() sender {
	return func() sender { return posting(server, ok200, []letter{publication(front, arn, 1)}) }
}

func TestAClosedLoopSendsEveryNumberOnceUntilTheCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		seen := map[int64]int{}
		server := serverFunc(func(body []byte) int {
			m, _, _ := findMarker(body)
			mu.Lock()
			defer mu.Unlock()
			seen[m.Seq]++
			return http.StatusOK
		})
		r, err := drive(context.Background(), time.Sleep, 1, load{Clients: 4, Batch: 1, For: time.Hour, Count: 100}, to(server))
		if err != nil || r.Tried != 100 || r.Failed != 0 || r.Accepted.count() != 100 || len(seen) != 100 {
			t.Errorf("%+v, %v; %d distinct", r, err, len(seen))
		}
	})
}

func TestAFailedCallIsNotAcceptedAndMayEndItsPublisher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := serverFunc(func(body []byte) int {
			if m, _, _ := findMarker(body); m.Seq == 2 {
				return http.StatusInternalServerError
			}
			return http.StatusOK
		})
		l := load{Clients: 1, Batch: 1, For: time.Hour, Count: 5}
		r, err := drive(context.Background(), time.Sleep, 1, l, to(server))
		if err != nil || r.Tried != 5 || r.Failed != 1 || r.Accepted.has(2) || !r.Accepted.has(4) || r.Error == "" {
			t.Errorf("%+v, %v", r, err)
		}
		l.StopOnError = true
		if r, err = drive(context.Background(), time.Sleep, 1, l, to(server)); err != nil || r.Tried != 3 || r.Accepted.count() != 2 {
			t.Errorf("%+v, %v; want to stop after the third", r, err)
		}
	})
}

func TestAnOpenLoopKeepsItsTimesAndChargesAStallToAllWhoWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var first sync.Once
		server := serverFunc(func([]byte) int {
			first.Do(func() { <-time.After(time.Second) })
			return http.StatusOK
		})
		// One publisher, 10 a second for 2 s; the first call stalls for 1 s, so
		// that the next ten are late by 0.9 s, 0.8 s …
		r, err := drive(context.Background(), time.Sleep, 1, load{Clients: 1, Batch: 1, For: 2 * time.Second, Rate: 10}, to(server))
		if err != nil || r.Tried != 20 {
			t.Fatalf("%+v, %v; want 20 sent", r, err)
		}
		if r.Latency.P50US > 1000 && r.Latency.P50US < 50_000 || r.Latency.MaxUS < 999_000 || r.Late.MaxUS < 899_000 {
			t.Errorf("%+v: latency up to 1 s and lateness up to 0.9 s were to be seen", r)
		}
		slow := 0
		for _, ms := range []float64{r.Latency.P50(), r.Latency.P99()} {
			if ms > 50 {
				slow++
			}
		}
		if slow == 0 {
			t.Errorf("%+v hides the stall", r.Latency)
		}
	})
}

func TestALoadWithoutEndIsRefused(t *testing.T) {
	for _, l := range []load{{Batch: 1, For: 1}, {Clients: 1, For: 1}, {Clients: 1, Batch: 1}} {
		if _, err := drive(context.Background(), time.Sleep, 1, l, to(serverFunc(nil))); err == nil {
			t.Errorf("%+v was driven", l)
		}
	}
}
