//go:build samlocal

package samlocal

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/google/uuid"

	"postino/infra/functionurl"
	"postino/shared/push"
)

// serve starts `sam local start-lambda` and gives a client of it.
func (l *local) serve() *lambda.Client {
	l.t.Helper()
	at := free(l.t)
	_, port, _ := net.SplitHostPort(at)
	ctx, cancel := context.WithCancel(context.Background())
	c := l.sam(ctx, "start-lambda", "--host", "127.0.0.1", "--port", port)
	var log bytes.Buffer
	c.Stdout, c.Stderr = &log, &log
	if err := c.Start(); err != nil {
		l.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = c.Wait(); close(ended) }() // stopped by a signal: the error says so
	l.t.Cleanup(func() {
		cancel()
		<-ended
		if l.t.Failed() {
			l.t.Logf("sam local start-lambda says:\n%s", log.Bytes())
		}
	})
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if conn, err := net.Dial("tcp", at); err == nil {
			conn.Close()
			return lambda.NewFromConfig(l.config, func(o *lambda.Options) {
				o.BaseEndpoint = aws.String("http://" + at)
				o.HTTPClient = &http.Client{Timeout: patience} // a container's start is in it
				o.RetryMaxAttempts = 1
			})
		}
		select {
		case <-ended:
			l.t.Fatal("sam local start-lambda has ended")
		case <-time.After(100 * time.Millisecond):
		}
	}
	l.t.Fatal("sam local start-lambda does not answer")
	return nil
}

// free is an address that nobody listens on.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// pushed is what a subscriber got, and from whom.
type pushed struct {
	Type, MessageId, Message, SubscribeURL string //nolint:revive // SNS's names

	from string
}

// subscriber is an endpoint that functions reach on this host and in containers.
// It answers notifications with the statuses, one after another, then with 200.
func subscriber(t *testing.T, statuses ...int) (url string, got chan pushed) {
	t.Helper()
	got = make(chan pushed, 100)
	answers := make(chan int, len(statuses))
	for _, s := range statuses {
		answers <- s
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var p pushed
		if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
			return // the sender has gone, and will come again
		}
		p.from, _, _ = net.SplitHostPort(r.RemoteAddr)
		status := http.StatusOK
		if p.Type == string(push.Notification) {
			select {
			case status = <-answers:
			default:
			}
		}
		w.WriteHeader(status)
		got <- p
	}))
	listener, err := net.Listen("tcp", net.JoinHostPort(address(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return server.URL, got
}

func next(t *testing.T, got chan pushed) pushed {
	t.Helper()
	select {
	case p := <-got:
		return p
	case <-time.After(patience):
		t.Fatal("nothing was pushed")
		return pushed{}
	}
}

// subscribe makes a topic whose subscriber has confirmed, through the deployed front
// door.
func (l *local) subscribe(endpoint string, got chan pushed) (topic, subscription string) {
	l.t.Helper()
	front := l.front()
	out, err := front.CreateTopic(l.t.Context(), &sns.CreateTopicInput{Name: aws.String("local-" + uuid.NewString()[:8])})
	if err != nil {
		l.t.Fatal(err)
	}
	sub, err := front.Subscribe(l.t.Context(), &sns.SubscribeInput{TopicArn: out.TopicArn, Protocol: aws.String("http"), Endpoint: &endpoint, ReturnSubscriptionArn: true,
		Attributes: map[string]string{"DeliveryPolicy": `{"healthyRetryPolicy":{"numRetries":3,"minDelayTarget":1,"maxDelayTarget":1}}`}})
	if err != nil {
		l.t.Fatal(err)
	}
	p := next(l.t, got)
	r, err := http.NewRequestWithContext(l.t.Context(), http.MethodGet, p.SubscribeURL, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		l.t.Fatalf("the link of %+v: %v", p, err)
	}
	resp.Body.Close()
	return *out.TopicArn, *sub.SubscriptionArn
}

// signed is the event that a Function URL would make of a message's publication.
func (l *local) signed(message, topic string) json.RawMessage {
	l.t.Helper()
	form := url.Values{"Action": {"Publish"}, "Version": {"2010-03-31"}, "TopicArn": {topic}, "Message": {message}}
	event, err := functionurl.Call(l.t.Context(), form, l.key(), time.Now())
	if err != nil {
		l.t.Fatal(err)
	}
	return event
}

// call invokes a function in a container through the SDK. sam writes its answer
// anew, with spaces that are not the function's.
func call(t *testing.T, client *lambda.Client, function string, event any) string {
	t.Helper()
	payload, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	out, err := client.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String(function + "Function"), Payload: payload})
	if err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, out.Payload); err != nil {
		t.Fatalf("%s answers %q: %v", function, out.Payload, err)
	}
	return compact.String()
}

func TestAMessagePublishedInAContainerIsPushedByTheDeployedFunction(t *testing.T) {
	l := built(t)
	client := l.serve()
	endpoint, got := subscriber(t)
	topic, _ := l.subscribe(endpoint, got)
	for message, event := range map[string]any{
		"invoked":                map[string]string{"topicArn": topic, "message": "invoked"},
		"through the front door": l.signed("through the front door", topic),
	} {
		answer := call(t, client, "Publish", event)
		p := next(t, got)
		if p.Message != message || p.MessageId == "" || !strings.Contains(answer, p.MessageId) {
			t.Errorf("pushed was %+v, the answer %s", p, answer)
		}
		if p.from != address() {
			t.Errorf("%s pushed, the deployed function is at %s", p.from, address())
		}
	}
}

func TestAContainerPushesAndLeavesTheRetryToTheDeployedFunction(t *testing.T) {
	l := built(t)
	client := l.serve()
	endpoint, got := subscriber(t, http.StatusServiceUnavailable)
	topic, subscription := l.subscribe(endpoint, got)
	job := push.Job{Kind: push.Notification, Subscription: subscription, Generation: "0", Attempt: 1,
		Message: push.Message{ID: uuid.NewString(), TopicARN: topic, Body: "in hand", Timestamp: time.Now().UTC().Truncate(time.Millisecond)}}
	answer := call(t, client, "Deliver", events.SQSEvent{Records: []events.SQSMessage{{MessageId: uuid.NewString(), Body: job.Encode(),
		EventSource: "aws:sqs", EventSourceARN: "arn:aws:sqs:us-east-1:000000000000:AttemptQueue"}}})
	if answer != `{"batchItemFailures":[]}` {
		t.Errorf("the function answers %s", answer)
	}
	first, second := next(t, got), next(t, got)
	if first.MessageId != job.Message.ID || second.MessageId != job.Message.ID || first.Message != "in hand" {
		t.Errorf("pushed was %+v, then %+v", first, second)
	}
	if first.from == address() || second.from != address() {
		t.Errorf("%s pushed, then %s: first a container was wanted, then this host, %s", first.from, second.from, address())
	}
}

func TestAnErrorInAContainerIsSNSsOwn(t *testing.T) {
	l := built(t)
	answer := call(t, l.serve(), "Publish", map[string]string{"topicArn": "arn:aws:sns:us-east-1:000000000000:gone", "message": "m"})
	if !strings.Contains(answer, `"errorType":"NotFound`) {
		t.Errorf("the function answers %s", answer)
	}
}
