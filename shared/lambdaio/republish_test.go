package lambdaio

import (
	"errors"
	"strings"
	"testing"

	"postino/shared/pipeline"
	"postino/shared/push"
)

func invocationRecord(request, payload string) string {
	return `{"version":"1.0","requestContext":{"requestId":"` + request + `","condition":"RetriesExhausted"},"requestPayload":` + payload + `}`
}

func TestAnInvocationWithoutARequestIDIsNamedAfterItsQueueMessage(t *testing.T) {
	h, _, publisher := newHandler()
	for _, id := range []string{"queue-1", "queue-1", "queue-2"} {
		if err := h.Republish(t.Context(), pipeline.Record{ID: id, Body: invocationRecord("", `{"topicArn":"`+topicARN+`","message":"m"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	if c := publisher.calls; c[0].Invocation != "lambda:queue-1" || c[0].Invocation != c[1].Invocation || c[1].Invocation == c[2].Invocation {
		t.Errorf("named %q, %q and %q", c[0].Invocation, c[1].Invocation, c[2].Invocation)
	}
}

func TestWhatNeverCanBePublishedIsToldFromWhatCannotNow(t *testing.T) {
	direct := `{"topicArn":"` + topicARN + `","message":"m"}`
	batch := `{"topicArn":"` + topicARN + `","entries":[{"id":"a","message":"m"},{"id":"b","message":"m"}]}`
	gone, down := push.Errorf(push.CodeNotFound, "Topic does not exist"), errors.New("store down")
	cases := map[string]struct {
		body  string
		fails error
		entry error
		final string // "" when the record must come back
	}{
		"a topic that is gone":        {invocationRecord("r", direct), gone, nil, "Topic does not exist"},
		"a store that is down":        {invocationRecord("r", direct), down, nil, ""},
		"a throttle":                  {invocationRecord("r", direct), push.Errorf(push.CodeThrottling, "Rate exceeded"), nil, ""},
		"an entry that is refused":    {invocationRecord("r", batch), nil, gone, "1 of its entries are refused, b first: Topic does not exist"},
		"an entry that is not stored": {invocationRecord("r", batch), nil, down, ""},
		"an HTTP request":             {invocationRecord("r", `{"requestContext":{}}`), nil, nil, "no failed publish"},
		"a payload that is no object": {invocationRecord("r", `7`), nil, nil, "no failed publish"},
		"a record without a payload":  {`{"requestContext":{"condition":"x"}}`, nil, nil, "no failed publish"},
		"no JSON":                     {`?`, nil, nil, "no failed publish"},
		"a direct publish that is no": {invocationRecord("r", `{"topicArn":7}`), nil, nil, "cannot be read"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h, api, publisher := newHandler()
			publisher.fails = c.fails
			publisher.refuse = map[string]error{"b": c.entry}
			err := h.Republish(t.Context(), pipeline.Record{ID: "1", Body: c.body})
			var final *pipeline.UnsendableError
			if is := errors.As(err, &final); err == nil || is != (c.final != "") || !strings.Contains(err.Error(), c.final) {
				t.Errorf("got %v, want a final refusal that says %q", err, c.final)
			}
			if len(api.requests) != 0 {
				t.Error("it was served as an HTTP request")
			}
		})
	}
}

func FuzzRepublishPublishesOnceOrSaysWhyNot(f *testing.F) {
	f.Add(invocationRecord("r", `{"topicArn":"`+topicARN+`","message":"m"}`))
	f.Add(`{"detail-type":"x","source":"s","id":"1","detail":{}}`)
	f.Add(`{"requestContext":{"condition":"x"},"requestPayload":null}`)
	f.Fuzz(func(t *testing.T, body string) {
		h, _, publisher := newHandler()
		err := h.Republish(t.Context(), pipeline.Record{ID: "1", Body: body})
		var final *pipeline.UnsendableError
		if published := len(publisher.calls) == 1; published != (err == nil) && !errors.As(err, &final) || len(publisher.calls) > 1 {
			t.Fatalf("%d publishes and %v", len(publisher.calls), err)
		}
	})
}
