//go:build integration

// Package aws_test runs the pipeline itself on the adapters and counts what it
// asks of AWS.
package aws_test

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/uuid"

	"postino/shared/aws/awstest"
	"postino/shared/aws/dynamostore"
	"postino/shared/aws/schedulertimer"
	"postino/shared/aws/sqsqueue"
	"postino/shared/envelope"
	"postino/shared/operator"
	"postino/shared/pipeline"
	"postino/shared/push"
)

// endpoint answers pushes with the results it is given, one after the other.
type endpoint struct{ results []push.Result }

func (e *endpoint) Send(context.Context, string, envelope.Request) push.Result {
	r := e.results[0]
	e.results = e.results[1:]
	return r
}

var (
	ok     = push.Result{Class: push.Success, Status: 200, Connected: true}
	broken = push.Result{Class: push.Retryable, Status: 503, Connected: true}
)

type unsigned struct{}

func (unsigned) Sign(push.Kind, push.Message, string) (push.Signature, error) {
	return push.Signature{}, nil
}

// world is the pipeline on the adapters, with the calls they make counted.
type world struct {
	t        *testing.T
	calls    *awstest.Counter
	queue    *sqsqueue.Queue
	store    *dynamostore.Store
	endpoint *endpoint
	names    pipeline.QueueNames
	deliver  *pipeline.Deliver
	publish  *pipeline.Publish
	sub      push.Subscription
}

const topicARN = "arn:aws:sns:us-east-1:000000000000:orders"

func newWorld(t *testing.T, policy string) *world {
	t.Helper()
	w := &world{t: t, calls: &awstest.Counter{}, endpoint: &endpoint{}}
	c := awstest.Config(t)
	queues := map[string]*string{"attempt": &w.names.Attempt, "retry": &w.names.Retry, "fanout": &w.names.Fanout, "dead": &w.names.DeadLetter, "failed": &w.names.Failed}
	for name, arn := range queues {
		*arn = awstest.Queue(t, sqs.NewFromConfig(c), awstest.Name("postino-"+name))
	}
	group := awstest.Name("postino")
	if _, err := scheduler.NewFromConfig(c).CreateScheduleGroup(t.Context(), &scheduler.CreateScheduleGroupInput{Name: &group}); err != nil {
		t.Fatal(err)
	}
	table := awstest.Table(t, dynamodb.NewFromConfig(c))
	w.calls.Next, c.HTTPClient = c.HTTPClient, w.calls
	var err error
	if w.queue, err = sqsqueue.New(sqsqueue.Config{Client: sqs.NewFromConfig(c), Region: c.Region}); err != nil {
		t.Fatal(err)
	}
	if w.store, err = dynamostore.New(dynamostore.Config{Client: dynamodb.NewFromConfig(c), Table: table}); err != nil {
		t.Fatal(err)
	}
	timer, err := schedulertimer.New(schedulertimer.Config{Client: scheduler.NewFromConfig(c), Queues: w.queue, Payloads: w.store,
		Group: group, Role: "arn:aws:iam::000000000000:role/scheduler", DeadLetter: w.names.Failed})
	if err != nil {
		t.Fatal(err)
	}
	w.deliver = &pipeline.Deliver{Directory: w.store, Deliveries: w.store, Slots: w.store, Queues: w.queue, Timer: timer, Sender: w.endpoint,
		Signer: unsigned{}, Names: w.names, Now: time.Now, Random: func() float64 { return 0 }, NewID: uuid.NewString, RequestTimeout: 15 * time.Second,
		CacheFor: time.Hour, Sleep: func(context.Context, time.Duration) error { return nil }}
	w.publish = &pipeline.Publish{Directory: w.store, Queues: w.queue, Names: w.names, Signer: unsigned{}, Now: time.Now, NewID: uuid.NewString, InlineLimit: 100}
	w.subscribe(policy)
	return w
}

