package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"go.uber.org/goleak"

	"postino/cmd/postino/internal/host"
	"postino/shared/config"
	"postino/shared/operator"
	"postino/shared/pipeline"
)

func TestMain(m *testing.M) {
	code := m.Run()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	removeBinary()
	// Goroutines of a crew rest for some seconds before they end.
	if err := goleak.Find(goleak.IgnoreTopFunction("postino/shared/crew.(*Crew).member")); err != nil && code == 0 {
		_, _ = os.Stderr.WriteString(err.Error())
		code = 1
	}
	os.Exit(code)
}

// patience is how long a test waits for what should take milliseconds, or the
// delay its policy names.
const patience = 30 * time.Second

// server is an embedded server in this process, with the clients people use.
type server struct {
	t   *testing.T
	dir string
	url string
	*sns.Client
	operator *operator.Client
	events   *recorder
	host     *host.Host
	// stop ends Run, once, and says how long that took.
	stop func() time.Duration
}

// start serves on a fresh data directory until the test ends.
func start(t *testing.T, change ...func(*config.Config)) *server {
	t.Helper()
	return startOn(t, t.TempDir(), change...)
}

// startOn serves on what an earlier server has left in dir.
func startOn(t *testing.T, dir string, change ...func(*config.Config)) *server {
	t.Helper()
	h, s := open(t, dir, change...)
	return run(t, h, s)
}

func open(t *testing.T, dir string, change ...func(*config.Config)) (*host.Host, *server) {
	t.Helper()
	c, err := config.Load(func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	c.Data = dir
	for _, f := range change {
		f(&c)
	}
	s := &server{t: t, dir: dir, events: newRecorder()}
	h, err := host.Open(t.Context(), host.Options{Listen: "127.0.0.1:0", Config: c, Log: slog.New(slog.DiscardHandler), Observer: s.events})
	if err != nil {
		t.Fatal(err)
	}
	return h, s
}

func run(t *testing.T, h *host.Host, s *server) *server {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	var once sync.Once
	var took time.Duration
	s.stop = func() time.Duration {
		once.Do(func() {
			began := time.Now()
			cancel()
			select {
			case err := <-ended:
				if err != nil {
					t.Errorf("the server ended with %v", err)
				}
			case <-time.After(patience):
				t.Error("the server does not end")
			}
			took = time.Since(began)
		})
		return took
	}
	t.Cleanup(func() { s.stop() })
	s.host = h
	s.connect(h.URL())
	return s
}

// connect makes the clients of a server at url.
func (s *server) connect(url string) {
	s.t.Helper()
	s.url, s.Client = url, client(s.t, url, nil)
	var err error
	if s.operator, err = operator.Dial(s.dir); err != nil {
		s.t.Fatal(err)
	}
}

// client is the SDK with its own retries off, unless change says otherwise.
func client(t *testing.T, url string, change func(*sns.Options)) *sns.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	o := sns.Options{BaseEndpoint: aws.String(url), Region: "us-east-1", HTTPClient: &http.Client{Transport: transport},
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""), Retryer: aws.NopRetryer{}}
	if change != nil {
		change(&o)
	}
	return sns.New(o)
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *server) topic(name string) string {
	s.t.Helper()
	return *must[*sns.CreateTopicOutput](s.t)(s.CreateTopic(s.t.Context(), &sns.CreateTopicInput{Name: &name})).TopicArn
}

// subscribe gives the ARN of a confirmed subscription of endpoint, which r
// serves. attributes are pairs of name and value.
func (s *server) subscribe(topic string, r *receiver, endpoint string, attributes ...string) string {
	s.t.Helper()
	in := &sns.SubscribeInput{TopicArn: &topic, Protocol: aws.String("http"), Endpoint: &endpoint, ReturnSubscriptionArn: true, Attributes: map[string]string{}}
	for i := 0; i < len(attributes); i += 2 {
		in.Attributes[attributes[i]] = attributes[i+1]
	}
	arn := *must[*sns.SubscribeOutput](s.t)(s.Subscribe(s.t.Context(), in)).SubscriptionArn
	var m struct{ Token string }
	if err := json.Unmarshal(r.confirmation(s.t, endpoint).body, &m); err != nil {
		s.t.Fatal(err)
	}
	must[*sns.ConfirmSubscriptionOutput](s.t)(s.ConfirmSubscription(s.t.Context(), &sns.ConfirmSubscriptionInput{TopicArn: &topic, Token: &m.Token}))
	return arn
}

