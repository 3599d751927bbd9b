// Package functions_test runs the four functions as Lambda runs them: as
// bootstraps that ask a runtime API for events.
package functions_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"postino/shared/config"
	"postino/shared/embedded/stack"
	"postino/shared/lambdaio"
	"postino/shared/operator"
	"postino/shared/pipeline"
	"postino/shared/push"
)

const (
	patience = 30 * time.Second
	topicARN = "arn:aws:sns:us-east-1:123456789012:orders"
)

// environment is what a deployed function is told, and where it keeps things.
func environment(dir string) map[string]string {
	return map[string]string{
		"POSTINO_DATA": dir, "POSTINO_PUBLIC_URL": "http://127.0.0.1:9", "POSTINO_ACCOUNT": "123456789012",
		"AWS_REGION": "us-east-1", "POSTINO_EVENT_TOPIC_ARN": topicARN, "POSTINO_ALLOW_NETWORKS": "127.0.0.0/8",
	}
}

// query invokes with a Function URL request that has the given form.
func (f *function) query(form url.Values) events.LambdaFunctionURLResponse {
	f.t.Helper()
	var r events.LambdaFunctionURLRequest
	decode(f.t, fixture(f.t, "publish-function-url.json"), &r)
	r.Body = form.Encode()
	event, err := json.Marshal(r)
	if err != nil {
		f.t.Fatal(err)
	}
	var out events.LambdaFunctionURLResponse
	decode(f.t, f.invoke(event).Body, &out)
	return out
}

