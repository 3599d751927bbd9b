//go:build integration

package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"postino/shared/access"
	"postino/shared/aws/awstest"
	"postino/shared/aws/dynamostore"
	"postino/shared/aws/schedulertimer"
	"postino/shared/aws/sqsqueue"
	"postino/shared/config"
	"postino/shared/envelope"
	"postino/shared/installation"
	"postino/shared/lambdaio"
	"postino/shared/pipeline"
	"postino/shared/push"
	"postino/shared/signing"
	"postino/shared/telemetry"
)

// world is the four functions on the AWS adapters, metered.
type world struct {
	t *testing.T
	c config.Config
	// adapters are what the functions stand on, plain the settings of an SDK that
	// nobody meters, group that of the schedules.
	adapters installation.Adapters
	plain    aws.Config
	group    string
	// seed makes topics and subscriptions, unmetered.
	seed  *dynamostore.Store
	queue *sqsqueue.Queue
	// key reads an access key as the front door does, metered.
	key func(ctx context.Context, id string) (access.Key, error)
	// looking receives and deletes without being metered: that is the mapping's.
	looking  *sqsqueue.Queue
	meter    *Meter
	f        installation.Functions
	endpoint *endpoint
	log      *telemetry.FunctionLog
	logged   *counter
}

// topicARN has a name of some length: it is twice in a delivery's record, which
// with a short one is near 1 KB at first, now above it and now below.
const topicARN = "arn:aws:sns:us-east-1:000000000000:orders-and-returns-of-the-web-shop-and-all-branches-in-europe"

func newWorld(t *testing.T) *world {
	t.Helper()
	settings := awstest.Config(t)
	plain := settings.Copy()
	var c config.Config
	c, err := config.Load(func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	for name, arn := range map[string]*string{"attempt": &c.Queues.Attempt, "retry": &c.Queues.Retry, "fanout": &c.Queues.Fanout,
		"dead": &c.Queues.DeadLetter, "failed": &c.Queues.Failed} {
		*arn = awstest.Queue(t, sqs.NewFromConfig(plain), awstest.Name("postino-"+name))
	}
	group := awstest.Name("postino")
	if _, err := scheduler.NewFromConfig(plain).CreateScheduleGroup(t.Context(), &scheduler.CreateScheduleGroupInput{Name: &group}); err != nil {
		t.Fatal(err)
	}
	table := awstest.Table(t, dynamodb.NewFromConfig(plain))
	w := &world{t: t, plain: plain, group: group, meter: &Meter{Next: settings.HTTPClient, Table: dynamodb.NewFromConfig(plain)}, logged: &counter{}}
	settings.HTTPClient = w.meter
	if w.seed, err = dynamostore.New(dynamostore.Config{Client: w.meter.Table, Table: table}); err != nil {
		t.Fatal(err)
	}
	store, err := dynamostore.New(dynamostore.Config{Client: dynamodb.NewFromConfig(settings), Table: table})
	if err != nil {
		t.Fatal(err)
	}
	if w.queue, err = sqsqueue.New(sqsqueue.Config{Client: sqs.NewFromConfig(settings), Region: settings.Region}); err != nil {
		t.Fatal(err)
	}
	if w.looking, err = sqsqueue.New(sqsqueue.Config{Client: sqs.NewFromConfig(plain), Region: settings.Region}); err != nil {
		t.Fatal(err)
	}
	timer, err := schedulertimer.New(schedulertimer.Config{Client: scheduler.NewFromConfig(settings), Queues: w.queue, Payloads: store,
		Group: group, Role: "arn:aws:iam::000000000000:role/scheduler", DeadLetter: c.Queues.Failed})
	if err != nil {
		t.Fatal(err)
	}
	pem, err := signing.NewPEM(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	links := envelope.Links{PublicURL: "https://abcdefghijklmnopqrstuvwxyz012345.lambda-url.us-east-1.on.aws"}
	signer, err := signing.FromPEM(pem, links)
	if err != nil {
		t.Fatal(err)
	}
	c.AllowNetworks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	c.RequestTimeout = 300 * time.Millisecond
	w.log = telemetry.NewFunctionLog(telemetry.FunctionLogOptions{Out: w.logged, Name: "postino-DeliverFunction-B1E0BE12DC6B3", Stack: "postino",
		Level: c.LogLevel, Queues: c.Queues})
	w.c, w.endpoint = c, newEndpoint(t)
	w.adapters = installation.Adapters{Store: store, Queues: w.queue, Timer: timer, Signer: signer, Links: links,
		Observer: w.log.Observer, Log: w.log.Logger, CacheFor: time.Hour}
	w.f = installation.New(c, w.adapters)
	w.key = store.Key
	if _, _, err := w.seed.CreateTopic(t.Context(), push.Topic{ARN: topicARN}); err != nil {
		t.Fatal(err)
	}
	return w
}

// cool makes Deliver's caches as empty as a lone job finds them. A deployed
// function keeps what it has read for five seconds; the world's keeps it for good,
// lest a slow machine change the counts.
func (w *world) cool() { w.f.Deliver = installation.New(w.c, w.adapters).Deliver }

// endpoint is a subscriber that counts what it gets, on the wire.
type endpoint struct {
	url    string
	status atomic.Int32 // 0 hangs
	got    counter
}

func newEndpoint(t *testing.T) *endpoint {
	e := &endpoint{}
	e.status.Store(http.StatusOK)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if status := e.status.Load(); status != 0 {
			rw.WriteHeader(int(status))
			return
		}
		<-r.Context().Done()
	}))
	s.Listener = countingListener{s.Listener, &e.got}
	s.Start()
	t.Cleanup(s.Close)
	e.url = s.URL
	return e
}

