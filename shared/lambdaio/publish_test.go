package lambdaio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/google/go-cmp/cmp"

	"postino/shared/push"
)

func TestUnusableEventsAreRefusedWithACodeAndASentence(t *testing.T) {
	const direct = `{"topicArn":"` + topicARN + `",`
	entries := func(n int, id string) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"id":"%s","message":"m"}`, strings.ReplaceAll(id, "#", fmt.Sprint(i))))
		}
		return direct + `"entries":[` + strings.Join(list, ",") + `]}`
	}
	cases := []struct {
		name, event string
		code        push.Code
		text        string
	}{
		{"no object", `["topicArn"]`, push.CodeValidationError, "not a JSON object"},
		{"null", `null`, push.CodeValidationError, "not a JSON object"},
		{"an SQS event", `{"Records":[]}`, push.CodeValidationError, "no Function URL request"},
		{"a misspelt direct publish", `{"topicARN":"x","message":"m"}`, push.CodeValidationError, "no Function URL request"},
		{"two shapes at once", direct + `"message":"m","detail-type":"x"}`, push.CodeValidationError, "no Function URL request"},
		{"a URL request of wrong types", `{"requestContext":{"http":[]}}`, push.CodeValidationError, `member "requestContext.http" must not be of type array`},
		{"an unknown member", direct + `"message":"m","messageGroupId":"g"}`, push.CodeValidationError, `unknown member "messageGroupId"`},
		{"an unknown attribute member", direct + `"message":"m","messageAttributes":{"a":{"type":"String"}}}`, push.CodeValidationError, `unknown member "type"`},
		{"a message of the wrong type", direct + `"message":{"a":1}}`, push.CodeValidationError, `member "message" must not be of type object`},
		{"no ARN", `{"topicArn":"orders","message":"m"}`, push.CodeInvalidParameter, "Invalid parameter: TopicArn Reason: An ARN must have at least 6 elements, not 1"},
		{"an attribute with both values", direct + `"message":"m","messageAttributes":{"a":{"dataType":"String","stringValue":"x","binaryValue":"eA=="}}}`, push.CodeParameterValueInvalid, "must have a stringValue and nothing else"},
		{"an attribute with no value", direct + `"message":"m","messageAttributes":{"a":{"dataType":"Binary.png"}}}`, push.CodeParameterValueInvalid, "must have a binaryValue"},
		{"bytes that are no base64", direct + `"message":"m","messageAttributes":{"a":{"dataType":"Binary","binaryValue":"?"}}}`, push.CodeParameterValueInvalid, "not base64"},
		{"entries and a message", direct + `"message":"m","entries":[{"id":"a","message":"m"}]}`, push.CodeValidationError, "not both"},
		{"no entries", direct + `"entries":[]}`, push.CodeEmptyBatch, "doesn't contain any entries"},
		{"eleven entries", entries(11, "e#"), push.CodeTooManyEntries, "more entries"},
		{"entries of the same id", entries(2, "e"), push.CodeBatchIDsNotDistinct, "same Id"},
		{"an entry without an id", entries(1, ""), push.CodeInvalidBatchEntryID, "1 to 80"},
		{"an entry with a long id", entries(1, strings.Repeat("x", 81)), push.CodeInvalidBatchEntryID, "1 to 80"},
		{"an entry with a space in its id", entries(1, "a b"), push.CodeInvalidBatchEntryID, "1 to 80"},
		{"an EventBridge event without an id", `{"detail-type":"x","source":"s","detail":{}}`, push.CodeValidationError, "no id, source or detail"},
		{"an EventBridge event without detail", `{"detail-type":"x","source":"s","id":"1"}`, push.CodeValidationError, "no id, source or detail"},
		{"a replay of a wrong type", `{"detail-type":"x","source":"s","id":"1","detail":{},"replay-name":7}`, push.CodeValidationError, `member "replay-name"`},
		{"an EventBridge event of wrong types", `{"detail-type":"x","source":1}`, push.CodeValidationError, `member "source" must not be of type number`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h, api, publisher := newHandler()
			answer, err := h.Handle(context.Background(), json.RawMessage(c.event))
			e, ok := errors.AsType[messages.InvokeResponse_Error](err)
			if !ok || e.Type != string(c.code) || !strings.Contains(e.Message, c.text) || answer != nil {
				t.Errorf("got %v and %#v, want %s: …%s…", answer, err, c.code, c.text)
			}
			if len(api.requests)+len(publisher.calls) != 0 {
				t.Error("the refused event was passed on")
			}
		})
	}
}

func TestEventBridgeEventsAreRefusedWhenNoTopicIsSet(t *testing.T) {
	h, _, publisher := newHandler()
	h.EventTopic = ""
	_, err := h.Handle(context.Background(), readFixture(t, "publish-eventbridge.json"))
	if err == nil || !strings.Contains(err.Error(), "POSTINO_EVENT_TOPIC_ARN") || len(publisher.calls) != 0 {
		t.Errorf("got %v after %d calls", err, len(publisher.calls))
	}
}

func TestAReplayedEventBridgeEventIsANewMessage(t *testing.T) {
	h, _, publisher := newHandler()
	for _, event := range []string{
		`{"detail-type":"x","source":"s","id":"1","detail":{}}`,
		`{"detail-type":"x","source":"s","id":"1","detail":{},"replay-name":"again"}`,
	} {
		if _, err := h.Handle(context.Background(), json.RawMessage(event)); err != nil {
			t.Fatal(err)
		}
	}
	got := []string{publisher.calls[0].Invocation, publisher.calls[1].Invocation}
	if d := cmp.Diff([]string{"eventbridge:1", "eventbridge:1:again"}, got); d != "" {
		t.Error(d)
	}
}

func TestADirectPublishIsNamedAfterLambdasRequest(t *testing.T) {
	h, _, publisher := newHandler()
	ctx := lambdacontext.NewContext(context.Background(), &lambdacontext.LambdaContext{AwsRequestID: "r-1"})
	if _, err := h.Handle(ctx, readFixture(t, "publish-direct.json")); err != nil {
		t.Fatal(err)
	}
	if got := publisher.calls[0].Invocation; got != "lambda:r-1" {
		t.Errorf("invocation %q", got)
	}
}

// TestLambdaShowsCodesAndAnswersOnTheWire goes through aws-lambda-go's own
// handler, whose JSON is what callers get.
func TestLambdaShowsCodesAndAnswersOnTheWire(t *testing.T) {
	h, _, publisher := newHandler()
	handler := lambda.NewHandler(h.Handle)
	got, err := handler.Invoke(context.Background(), readFixture(t, "publish-direct.json"))
	if err != nil || strings.TrimSpace(string(got)) != `{"messageId":"m-0"}` {
		t.Errorf("got %s, %v", got, err)
	}
	got, err = handler.Invoke(context.Background(), []byte(`{"topicArn":"`+topicARN+`","entries":[{"id":"a","message":"m"}]}`))
	if err != nil || strings.TrimSpace(string(got)) != `{"successful":[{"id":"a","messageId":"m-0"}],"failed":[]}` {
		t.Errorf("got %s, %v", got, err)
	}
	publisher.fails = push.Errorf(push.CodeNotFound, "Topic does not exist")
	_, err = handler.Invoke(context.Background(), readFixture(t, "publish-direct.json"))
	if e, ok := err.(messages.InvokeResponse_Error); !ok || e.Type != "NotFound" || e.Message != "Topic does not exist" {
		t.Errorf("got %#v", err)
	}
}

func TestOurOwnFailuresAreLoggedAndNotShown(t *testing.T) {
	secret := errors.New("database says key=s3cret")
	entries := json.RawMessage(`{"topicArn":"` + topicARN + `","entries":[{"id":"a","message":"m"},{"id":"b","message":"m"}]}`)
	cases := map[string]func(p *fakePublisher, a *fakeAPI) (event json.RawMessage){
		"of the call": func(p *fakePublisher, _ *fakeAPI) json.RawMessage { p.fails = secret; return entries },
		"of one entry": func(p *fakePublisher, _ *fakeAPI) json.RawMessage {
			p.refuse = map[string]error{"a": secret}
			return entries
		},
		"of the API": func(_ *fakePublisher, a *fakeAPI) json.RawMessage {
			a.panics = true
			return readFixture(t, "publish-function-url.json")
		},
	}
	for name, arrange := range cases {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			h, api, publisher := newHandler()
			h.Log = slog.New(slog.NewJSONHandler(&log, nil))
			answer, err := h.Handle(context.Background(), arrange(publisher, api))
			shown := fmt.Sprintf("%+v %v", answer, err)
			if !strings.Contains(shown, "InternalError") || strings.Contains(shown, "s3cret") {
				t.Errorf("the caller sees %s", shown)
			}
			if !strings.Contains(log.String(), "s3cret") {
				t.Errorf("the log says %q", log.String())
			}
		})
	}
}

func TestAPanicInTheFrontDoorIsA500(t *testing.T) {
	h, api, _ := newHandler()
	api.panics = true
	answer, err := h.HandleURL(context.Background(), events.LambdaFunctionURLRequest{})
	if err != nil || answer.StatusCode != 500 || !strings.Contains(answer.Body, "<Code>InternalError</Code>") {
		t.Errorf("got %+v, %v", answer, err)
	}
}

func FuzzHandleAnswersOrRefusesWhateverComesIn(f *testing.F) {
	for name := range publishCases {
		f.Add(readFixture(f, name))
	}
	f.Add([]byte(`{"topicArn":null,"entries":[null]}`))
	f.Add([]byte(`{"requestContext":null,"body":"=","isBase64Encoded":true}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		h, api, publisher := newHandler()
		answer, err := h.Handle(context.Background(), raw)
		if (answer == nil) == (err == nil) {
			t.Fatalf("answer %v and error %v", answer, err)
		}
		if e, ok := err.(messages.InvokeResponse_Error); err != nil && (!ok || e.Type == string(push.CodeInternalError)) {
			t.Fatalf("a bad event is called our own failure: %v", err)
		}
		if len(api.requests)+len(publisher.calls) > 1 {
			t.Fatal("one event became several calls")
		}
	})
}

func TestADirectPublishBringsATraceForEachMessage(t *testing.T) {
	const (
		call  = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
		entry = "00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbb-00"
		head  = `{"topicArn":"` + topicARN + `","traceparent":"` + call + `","tracestate":"rojo=1",`
	)
	for name, c := range map[string]struct {
		event string
		want  []push.Trace
	}{
		"one message": {head + `"message":"m"}`, []push.Trace{{Parent: call, State: "rojo=1"}}},
		"entries with and without one of their own": {head + `"entries":[{"id":"a","message":"m"},{"id":"b","message":"m","traceparent":"` + entry + `"}]}`,
			[]push.Trace{{Parent: call, State: "rojo=1"}, {Parent: entry}}},
		"no valid one": {`{"topicArn":"` + topicARN + `","traceparent":"00-1-2-3","tracestate":"rojo=1","message":"m"}`, []push.Trace{{}}},
	} {
		t.Run(name, func(t *testing.T) {
			h, _, publisher := newHandler()
			if _, err := h.Handle(context.Background(), json.RawMessage(c.event)); err != nil {
				t.Fatal(err)
			}
			var got []push.Trace
			for _, p := range publisher.calls[0].Entries {
				got = append(got, p.Trace)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
