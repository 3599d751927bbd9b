package lambdaio

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"postino/shared/pipeline"
	"postino/shared/push"
	"postino/shared/snsapi"
)

const fixtures = "../../events"

// publishCases say what each publish-*.json must bring about.
var publishCases = map[string]func(t *testing.T, answer any, api *fakeAPI, publisher *fakePublisher){
	"publish-function-url.json":             wantsPublishForm,
	"publish-function-url-base64-form.json": wantsPublishForm,
	"publish-function-url-batch.json": func(t *testing.T, answer any, api *fakeAPI, _ *fakePublisher) {
		form := wantsForm(t, answer, api)
		if form.Get("Action") != "PublishBatch" || form.Get("PublishBatchRequestEntries.member.3.Id") != "order-1044" {
			t.Errorf("the API saw %v", form)
		}
	},
	"publish-function-url-confirm-link.json": func(t *testing.T, answer any, api *fakeAPI, _ *fakePublisher) {
		r := wantsRequest(t, answer, api)
		query, err := url.ParseQuery(r.RawQuery)
		if err != nil || r.Method != "GET" || r.Path != "/" || query.Get("Action") != "ConfirmSubscription" ||
			query.Get("TopicArn") != topicARN || len(query.Get("Token")) != 288 || len(r.Body) != 0 {
			t.Errorf("the API saw %+v (%v)", r, err)
		}
	},
	"publish-function-url-certificate.json": func(t *testing.T, answer any, api *fakeAPI, _ *fakePublisher) {
		r := wantsRequest(t, answer, api)
		if r.Method != "GET" || r.Path != "/SimpleNotificationService-7506a1e35b36ef5a444dd1a8e7cc3ed8.pem" || r.RawQuery != "" {
			t.Errorf("the API saw %+v", r)
		}
	},
	"publish-direct.json": func(t *testing.T, answer any, _ *fakeAPI, publisher *fakePublisher) {
		subject := "Order paid"
		wantsCalls(t, publisher, pipeline.PublishRequest{TopicARN: topicARN, Entries: []push.Publication{{
			Message: `{"default":"Order 1042 was paid","https":"{\"order\":1042}"}`, Subject: &subject, Structure: "json",
			Attributes: []push.Attribute{{Name: "amount", Type: "Number.EUR", Value: "19.90"}, {Name: "digest", Type: "Binary", Value: "AP8QIA=="}, {Name: "kind", Type: "String", Value: "paid"}},
		}}})
		if d := cmp.Diff(any(PublishAnswer{"m-0"}), answer); d != "" {
			t.Error(d)
		}
	},
	"publish-direct-batch.json": func(t *testing.T, answer any, _ *fakeAPI, publisher *fakePublisher) {
		subject := "Order paid"
		wantsCalls(t, publisher, pipeline.PublishRequest{TopicARN: topicARN, Entries: []push.Publication{
			{EntryID: "order-1042", Message: "Order 1042 was paid", Subject: &subject},
			{EntryID: "order-1043", Message: "Order 1043 was paid", Attributes: []push.Attribute{{Name: "kind", Type: "String", Value: "paid"}}},
		}})
		want := BatchAnswer{
			Successful: []BatchSuccess{{"order-1042", "m-0"}, {"order-1043", "m-1"}},
			Failed:     []BatchFailure{{"order-1044", push.CodeParameterValueInvalid, "The message attribute 'digest' of type 'Binary' must have a binaryValue and nothing else.", true}},
		}
		if d := cmp.Diff(any(want), answer); d != "" {
			t.Error(d)
		}
	},
	"publish-eventbridge.json": func(t *testing.T, answer any, _ *fakeAPI, publisher *fakePublisher) {
		raw := readFixture(t, "publish-eventbridge.json")
		wantsCalls(t, publisher, pipeline.PublishRequest{
			TopicARN: topicARN, Invocation: "eventbridge:17793124-05d4-b198-2fde-7ededc63b103", Event: true,
			Entries: []push.Publication{{Message: string(raw)}},
		})
		if d := cmp.Diff(any(PublishAnswer{"m-0"}), answer); d != "" {
			t.Error(d)
		}
	},
}

