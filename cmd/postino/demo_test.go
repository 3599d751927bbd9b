package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"postino/shared/pipeline"
	"postino/shared/push"
)

// screen is a terminal that a test watches.
type screen struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
	return s.text.Write(p)
}

// wait gives the screen's text once it matches.
func (s *screen) wait(t *testing.T, pattern string) string {
	t.Helper()
	patience := time.After(30 * time.Second)
	for {
		s.mu.Lock()
		text := s.text.String()
		s.mu.Unlock()
		if regexp.MustCompile(pattern).MatchString(text) {
			return text
		}
		select {
		case <-s.changed:
		case <-patience:
			t.Fatalf("no %s on the screen:\n%s", pattern, text)
		}
	}
}

// demonstration runs `postino serve --demo`.
func demonstration(t *testing.T, dir string) (s *screen, stop func()) {
	t.Helper()
	s = &screen{changed: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() {
		app := &App{Out: s, Err: s, Now: time.Now, Name: "bin/postino", Getenv: func(string) string { return "" }}
		ended <- run(ctx, app, []string{"serve", "--demo", "--listen", "127.0.0.1:0", "--data", dir})
	}()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if code := <-ended; code != exitOK {
				t.Errorf("serve ended with code %d", code)
			}
		})
	}
	t.Cleanup(stop)
	return s, stop
}

func TestTheDemonstrationsDeadLetterIsDeliveredOnceItsSubscriberRecovers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my data")
	s, _ := demonstration(t, dir)
	text := s.wait(t, `(?s)to dead-letter queue demo-dead-letters.*Ctrl-C|Ctrl-C.*to dead-letter queue demo-dead-letters`)
	if !strings.Contains(text, "bin/postino dlq list demo-dead-letters --data '"+dir+"'\n") {
		t.Errorf("a hint does not find the server:\n%s", text)
	}
	if intro, first := strings.Index(text, "Three sample subscribers"), strings.Index(text, "/postino-demo/"); intro < 0 || intro > first {
		t.Errorf("lines come before what they are about:\n%s", text)
	}
	link := regexp.MustCompile(`http://\S+/postino-demo/recover`).FindString(text)
	resp, err := http.Get(link)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v", link, err)
	}
	_ = resp.Body.Close()
	if got := postino(t, "", nil, "dlq", "redrive", "demo-dead-letters", "--all", "--data", dir); got.code != exitOK || got.out != "Sent 1 message again.\n" {
		t.Fatalf("got %+v", got)
	}
	// Which of the two lines comes first, is for the scheduler to say.
	s.wait(t, `message [0-9a-f-]{36} is sent again to demo:[0-9a-f]{8} from dead-letter queue demo-dead-letters`)
	s.wait(t, `/postino-demo/down +attempt \d initial +delivered: 200 OK`)
	list := postino(t, "", nil, "deliveries", "list", "--data", dir)
	if again := regexp.MustCompile(`delivered +(\S+) .* 200 +sent again\n`).FindStringSubmatch(list.out); again == nil || !strings.Contains(list.out, "went to demo-dead-letters, sent again from there\n") {
		t.Errorf("what was sent again is not told from what died: %+v", list)
	} else if shown := postino(t, "", nil, "deliveries", "show", again[1], "--data", dir); !strings.Contains(shown.out, "(sent again from a dead-letter queue)\nstate         delivered\n") {
		t.Errorf("shown is %+v", shown)
	}
}

func TestTheDemonstrationRemovesItsOwnSubscriptionsAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s, stop := demonstration(t, dir)
	s.wait(t, "Ctrl-C")
	hook, confirmed := endpoint(t, http.StatusOK)
	topic := "arn:aws:sns:us-east-1:000000000000:demo"
	sns(t, dir, "SubscriptionArn", url.Values{"Action": {"Subscribe"}, "TopicArn": {topic}, "Protocol": {"http"}, "Endpoint": {hook}})
	<-confirmed
	stop()
	s, stop = demonstration(t, dir)
	s.wait(t, "Ctrl-C")
	form := url.Values{"Action": {"GetTopicAttributes"}, "TopicArn": {topic}}
	resp, err := http.PostForm(regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(s.wait(t, "listens on")), form)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || !strings.Contains(string(b), "<key>SubscriptionsConfirmed</key><value>4</value>") {
		t.Errorf("the topic has not the stranger's subscription and three new ones: %s %v", b, err)
	}
	// The first farewells have failed by now: nobody listens there.
	if text := s.wait(t, `to dead-letter queue demo-dead-letters`); regexp.MustCompile(`confirmation attempt \d+ +connection refused`).MatchString(text) {
		t.Errorf("farewells to the run before are shown:\n%s", text)
	}
	stop()
}

// What ends an earlier run's subscriptions is about endpoints that are called as
// this run's are; everything else is shown.
func TestTheDemonstrationDoesNotShowFarewellsToAnEarlierRun(t *testing.T) {
	const here, before = "http://127.0.0.1:2000", "http://127.0.0.1:20001"
	for kind, quiet := range map[push.Kind]bool{push.UnsubscribeConfirmation: true, push.SubscriptionConfirm: false, push.Notification: false} {
		for endpoint, another := range map[string]bool{
			here + demoPath + "down": false, before + demoPath + "down": true, before + "/mine": false, "https://a.example/hook": false, "": false,
		} {
			for _, event := range []pipeline.EventKind{pipeline.EventDelivered, pipeline.EventRetry, pipeline.EventDropped, pipeline.EventFault} {
				shown := false
				view := demoView{to: observed(func(pipeline.Event) { shown = true }), hooks: here}
				view.Observe(pipeline.Event{Kind: event, Push: kind, Endpoint: endpoint})
				if want := !quiet || !another; shown != want {
					t.Errorf("%v of %q to %q: shown %v", event, kind, endpoint, shown)
				}
			}
		}
	}
}

type observed func(pipeline.Event)

func (o observed) Observe(e pipeline.Event) { o(e) }

func TestTheDemonstrationKnowsItsEndpoints(t *testing.T) {
	for endpoint, want := range map[string]bool{
		"http://127.0.0.1:1/postino-demo/healthy": true, "http://127.0.0.1:2/postino-demo/down": true,
		"http://127.0.0.1:1/healthy": false, "http://10.0.0.1/postino-demo/healthy": false, "http://127.0.0.1/postino-demo/mine": false, "": false,
	} {
		if got := demoEndpoint(endpoint); got != want {
			t.Errorf("%q: %v", endpoint, got)
		}
	}
}
