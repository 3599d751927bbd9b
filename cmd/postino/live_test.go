package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"postino/shared/operator"
)

// started tells when the server has said its first line.
type started struct {
	line chan string
	said bool
}

func (s *started) Write(p []byte) (int, error) {
	if !s.said {
		s.said = true
		s.line <- string(p)
	}
	return len(p), nil
}

// live runs `postino serve` on a fresh data directory. stop ends it as SIGTERM
// does and gives its exit code.
func live(t *testing.T) (dir string, stop func() int) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	return dir, liveOn(t, dir)
}

// liveOn is live on what dir holds already.
func liveOn(t *testing.T, dir string) (stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out := &started{line: make(chan string, 1)}
	var errs bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		app := &App{Out: out, Err: &errs, Now: time.Now, Getenv: func(string) string { return "" }}
		ended <- run(ctx, app, []string{"serve", "--listen", "127.0.0.1:0", "--data", dir})
	}()
	select {
	case <-out.line:
	case code := <-ended:
		t.Fatalf("serve ended with code %d: %s", code, errs.String())
	}
	stopped := false
	stop = func() int {
		cancel()
		if stopped {
			return 0
		}
		stopped = true
		return <-ended
	}
	t.Cleanup(func() { stop() })
	return stop
}

// endpoint is a subscriber that confirms its subscription and answers
// notifications with status.
func endpoint(t *testing.T, status int) (hook string, confirmed chan struct{}) {
	t.Helper()
	confirmed = make(chan struct{}, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct{ Type, SubscribeURL string }
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		if m.Type != "SubscriptionConfirmation" {
			w.WriteHeader(status)
			return
		}
		resp, err := http.Get(m.SubscribeURL)
		if err != nil || resp.StatusCode != 200 {
			t.Errorf("confirming: %v", err)
			return
		}
		_ = resp.Body.Close()
		confirmed <- struct{}{}
	}))
	t.Cleanup(s.Close)
	return s.URL, confirmed
}

// sns calls the public API of the server on dir and gives the answer's element
// of that name.
func sns(t *testing.T, dir, element string, form url.Values) string {
	t.Helper()
	s, err := operator.ReadServerFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.PostForm(s.URL, form)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // read whole
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%v: %d %s %v", form, resp.StatusCode, b, err)
	}
	for d := xml.NewDecoder(bytes.NewReader(b)); ; {
		token, err := d.Token()
		if err != nil {
			return ""
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == element {
			var text string
			if err := d.DecodeElement(&text, &start); err != nil {
				t.Fatal(err)
			}
			return text
		}
	}
}

// subscribe gives the ARN of a confirmed subscription of the topic t.
func subscribe(t *testing.T, dir string, status int) string {
	t.Helper()
	topic := sns(t, dir, "TopicArn", url.Values{"Action": {"CreateTopic"}, "Name": {"t"}})
	hook, confirmed := endpoint(t, status)
	arn := sns(t, dir, "SubscriptionArn", url.Values{"Action": {"Subscribe"}, "TopicArn": {topic}, "Protocol": {"http"}, "Endpoint": {hook},
		"ReturnSubscriptionArn": {"true"}, "Attributes.entry.1.key": {"RedrivePolicy"},
		"Attributes.entry.1.value": {`{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:t-dlq"}`}})
	<-confirmed
	return arn
}