// batchCases say what the records of each SQS fixture must read as: nil for what
// the verb cannot read. The failed list must be those of the records that the
// recording verb below gives back: it returns unreadable ones.
var batchCases = map[string][]func(t *testing.T, r pipeline.Record){
	"deliver-sqs.json":                   {job(1, "initial", push.Notification)},
	"deliver-sqs-batch-with-poison.json": {job(1, "initial", push.Notification), nil, nil, job(1, "initial", push.Notification)},
	"deliver-confirmation.json":          {job(1, "initial", push.SubscriptionConfirm)},
	"deliver-retry.json": {func(t *testing.T, r pipeline.Record) {
		job(3, "backoff", push.Notification)(t, r)
		j, _ := push.DecodeJob(r.Body)
		if r.ReceiveCount != 2 || j.Stumbles != 1 || !j.NotBefore.Equal(time.UnixMilli(1796120823246)) {
			t.Errorf("receive count %d, job %+v", r.ReceiveCount, j)
		}
	}},
	"fanout-sqs.json": {
		page(func(p pipeline.FanoutPage) bool {
			return p.After == subscriptionARN && p.Only == nil && p.Messages[push.HTTP] != nil && p.Messages[push.HTTPS] != nil
		}),
		page(func(p pipeline.FanoutPage) bool { return p.After == "" && len(p.Only) == 2 && len(p.Messages) == 1 }),
	},
	"redrive-sqs.json": {letter(func(r pipeline.Record, n pipeline.DeadLetterNote) bool {
		return len(r.Attributes) == 1 && n.Status == 503 && n.Attempts == 4 && strings.Contains(r.Body, `"Type" : "Notification"`)
	})},
	"redrive-sqs-raw.json": {letter(func(r pipeline.Record, n pipeline.DeadLetterNote) bool {
		return n.Raw && n.Subject == "Order paid" && r.Body == `{"order":1042}` &&
			cmp.Equal(r.Attributes[1:], []push.Attribute{{Name: "digest", Type: "Binary", Value: "AP8QIA=="}, {Name: "kind", Type: "String", Value: "paid"}})
	})},
	"redrive-sqs-failed-jobs.json": {job(2, "backoff", push.Notification), nil},
	"redrive-sqs-failed-invocations.json": {
		failed("lambda:3a1f8c64-5d1f-4b6e-8a3c-5f0b1f0d9e77"),
		failed("eventbridge:17793124-05d4-b198-2fde-7ededc63b103"),
		failed("eventbridge:17793124-05d4-b198-2fde-7ededc63b103"),
	},
}

// failed checks that a failed invocation is published under the given name.
func failed(invocation string) func(*testing.T, pipeline.Record) {
	return func(t *testing.T, r pipeline.Record) {
		h, api, publisher := newHandler()
		if err := h.Republish(t.Context(), r); err != nil || len(api.requests) != 0 || len(publisher.calls) != 1 {
			t.Fatalf("%v after %d publishes", err, len(publisher.calls))
		}
		if got := publisher.calls[0]; got.Invocation != invocation || got.TopicARN != topicARN {
			t.Errorf("published as %+v", got)
		}
	}
}

func TestEveryEventFixtureIsAnsweredByItsFunction(t *testing.T) {
	files, err := filepath.Glob(fixtures + "/*")
	if err != nil {
		t.Fatal(err)
	}
	unseen := map[string]bool{}
	for name := range publishCases {
		unseen[name] = true
	}
	for name := range batchCases {
		unseen[name] = true
	}
	for _, path := range files {
		name := filepath.Base(path)
		if !unseen[name] {
			t.Errorf("events/%s is in no case of this test", name)
		}
		delete(unseen, name)
		t.Run(name, func(t *testing.T) {
			if check, ok := publishCases[name]; ok {
				runPublish(t, name, check)
			} else {
				runBatch(t, name, batchCases[name])
			}
		})
	}
	for name := range maps.Keys(unseen) {
		t.Errorf("events/%s does not exist", name)
	}
}

func runPublish(t *testing.T, name string, check func(*testing.T, any, *fakeAPI, *fakePublisher)) {
	raw := readFixture(t, name)
	switch {
	case strings.HasPrefix(name, "publish-function-url"):
		decodeStrictly(t, withoutUntyped(t, raw), new(events.LambdaFunctionURLRequest))
	case strings.HasPrefix(name, "publish-eventbridge"):
		decodeStrictly(t, raw, new(events.EventBridgeEvent))
	default:
		decodeStrictly(t, raw, new(DirectPublish))
	}
	h, api, publisher := newHandler()
	answer, err := h.Handle(context.Background(), raw)
	if err != nil {
		t.Fatal(err)
	}
	check(t, answer, api, publisher)
}

func runBatch(t *testing.T, name string, checks []func(*testing.T, pipeline.Record)) {
	var e events.SQSEvent
	decodeStrictly(t, readFixture(t, name), &e)
	want := []events.SQSBatchItemFailure{}
	h := BatchHandler{Process: func(_ context.Context, records []pipeline.Record) (failed []string) {
		if len(records) != len(checks) {
			t.Fatalf("%d records, want %d", len(records), len(checks))
		}
		for i, r := range records {
			if r.Queue == "" || r.ID != e.Records[i].MessageId {
				t.Errorf("record %d reads as %+v", i, r)
			}
			if checks[i] == nil {
				failed = append(failed, r.ID)
				want = append(want, events.SQSBatchItemFailure{ItemIdentifier: r.ID})
				if _, err := push.DecodeJob(r.Body); err == nil {
					t.Errorf("record %d is no poison", i)
				}
				continue
			}
			checks[i](t, r)
		}
		return failed
	}}
	answer, err := h.Handle(context.Background(), e)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, answer.BatchItemFailures); d != "" {
		t.Error(d)
	}
}