func (w *world) subscribe(policy string) {
	w.t.Helper()
	if _, _, err := w.store.CreateTopic(w.t.Context(), push.Topic{ARN: topicARN}); err != nil {
		w.t.Fatal(err)
	}
	w.sub = push.Subscription{ARN: topicARN + ":11111111-0000-4000-8000-000000000001", TopicARN: topicARN, Protocol: push.HTTPS,
		Endpoint: "https://example.com/", Confirmed: true, DeliveryPolicy: policy}
	if _, _, err := w.store.CreateSubscription(w.t.Context(), w.sub); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) send() {
	w.t.Helper()
	results, err := w.publish.Publish(w.t.Context(), pipeline.PublishRequest{TopicARN: topicARN, Entries: []push.Publication{{EntryID: "1", Message: "hello"}}})
	if err != nil || results[0].Err != nil {
		w.t.Fatal(err, results)
	}
}

// next receives one job and lets the pipeline handle it; it gives the calls that
// took.
func (w *world) next(queue string, result push.Result) map[string]int {
	w.t.Helper()
	in := w.receive(queue)
	if len(in) != 1 {
		w.t.Fatalf("%d jobs in %s", len(in), queue)
	}
	w.endpoint.results = []push.Result{result}
	w.calls.Take()
	failed := w.deliver.Handle(w.t.Context(), []pipeline.Record{{ID: in[0].ID, Body: in[0].Body, Group: in[0].Group, Queue: queue, ReceiveCount: 1}})
	calls := w.calls.Take()
	if len(failed) > 0 || len(w.endpoint.results) > 0 {
		w.t.Fatalf("the job came back %v, pushes not made: %d", failed, len(w.endpoint.results))
	}
	if err := w.queue.Delete(w.t.Context(), queue, []string{in[0].Receipt}); err != nil {
		w.t.Fatal(err)
	}
	return calls
}

func (w *world) receive(queue string) []pipeline.Incoming {
	w.t.Helper()
	in, err := w.queue.Receive(w.t.Context(), queue, 1, time.Hour, 10*time.Second)
	if err != nil {
		w.t.Fatal(err)
	}
	return in
}

func writesOf(calls map[string]int) int {
	return calls["PutItem"] + calls["UpdateItem"] + calls["DeleteItem"] + calls["TransactWriteItems"] + calls["BatchWriteItem"]
}

func sendsOf(calls map[string]int) int { return calls["SendMessageBatch"] + calls["POST schedules"] }

// warm makes the reads that are made once in a while: subscription, topic, URLs.
func (w *world) warm() {
	w.t.Helper()
	w.send()
	w.next(w.names.Attempt, ok)
	for _, queue := range []string{w.names.Retry, w.names.DeadLetter} {
		if err := w.queue.ChangeVisibility(w.t.Context(), queue, "warm", 0); err != nil {
			w.t.Log(queue, err) // only its URL was wanted
		}
	}
}

func TestAFirstAttemptThatSucceedsAsksNothingOfTheDatabase(t *testing.T) {
	w := newWorld(t, "")
	w.warm()
	w.send()
	if calls := w.next(w.names.Attempt, ok); len(calls) != 0 {
		t.Errorf("calls: %v", calls)
	}
}

func TestPublishReadsOneItemAndSendsOnce(t *testing.T) {
	w := newWorld(t, "")
	w.warm()
	w.calls.Take()
	w.send()
	if got, want := w.calls.Take(), map[string]int{"GetItem": 1, "SendMessageBatch": 1}; !maps.Equal(got, want) {
		t.Errorf("calls: %v, want %v", got, want)
	}
}

// TestAFailedAttemptCostsAtMostThreeConditionalWritesAndOneSend walks a delivery
// to its dead letter.
func TestAFailedAttemptCostsAtMostThreeConditionalWritesAndOneSend(t *testing.T) {
	w := newWorld(t, `{"healthyRetryPolicy":{"minDelayTarget":1,"maxDelayTarget":1,"numRetries":3,"numNoDelayRetries":3}}`)
	w.warm()
	w.send()
	queue := w.names.Attempt
	for attempt, want := range []map[string]int{
		{"PutItem": 1, "SendMessageBatch": 1},                  // finished(1), job(2)
		{"UpdateItem": 1, "PutItem": 1, "SendMessageBatch": 1}, // claim, finished, next job
		{"UpdateItem": 1, "PutItem": 1, "SendMessageBatch": 1},
		{"UpdateItem": 2, "PutItem": 1, "SendMessageBatch": 1}, // claim, finished, dead letter, dead
	} {
		calls := w.next(queue, broken)
		if !maps.Equal(calls, want) || writesOf(calls) > 3 || sendsOf(calls) != 1 {
			t.Errorf("attempt %d: calls %v, want %v", attempt+1, calls, want)
		}
		queue = w.names.Retry
	}
	if in := w.receive(w.names.DeadLetter); len(in) != 1 {
		t.Errorf("%d dead letters", len(in))
	}
	d := w.record()
	if d.State != push.Dead || d.Attempt != 4 || len(d.Attempts) != 4 || d.Target != w.names.DeadLetter {
		t.Errorf("the record: %+v", d)
	}
}

