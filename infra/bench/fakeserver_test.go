package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary is run again as receiver, as client and, for "serve", as a
// fake server.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "receiver", "client":
			os.Exit(dispatch(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
		case "serve":
			os.Exit(serveFake(os.Args[2:]))
		}
	}
	goleak.VerifyTestMain(m)
}

// faultVariable makes the fake server wrong in one way: "early" retries before
// the delay is over, "forgetful" loses what is under way in a crash,
// "duplicating" pushes everything twice, "failing" refuses every tenth publish.
const faultVariable = "BENCH_FAKE_FAULT"

// fakeServer is as much of an SNS server as the bench needs: topics,
// subscriptions, publishing, fixed retry delays, and a log that it reads again
// at its start. It is not fast, and no model of Postino.
type fakeServer struct {
	url, fault string
	push       *http.Client

	mu     sync.Mutex
	log    *os.File
	topics map[string][]*fakeSub
	subs   []*fakeSub
	done   map[string]bool
	count  atomic.Int64
	late   [2]atomic.Int64 // retries, those later than 50 ms
}

type fakeSub struct {
	Topic, Endpoint string
	Raw             bool
	Wait            time.Duration
	Retries, Index  int
	Confirmed       bool
}

// entry is one line of the log.
type entry struct {
	Topic   string `json:",omitempty"`
	Sub     *fakeSub
	Confirm int `json:",omitempty"` // index + 1
	Message *fakeMessage
	Done    string `json:",omitempty"`
}

type fakeMessage struct{ ID, Topic, Body string }

// serveFake is called with --listen ADDRESS --data FOLDER.
func serveFake(args []string) int {
	listen, data := args[1], args[3]
	f := &fakeServer{
		url: "http://" + listen, fault: os.Getenv(faultVariable),
		push:   &http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 256}},
		topics: map[string][]*fakeSub{}, done: map[string]bool{},
	}
	pending, err := f.open(filepath.Join(data, "log"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if f.fault != "forgetful" {
		for _, m := range pending {
			f.fanOut(m)
		}
	}
	fmt.Fprintln(os.Stderr, http.ListenAndServe(listen, f))
	return 1
}

// open reads the log and gives the messages in it.
func (f *fakeServer) open(path string) (messages []*fakeMessage, err error) {
	if f.log, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(f.log)
	for lines.Scan() {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, err
		}
		f.apply(e)
		if e.Message != nil {
			messages = append(messages, e.Message)
		}
	}
	return messages, lines.Err()
}

func (f *fakeServer) apply(e entry) {
	switch {
	case e.Sub != nil:
		e.Sub.Index = len(f.subs)
		f.subs = append(f.subs, e.Sub)
		f.topics[e.Sub.Topic] = append(f.topics[e.Sub.Topic], e.Sub)
	case e.Confirm > 0:
		f.subs[e.Confirm-1].Confirmed = true
	case e.Done != "":
		f.done[e.Done] = true
	}
}

// write logs e, and applies it.
func (f *fakeServer) write(e entry) {
	line, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.apply(e)
	if _, err := f.log.Write(append(line, '\n')); err != nil {
		panic(err)
	}
}

func (f *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/healthz":
		return
	case "/metrics":
		n, slow := f.late[0].Load(), f.late[1].Load()
		fmt.Fprintf(w, "# TYPE go_memstats_mallocs_total counter\ngo_memstats_mallocs_total %d\n", 7*f.count.Load())
		fmt.Fprintf(w, "# TYPE postino_retry_lateness_seconds histogram\npostino_retry_lateness_seconds_bucket{le=\"0.05\"} %d\n"+
			"postino_retry_lateness_seconds_bucket{le=\"+Inf\"} %d\npostino_retry_lateness_seconds_sum 0\npostino_retry_lateness_seconds_count %d\n", n-slow, n, n)
		return
	}
	if err := r.ParseForm(); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	switch r.Form.Get("Action") {
	case "CreateTopic":
		fmt.Fprintf(w, "<TopicArn>arn:aws:sns:us-east-1:000000000000:%s</TopicArn>", r.Form.Get("Name"))
	case "Subscribe":
		f.subscribe(r)
	case "ConfirmSubscription":
		i, _ := strconv.Atoi(r.Form.Get("Token"))
		f.write(entry{Confirm: i})
	case "Publish":
		f.publish(w, r.Form.Get("TopicArn"), r.Form.Get("Message"))
	case "PublishBatch":
		for i := 1; r.Form.Has(fmt.Sprintf("PublishBatchRequestEntries.member.%d.Id", i)); i++ {
			f.publish(w, r.Form.Get("TopicArn"), r.Form.Get(fmt.Sprintf("PublishBatchRequestEntries.member.%d.Message", i)))
		}
	default:
		w.WriteHeader(http.StatusBadRequest)
	}
}