func TestTheCommandsWorkAgainstARunningServer(t *testing.T) {
	dir, stop := live(t)
	good, gone := subscribe(t, dir, 204), subscribe(t, dir, 410)
	ask := func(want int, args ...string) ran {
		t.Helper()
		got := postino(t, "", nil, append(args, "--data", dir)...)
		if got.code != want {
			t.Errorf("postino %v: %+v", args, got)
		}
		return got
	}
	contains := func(got ran, parts ...string) {
		t.Helper()
		for _, p := range parts {
			if !strings.Contains(got.out+got.err, p) {
				t.Errorf("no %q in:\n%s%s", p, got.out, got.err)
			}
		}
	}

	// A first attempt that succeeds is in the delivery log alone.
	contains(ask(exitOK, "send-test", good), "state         delivered", "204 No Content")
	contains(ask(exitOK, "deliveries", "list", "--state", "delivered", "--subscription", good), "delivered", "204")

	// A permanent failure is dead at once, and its letter can be sent again, once.
	contains(ask(exitFailure, "send-test", gone[strings.LastIndexByte(gone, ':')+1:]), "state         dead", "410 Gone", "dead letter   went to t-dlq")
	contains(ask(exitOK, "dlq", "list"), "t-dlq", "DeadLetterQueue", "FailedJobsQueue")
	var page operator.DeadLetterPage
	if err := json.Unmarshal([]byte(ask(exitOK, "dlq", "list", "t-dlq", "--json").out), &page); err != nil || len(page.DeadLetters) != 1 {
		t.Fatalf("got %+v and error %v", page, err)
	}
	letter := page.DeadLetters[0]
	contains(ask(exitOK, "dlq", "show", "t-dlq", letter.ID), gone, letter.Note.MessageID, "attempts      1", "last outcome  410 Gone")
	contains(ask(exitOK, "dlq", "redrive", "t-dlq", letter.ID), "Sent 1 message again.")
	contains(ask(exitFailure, "dlq", "redrive", "t-dlq", letter.ID), letter.ID+" is not there")
	contains(ask(exitFailure, "dlq", "show", "t-dlq", letter.ID), "has no message")

	// One whose subscription is gone cannot be sent again, but deleted.
	left := subscribe(t, dir, 410)
	ask(exitFailure, "send-test", left)
	sns(t, dir, "", url.Values{"Action": {"Unsubscribe"}, "SubscriptionArn": {left}})
	if err := json.Unmarshal([]byte(ask(exitOK, "dlq", "list", "t-dlq", "--json").out), &page); err != nil {
		t.Fatal(err)
	}
	stranded := page.DeadLetters[slices.IndexFunc(page.DeadLetters, func(d operator.DeadLetter) bool { return d.Note.Subscription == left })].ID
	contains(ask(exitFailure, "dlq", "redrive", "t-dlq", stranded), "its subscription no longer exists")
	contains(ask(exitOK, "dlq", "delete", "t-dlq", stranded), "Deleted 1 message.")
	contains(ask(exitFailure, "dlq", "show", "t-dlq", stranded), "has no message")
	contains(ask(exitOK, "dlq", "delete", "t-dlq", "--all"), "Deleted ")

	contains(ask(exitOK, "pause", gone), "Paused: deliveries to http://127.0.0.1")
	contains(ask(exitOK, "send-test", gone), "The subscription is paused")
	contains(ask(exitOK, "resume", gone), "Resumed")
	if id := strings.TrimSpace(ask(exitOK, "publish", "t", "hello", "--attr", "n:Number=1").out); len(id) != 36 {
		t.Errorf("publish gave %q", id)
	}
	contains(ask(exitFailure, "publish", "nowhere", "hello"), "postino: There is no topic \"nowhere\"")
	contains(ask(exitFailure, "deliveries", "show", "nothing"), `Nothing is recorded of "nothing"`)
	contains(ask(exitFailure, "dlq", "list", "AttemptQueue"), "is no dead-letter queue")
	contains(ask(exitFailure, "dlq", "list", "t-dlq", "--after", "gibberish"), "gibberish")
	contains(ask(exitOK, "env"), "export AWS_ENDPOINT_URL_SNS='http://127.0.0.1:")

	if code := stop(); code != exitOK {
		t.Errorf("serve ended with code %d", code)
	}
	if _, err := os.Stat(filepath.Join(dir, operator.ServerFileName)); !os.IsNotExist(err) {
		t.Errorf("a clean stop left the server file: %v", err)
	}
	contains(ask(exitFailure, "dlq", "list"), "No Postino server is running on "+dir)
}