type countingListener struct {
	net.Listener
	into *counter
}

func (l countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return countingConn{c, l.into}, err
}

type countingConn struct {
	net.Conn
	into *counter
}

func (c countingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.into.n.Add(int64(n))
	return n, err
}

// counter counts bytes.
type counter struct{ n atomic.Int64 }

func (c *counter) Write(b []byte) (int, error) {
	c.n.Add(int64(len(b)))
	return len(b), nil
}

func (c *counter) take() float64 { return float64(c.n.Swap(0)) }

// publish publishes one message through the publish function.
func (w *world) publish(body string) {
	w.t.Helper()
	results, err := w.f.Publish.Publisher.Publish(w.t.Context(), pipeline.PublishRequest{TopicARN: topicARN, Entries: []push.Publication{{Message: body}}})
	if err != nil || results[0].Err != nil {
		w.t.Fatal(err, results)
	}
	w.log.Invoked(time.Now())
}

// batch gathers n messages of a queue.
func (w *world) batch(queue string, n int) (in []pipeline.Incoming) {
	w.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); len(in) < n; {
		got, err := w.looking.Receive(w.t.Context(), queue, n-len(in), time.Hour, time.Second)
		if err != nil || time.Now().After(deadline) {
			w.t.Fatalf("%d of %d messages came: %v", len(in), n, err)
		}
		in = append(in, got...)
	}
	return in
}

// invoke hands a batch to a function as the mapping does, and deletes it.
func (w *world) invoke(h lambdaio.BatchHandler, queue string, in []pipeline.Incoming) (bodies []string) {
	w.t.Helper()
	var e events.SQSEvent
	var receipts []string
	for _, m := range in {
		r := pipeline.Record{ID: m.ID, Body: m.Body, Group: m.Group, Attributes: m.Attributes, Queue: queue, ReceiveCount: 1}
		e.Records = append(e.Records, lambdaio.ToSQSMessage(r, m.Receipt, m.Sent))
		receipts, bodies = append(receipts, m.Receipt), append(bodies, m.Body)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	began := time.Now()
	answer, err := h.Handle(ctx, e)
	w.log.BatchDone(telemetry.Batch{RequestID: "8476a536-e9f4-11e8-9739-2dfe598c3fcd", Queue: queue, Records: len(in), Returned: len(answer.BatchItemFailures),
		Began: began, Ended: time.Now(), Deadline: began.Add(time.Minute)})
	if err != nil || len(answer.BatchItemFailures) > 0 {
		w.t.Fatalf("%v, came back: %v", err, answer.BatchItemFailures)
	}
	if err := w.looking.Delete(w.t.Context(), queue, receipts); err != nil {
		w.t.Fatal(err)
	}
	return bodies
}