var policyNumbers = regexp.MustCompile(`"minDelayTarget":(\d+).*"numRetries":(\d+)`)

func (f *fakeServer) subscribe(r *http.Request) {
	s := &fakeSub{Topic: r.Form.Get("TopicArn"), Endpoint: r.Form.Get("Endpoint"), Wait: 20 * time.Second, Retries: 3}
	for i := 1; r.Form.Has(fmt.Sprintf("Attributes.entry.%d.key", i)); i++ {
		value := r.Form.Get(fmt.Sprintf("Attributes.entry.%d.value", i))
		switch r.Form.Get(fmt.Sprintf("Attributes.entry.%d.key", i)) {
		case "RawMessageDelivery":
			s.Raw = value == "true"
		case "DeliveryPolicy":
			m := policyNumbers.FindStringSubmatch(value)
			seconds, _ := strconv.Atoi(m[1])
			s.Wait = time.Duration(seconds) * time.Second
			s.Retries, _ = strconv.Atoi(m[2])
		}
	}
	f.write(entry{Sub: s})
	body := fmt.Sprintf(`{"Type":"SubscriptionConfirmation","SubscribeURL":"%s/?Action=ConfirmSubscription&Token=%d"}`, f.url, s.Index+1)
	go f.post(s, "SubscriptionConfirmation", []byte(body))
}

func (f *fakeServer) publish(w http.ResponseWriter, topic, body string) {
	n := f.count.Add(1)
	if f.fault == "failing" && n%10 == 0 {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	m := &fakeMessage{ID: strconv.FormatInt(n, 10) + "-" + body[:markerLen], Topic: topic, Body: body}
	f.write(entry{Message: m})
	fmt.Fprintf(w, "<MessageId>%s</MessageId>", m.ID)
	f.fanOut(m)
}

func (f *fakeServer) fanOut(m *fakeMessage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.topics[m.Topic] {
		if key := m.ID + "/" + strconv.Itoa(s.Index); s.Confirmed && !f.done[key] {
			go f.deliver(m, s, key)
		}
	}
}

func (f *fakeServer) deliver(m *fakeMessage, s *fakeSub, key string) {
	body := []byte(m.Body)
	if !s.Raw {
		body, _ = json.Marshal(map[string]string{"Type": "Notification", "Message": m.Body, "Signature": "none"})
	}
	for attempt := 0; ; attempt++ {
		if f.post(s, "Notification", body) {
			if f.fault == "duplicating" {
				f.post(s, "Notification", body)
			}
			f.write(entry{Done: key})
			return
		}
		if attempt == s.Retries {
			return
		}
		wait := s.Wait
		if f.fault == "early" {
			wait /= 2
		}
		due := time.Now().Add(wait)
		<-time.After(wait)
		f.late[0].Add(1)
		if time.Since(due) > 50*time.Millisecond {
			f.late[1].Add(1)
		}
	}
}

func (f *fakeServer) post(s *fakeSub, kind string, body []byte) (ok bool) {
	req, err := http.NewRequest(http.MethodPost, s.Endpoint, bytes.NewReader(body))
	if err != nil {
		return false
	}
	req.Header.Set("X-Amz-Sns-Message-Type", kind)
	req.Header.Set("Content-Type", "text/plain; charset=UTF-8")
	resp, err := f.push.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode < 300
}

// self is the test binary, which TestMain makes a server when asked to serve.
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(path, " ") {
		t.Fatalf("the test binary's path has a space: %s", path)
	}
	return path
}