func job(attempt int, phase string, kind push.Kind) func(*testing.T, pipeline.Record) {
	return func(t *testing.T, r pipeline.Record) {
		t.Helper()
		j, err := push.DecodeJob(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		if j.Attempt != attempt || j.Phase != phase || j.Kind != kind || (j.Message.Token != "") != (kind != push.Notification) {
			t.Errorf("the job is %+v", j)
		}
		if id := j.Subscription[len(topicARN)+1:]; r.Group != id && !strings.HasSuffix(r.Queue, ":FailedJobsQueue") {
			t.Errorf("the job's group is %q, its subscription %s", r.Group, id)
		}
		if encoded := j.Encode(); encoded != r.Body {
			t.Errorf("the job is not as Postino writes it:\n%s\n%s", r.Body, encoded)
		}
	}
}

func page(ok func(pipeline.FanoutPage) bool) func(*testing.T, pipeline.Record) {
	return func(t *testing.T, r pipeline.Record) {
		t.Helper()
		var p pipeline.FanoutPage
		decodeStrictly(t, []byte(r.Body), &p)
		if p.V != 1 || p.Topic != topicARN || !ok(p) {
			t.Errorf("the page is %+v", p)
		}
	}
}

func letter(ok func(pipeline.Record, pipeline.DeadLetterNote) bool) func(*testing.T, pipeline.Record) {
	return func(t *testing.T, r pipeline.Record) {
		t.Helper()
		var n pipeline.DeadLetterNote
		if len(r.Attributes) == 0 || r.Attributes[0].Name != pipeline.DeadLetterAttribute {
			t.Fatalf("the letter's attributes are %v", r.Attributes)
		}
		decodeStrictly(t, []byte(r.Attributes[0].Value), &n)
		if n.V != 1 || n.Subscription != subscriptionARN || n.Topic != topicARN || n.MessageID == "" || n.Published.IsZero() || !ok(r, n) {
			t.Errorf("the letter is %+v with %+v", r, n)
		}
	}
}

func wantsPublishForm(t *testing.T, answer any, api *fakeAPI, _ *fakePublisher) {
	form := wantsForm(t, answer, api)
	if form.Get("Action") != "Publish" || form.Get("TopicArn") != topicARN || form.Get("Message") != "Order 1042 was paid – 19.90 €" {
		t.Errorf("the API saw %v", form)
	}
	if got := api.requests[0].Header.Get("Amz-Sdk-Invocation-Id"); got != "2f6f3f70-8a0b-4c2b-8d0e-6f4a5c1d9e33" {
		t.Errorf("the API saw invocation id %q", got)
	}
}

func wantsForm(t *testing.T, answer any, api *fakeAPI) url.Values {
	t.Helper()
	r := wantsRequest(t, answer, api)
	form, err := url.ParseQuery(string(r.Body))
	if err != nil || r.Method != "POST" || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		t.Fatalf("the API saw %+v (%v)", r, err)
	}
	return form
}

func wantsRequest(t *testing.T, answer any, api *fakeAPI) snsapi.Request {
	t.Helper()
	want := events.LambdaFunctionURLResponse{StatusCode: 200, Headers: map[string]string{"Content-Type": "text/xml"}, Body: "<ok/>"}
	if d := cmp.Diff(any(want), answer); d != "" {
		t.Fatal(d)
	}
	if len(api.requests) != 1 {
		t.Fatalf("the API saw %d requests", len(api.requests))
	}
	return api.requests[0]
}

func wantsCalls(t *testing.T, p *fakePublisher, want ...pipeline.PublishRequest) {
	t.Helper()
	if d := cmp.Diff(want, p.calls); d != "" {
		t.Error(d)
	}
}

func readFixture(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(fixtures, name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func decodeStrictly(t *testing.T, raw []byte, v any) {
	t.Helper()
	if err := strict(raw, v); err != nil {
		t.Fatal(err)
	}
}

// withoutUntyped drops the members that Function URLs send and aws-lambda-go's
// type does not have, so that the rest can be decoded strictly.
func withoutUntyped(t *testing.T, raw []byte) []byte {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	delete(m, "routeKey")
	c := m["requestContext"].(map[string]any)
	delete(c, "routeKey")
	delete(c, "stage")
	out, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