func (s *server) publish(topic, message string) (id string) {
	s.t.Helper()
	return *must[*sns.PublishOutput](s.t)(s.Publish(s.t.Context(), &sns.PublishInput{TopicArn: &topic, Message: &message})).MessageId
}

func (s *server) set(subscription, name, value string) {
	s.t.Helper()
	must[*sns.SetSubscriptionAttributesOutput](s.t)(s.SetSubscriptionAttributes(s.t.Context(),
		&sns.SetSubscriptionAttributesInput{SubscriptionArn: &subscription, AttributeName: &name, AttributeValue: &value}))
}

func (s *server) attributes(subscription string) map[string]string {
	s.t.Helper()
	return must[*sns.GetSubscriptionAttributesOutput](s.t)(s.GetSubscriptionAttributes(s.t.Context(),
		&sns.GetSubscriptionAttributesInput{SubscriptionArn: &subscription})).Attributes
}

// post makes a Query call by hand.
func post(t *testing.T, to string, header http.Header, form url.Values) (status int, body string) {
	t.Helper()
	r := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), http.MethodPost, to, strings.NewReader(form.Encode())))
	r.Header = header.Clone()
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	return do(t, r)
}

func do(t *testing.T, r *http.Request) (status int, body string) {
	t.Helper()
	resp := must[*http.Response](t)(http.DefaultClient.Do(r))
	defer resp.Body.Close()
	return resp.StatusCode, string(must[[]byte](t)(io.ReadAll(resp.Body)))
}

// get answers a body that must come with 200.
func get(t *testing.T, url string) []byte {
	t.Helper()
	status, body := do(t, must[*http.Request](t)(http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)))
	if status != http.StatusOK {
		t.Fatalf("GET %s: %d %s", url, status, body)
	}
	return []byte(body)
}

// recorder keeps the pipeline's events.
type recorder struct {
	mu   sync.Mutex
	all  []pipeline.Event
	news chan struct{} // closed at the next event
}

func newRecorder() *recorder { return &recorder{news: make(chan struct{})} }

func (r *recorder) Observe(e pipeline.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, e)
	close(r.news)
	r.news = make(chan struct{})
}

// of gives the events so far that match, and a channel that the next one closes.
func (r *recorder) of(match func(pipeline.Event) bool) (found []pipeline.Event, news chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.all {
		if match(e) {
			found = append(found, e)
		}
	}
	return found, r.news
}

// wait gives the first n events that match.
func (r *recorder) wait(t *testing.T, n int, match func(pipeline.Event) bool) []pipeline.Event {
	t.Helper()
	deadline := time.After(patience)
	for {
		found, news := r.of(match)
		if len(found) >= n {
			return found[:n]
		}
		select {
		case <-news:
		case <-deadline:
			var kinds bytes.Buffer
			for _, e := range r.all {
				kinds.WriteString(string(e.Kind) + " (" + e.Reason + "); ")
			}
			t.Fatalf("%d of %d events; there were: %s", len(found), n, kinds.String())
		}
	}
}

// kind matches events of a kind about notifications.
func kind(k pipeline.EventKind) func(pipeline.Event) bool {
	return func(e pipeline.Event) bool { return e.Kind == k && (e.Push == "Notification" || e.Push == "") }
}

// eventually asks again every 20 ms, for what tells nobody when it changes.
func eventually(t *testing.T, what string, ask func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !ask() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("it never came about: %s", what)
		}
	}
}