func fixture(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "events", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func decode(t *testing.T, b []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
}

// look opens what the functions, which must have stopped, have left in dir.
func look[T any](t *testing.T, dir string, at func(*stack.Stack) (T, error)) T {
	t.Helper()
	env := environment(dir)
	c, err := config.Load(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	s, err := stack.Open(context.Background(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	v, err := at(s)
	if e := s.Close(); err == nil {
		err = e
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// drain takes all messages of a queue out, as the event a function would get.
func drain(t *testing.T, dir, queue string) (event []byte, records int) {
	t.Helper()
	e := look(t, dir, func(s *stack.Stack) (events.SQSEvent, error) {
		in, err := s.Queue.Receive(t.Context(), queue, 10, time.Minute, 0)
		var e events.SQSEvent
		var receipts []string
		for _, m := range in {
			record := pipeline.Record{ID: m.ID, Body: m.Body, Group: m.Group, Attributes: m.Attributes, ReceiveCount: m.ReceiveCount, Queue: queueARN(queue)}
			e.Records = append(e.Records, lambdaio.ToSQSMessage(record, m.Receipt, m.Sent))
			receipts = append(receipts, m.Receipt)
		}
		if err == nil {
			err = s.Queue.Delete(t.Context(), queue, receipts)
		}
		return e, err
	})
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return b, len(e.Records)
}

func queueARN(name string) string { return "arn:aws:sqs:us-east-1:123456789012:" + name }

// pushed is what an endpoint got.
type pushed struct {
	Type, Message, Token string
}

func endpoint(t *testing.T, status *atomic.Int32) (hook string, got chan pushed) {
	t.Helper()
	got = make(chan pushed, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		var p pushed
		_ = json.Unmarshal(b, &p)
		w.WriteHeader(int(status.Load()))
		got <- p
	}))
	t.Cleanup(s.Close)
	return s.URL, got
}

func TestAMessageGoesThroughTheFunctionsAsTheyAreDeployed(t *testing.T) {
	bin, dir := binaries(t), t.TempDir()
	var status atomic.Int32
	status.Store(http.StatusOK)
	hook, got := endpoint(t, &status)
	run := func(name string) *function { return launch(t, filepath.Join(bin, name), environment(dir)) }
	deliver := func() pushed {
		t.Helper()
		event, n := drain(t, dir, "AttemptQueue")
		if n != 1 {
			t.Fatalf("%d jobs wait", n)
		}
		f := run("deliver")
		defer f.Stop()
		if a := f.invoke(event); string(a.Body) != `{"batchItemFailures":[]}` || a.ErrorType != "" {
			t.Fatalf("deliver answers %s", a.Body)
		}
		select {
		case p := <-got:
			return p
		case <-time.After(patience):
			t.Fatal("nothing was pushed")
			return pushed{}
		}
	}

	f := run("publish")
	if a := f.query(url.Values{"Action": {"CreateTopic"}, "Name": {"orders"}}); a.StatusCode != http.StatusOK || !strings.Contains(a.Body, topicARN) {
		t.Fatalf("CreateTopic answers %+v", a)
	}
	if a := f.query(url.Values{"Action": {"Subscribe"}, "TopicArn": {topicARN}, "Protocol": {"http"}, "Endpoint": {hook}}); a.StatusCode != http.StatusOK {
		t.Fatalf("Subscribe answers %+v", a)
	}
	f.Stop()
	confirmation := deliver()
	if confirmation.Type != "SubscriptionConfirmation" {
		t.Fatalf("pushed was %+v", confirmation)
	}

	f = run("publish")
	if a := f.query(url.Values{"Action": {"ConfirmSubscription"}, "TopicArn": {topicARN}, "Token": {confirmation.Token}}); a.StatusCode != http.StatusOK {
		t.Fatalf("ConfirmSubscription answers %+v", a)
	}
	if a := f.query(url.Values{"Action": {"Publish"}, "TopicArn": {topicARN}, "Message": {"through all of it"}}); a.StatusCode != http.StatusOK {
		t.Fatalf("Publish answers %+v", a)
	}
	f.Stop()
	status.Store(http.StatusServiceUnavailable)
	if p := deliver(); p.Type != "Notification" || p.Message != "through all of it" {
		t.Errorf("pushed was %+v", p)
	}

	// The endpoint failed: the retry waits in its queue, with a delay.
	waiting := look(t, dir, func(s *stack.Stack) ([]string, error) {
		var out []string
		_, err := s.Queue.Look(t.Context(), "RetryQueue", operator.Sweep{}, func(l operator.Letter) {
			j, err := push.DecodeJob(l.Body)
			out = append(out, fmt.Sprint(j.Attempt, " ", j.Message.Body, " ", err))
		})
		return out, err
	})
	if !slices.Equal(waiting, []string{"2 through all of it <nil>"}) {
		t.Errorf("RetryQueue holds %q", waiting)
	}
}

func TestThePublishFunctionAnswersEveryKindOfEvent(t *testing.T) {
	f := launch(t, filepath.Join(binaries(t), "publish"), environment(t.TempDir()))
	f.query(url.Values{"Action": {"CreateTopic"}, "Name": {"orders"}})
	for name, c := range map[string]struct {
		errorType string
		says      []string
	}{
		"publish-function-url.json":              {"", []string{`"statusCode":200`, "PublishResult"}},
		"publish-function-url-base64-form.json":  {"", []string{`"statusCode":200`, "PublishResult"}},
		"publish-function-url-batch.json":        {"", []string{`"statusCode":200`, "order-1042", "order-1043"}},
		"publish-function-url-confirm-link.json": {"", []string{`"statusCode":400`, "InvalidParameter"}}, // a token of no one's
		"publish-function-url-certificate.json":  {"", []string{`"statusCode":404`}},                     // another installation's
		"publish-direct.json":                    {"", []string{`{"messageId":"`}},
		"publish-direct-batch.json":              {"", []string{`"successful":[{"id":"order-1042"`, `"failed":[{"id":"order-1044","code":"ParameterValueInvalid"`}},
		"publish-eventbridge.json":               {"", []string{`{"messageId":"`}},
	} {
		a := f.invoke(fixture(t, name))
		if a.ErrorType != c.errorType {
			t.Errorf("%s: %+v", name, a)
		}
		for _, s := range c.says {
			if body := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\"`, `"`).Replace(string(a.Body)); !strings.Contains(body, s) {
				t.Errorf("%s: no %s in %s", name, s, body)
			}
		}
	}
	for event, errorType := range map[string]string{
		`{}`: "ValidationError", `[]`: "ValidationError", `{"topicArn":"x","message":"m"}`: "InvalidParameter",
		`{"topicArn":"arn:aws:sns:us-east-1:123456789012:gone","message":"m"}`: "NotFound",
	} {
		if a := f.invoke([]byte(event)); a.ErrorType != errorType {
			t.Errorf("%s: %q, want error type %s", event, a.Body, errorType)
		}
	}
	// A second invoke has another request id, and so makes another message.
	first, second := f.invoke(fixture(t, "publish-direct.json")), f.invoke(fixture(t, "publish-direct.json"))
	if bytes.Equal(first.Body, second.Body) {
		t.Errorf("two invokes made one message: %s", first.Body)
	}
}

func TestAFrontDoorThatOthersReachAsksForASignature(t *testing.T) {
	env := environment(t.TempDir())
	env["POSTINO_PUBLIC_URL"] = "https://push.example.com"
	f := launch(t, filepath.Join(binaries(t), "publish"), env)
	var r events.LambdaFunctionURLRequest
	decode(t, fixture(t, "publish-function-url.json"), &r)
	delete(r.Headers, "authorization")
	event, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var out events.LambdaFunctionURLResponse
	if decode(t, f.invoke(event).Body, &out); out.StatusCode != http.StatusForbidden || !strings.Contains(out.Body, "<Code>MissingAuthenticationToken</Code>") {
		t.Errorf("an unsigned Publish is answered with %+v", out)
	}
}