func TestALongWaitIsOneScheduleInsteadOfASend(t *testing.T) {
	w := newWorld(t, `{"healthyRetryPolicy":{"minDelayTarget":1800,"maxDelayTarget":1800,"numRetries":1}}`)
	w.warm()
	w.send()
	calls := w.next(w.names.Attempt, broken)
	if want := map[string]int{"PutItem": 1, "POST schedules": 1}; !maps.Equal(calls, want) {
		t.Errorf("calls: %v, want %v", calls, want)
	}
}

func TestASuccessOnRetryIsTwoWritesAndNoSend(t *testing.T) {
	w := newWorld(t, `{"healthyRetryPolicy":{"minDelayTarget":1,"maxDelayTarget":1,"numRetries":3,"numNoDelayRetries":3}}`)
	w.warm()
	w.send()
	w.next(w.names.Attempt, broken)
	calls := w.next(w.names.Retry, ok)
	if want := map[string]int{"UpdateItem": 1, "PutItem": 1}; !maps.Equal(calls, want) {
		t.Errorf("calls: %v, want %v", calls, want)
	}
	if d := w.record(); d.State != push.Delivered || d.Attempt != 2 {
		t.Errorf("the record: %+v", d)
	}
}

// TestAJobWhoseStoreIsGoneIsKept: a wrong table is a failure on our side; the job
// is tried again and neither lost nor counted.
func TestAJobWhoseStoreIsGoneIsKept(t *testing.T) {
	w := newWorld(t, "")
	w.warm()
	w.send()
	var err error
	c := awstest.Config(t)
	broken, err := dynamostore.New(dynamostore.Config{Client: dynamodb.NewFromConfig(c), Table: "postino-no-such-table"})
	if err != nil {
		t.Fatal(err)
	}
	in := w.receive(w.names.Attempt)
	d := &pipeline.Deliver{Directory: broken, Deliveries: broken, Slots: broken, Queues: w.queue, Sender: w.endpoint, Signer: unsigned{}, Names: w.names,
		Now: time.Now, Random: func() float64 { return 0 }, NewID: uuid.NewString, RequestTimeout: 15 * time.Second}
	if failed := d.Handle(t.Context(), []pipeline.Record{{ID: in[0].ID, Body: in[0].Body, Queue: w.names.Attempt}}); len(failed) > 0 {
		t.Error("the job came back instead of being put back:", failed)
	}
	again := w.receive(w.names.Retry)
	if len(again) != 1 {
		t.Fatal("the job is lost")
	}
	j, err := push.DecodeJob(again[0].Body)
	if err != nil || j.Attempt != 1 || j.Stumbles != 1 {
		t.Errorf("the job: %+v, %v", j, err)
	}
	if again[0].Group != w.sub.ID() {
		t.Errorf("its group is %q", again[0].Group)
	}
}

// record is the one delivery's record.
func (w *world) record() push.Delivery {
	w.t.Helper()
	var all []push.Delivery
	for _, state := range []push.State{push.Finished, push.Claimed, push.Delivered, push.Dead} {
		page, _, err := w.store.ListDeliveries(w.t.Context(), operator.Filter{Subscription: w.sub.ARN, States: []push.State{state}})
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, page...)
	}
	if len(all) != 1 {
		w.t.Fatalf("%d records: %+v", len(all), all)
	}
	return all[0]
}
