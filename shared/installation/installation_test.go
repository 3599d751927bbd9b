package installation_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"postino/shared/config"
	"postino/shared/embedded/stack"
	"postino/shared/installation"
	"postino/shared/lambdaio"
	"postino/shared/pipeline"
	"postino/shared/push"
)

const topic = "arn:aws:sns:us-east-1:000000000000:t"

// installed is an installation over the embedded adapters, reached as
// https://push.example.com, so that loopback endpoints are refused.
type installed struct {
	installation.Functions
	t     *testing.T
	stack *stack.Stack
	c     config.Config
}

func install(t *testing.T, change func(*config.Config)) *installed {
	t.Helper()
	c, err := config.Load(func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	c.Data = t.TempDir()
	change(&c)
	log := slog.New(slog.DiscardHandler)
	s, err := stack.Open(t.Context(), c, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	a, err := s.Adapters("https://push.example.com", false, nil, log)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Store.CreateTopic(t.Context(), push.Topic{ARN: topic}); err != nil {
		t.Fatal(err)
	}
	return &installed{Functions: installation.New(c, a), t: t, stack: s, c: c}
}

func (i *installed) subscribe(n int, endpoint string) {
	i.t.Helper()
	s := push.Subscription{ARN: fmt.Sprintf("%s:00000000-0000-4000-8000-%012d", topic, n), TopicARN: topic, Protocol: push.HTTP,
		Endpoint: endpoint, Raw: true, Confirmed: true, CreatedAt: time.Now()}
	if _, _, err := i.stack.Store.CreateSubscription(i.t.Context(), s); err != nil {
		i.t.Fatal(err)
	}
}

func (i *installed) publish() {
	i.t.Helper()
	results, err := i.Publish.Publisher.Publish(i.t.Context(), pipeline.PublishRequest{TopicARN: topic, Entries: []push.Publication{{Message: "hello"}}})
	if err != nil || results[0].Err != nil {
		i.t.Fatal(err, results)
	}
}

// deliver has the Deliver function handle the one job that waits for it.
func (i *installed) deliver(ctx context.Context) events.SQSEventResponse {
	i.t.Helper()
	queue := i.c.Queues.Attempt
	got, err := i.stack.Queue.Receive(i.t.Context(), queue, 10, time.Minute, 0)
	if err != nil || len(got) != 1 {
		i.t.Fatalf("received %+v, %v", got, err)
	}
	r := pipeline.Record{ID: got[0].ID, Body: got[0].Body, Queue: installation.QueueARN(i.c, queue), ReceiveCount: 1}
	answer, err := i.Deliver.Handle(ctx, events.SQSEvent{Records: []events.SQSMessage{lambdaio.ToSQSMessage(r, got[0].Receipt, time.Now())}})
	if err != nil {
		i.t.Fatal(err)
	}
	return answer
}

// endpoint counts what arrives and answers by h.
func endpoint(t *testing.T, h http.HandlerFunc) (url string, arrived chan struct{}) {
	arrived = make(chan struct{}, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, arrived
}

func well(http.ResponseWriter, *http.Request) {}

func TestAllowNetworksReachesTheSender(t *testing.T) {
	for name, c := range map[string]struct {
		allow []netip.Prefix
		want  int
	}{
		"not allowed": {nil, 0},
		"allowed":     {[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			i := install(t, func(settings *config.Config) { settings.AllowNetworks = c.allow })
			url, arrived := endpoint(t, well)
			i.subscribe(1, url)
			i.publish()
			i.deliver(t.Context())
			if len(arrived) != c.want {
				t.Errorf("%d pushes came, want %d", len(arrived), c.want)
			}
		})
	}
}

func loopback(c *config.Config) {
	c.AllowNetworks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
}

func TestRequestTimeoutReachesTheSender(t *testing.T) {
	i := install(t, func(c *config.Config) { loopback(c); c.RequestTimeout = 100 * time.Millisecond })
	hang := make(chan struct{})
	url, arrived := endpoint(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	})
	defer close(hang)
	i.subscribe(1, url)
	i.publish()
	began := time.Now()
	i.deliver(t.Context())
	if took := time.Since(began); len(arrived) != 1 || took > 5*time.Second {
		t.Errorf("%d attempts took %s with a limit of 100 ms", len(arrived), took)
	}
}

func TestRequestTimeoutReachesTheDeliverVerb(t *testing.T) {
	i := install(t, func(c *config.Config) { loopback(c); c.RequestTimeout = time.Hour })
	url, arrived := endpoint(t, well)
	i.subscribe(1, url)
	i.publish()
	// An invocation that ends within the time an attempt may take begins none.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if answer := i.deliver(ctx); len(answer.BatchItemFailures) != 1 || len(arrived) != 0 {
		t.Errorf("the answer is %+v after %d pushes", answer, len(arrived))
	}
}

func TestInlineFanoutReachesThePublishVerb(t *testing.T) {
	for limit, want := range map[int][2]int{1: {0, 1}, 2: {2, 0}} {
		i := install(t, func(c *config.Config) { c.InlineFanout = limit })
		i.subscribe(1, "http://a.example.com/")
		i.subscribe(2, "http://b.example.com/")
		i.publish()
		if got := [2]int{i.stack.Queue.Ready(i.c.Queues.Attempt), i.stack.Queue.Ready(i.c.Queues.Fanout)}; got != want {
			t.Errorf("up to %d inline, 2 subscriptions make %d jobs and %d pages, want %v", limit, got[0], got[1], want)
		}
	}
}

func TestEventTopicARNReachesThePublishFunction(t *testing.T) {
	event := []byte(`{"version":"0","id":"6a7e8feb-b491-4cf7-a9f1-bf3703467718","detail-type":"x","source":"s","account":"111122223333",` +
		`"time":"2026-01-01T00:00:00Z","region":"us-east-1","resources":[],"detail":{"a":1}}`)
	for arn, taken := range map[string]bool{topic: true, "": false} {
		i := install(t, func(c *config.Config) { c.EventTopicARN = arn })
		i.subscribe(1, "http://a.example.com/")
		_, err := i.Publish.Handle(t.Context(), event)
		if jobs := i.stack.Queue.Ready(i.c.Queues.Attempt); (err == nil) != taken || (jobs == 1) != taken {
			t.Errorf("with event topic %q: %v, %d jobs", arn, err, jobs)
		}
	}
}

func TestRedrivePublishesAFailedInvocationUnderTheMessageIDItWouldHaveHad(t *testing.T) {
	const event = `{"version":"0","id":"6a7e8feb-b491-4cf7-a9f1-bf3703467718","detail-type":"x","source":"s","detail":{"a":1}}`
	i := install(t, func(c *config.Config) { c.EventTopicARN = topic })
	i.subscribe(1, "http://a.example.com/")
	if _, err := i.Publish.Handle(t.Context(), []byte(event)); err != nil {
		t.Fatal(err)
	}
	record := `{"version":"1.0","requestContext":{"requestId":"r","condition":"RetriesExhausted"},"requestPayload":` + strings.ReplaceAll(event, `":`, `" : `) + `}`
	if err := i.Redriver.Send(t.Context(), pipeline.Record{ID: "1", Body: record, Queue: i.c.Queues.Failed}, false); err != nil {
		t.Fatal(err)
	}
	in, err := i.stack.Queue.Receive(t.Context(), i.c.Queues.Attempt, 10, time.Minute, 0)
	if err != nil || len(in) != 2 {
		t.Fatalf("%d jobs, %v", len(in), err)
	}
	first, err1 := push.DecodeJob(in[0].Body)
	again, err2 := push.DecodeJob(in[1].Body)
	if err1 != nil || err2 != nil || first.Message.ID != again.Message.ID {
		t.Errorf("messages %s and %s, %v %v", first.Message.ID, again.Message.ID, err1, err2)
	}
}

func TestMaxRedrivesReachesTheRedriveVerb(t *testing.T) {
	i := install(t, func(c *config.Config) { c.MaxRedrives = 7 })
	if i.Redriver.MaxRedrives != 7 {
		t.Errorf("the verb allows %d", i.Redriver.MaxRedrives)
	}
}
