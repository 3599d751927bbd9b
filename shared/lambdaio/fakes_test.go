package lambdaio

import (
	"context"
	"fmt"
	"net/http"

	"postino/shared/pipeline"
	"postino/shared/push"
	"postino/shared/snsapi"
)

// fakeAPI records requests and answers each with the same response.
type fakeAPI struct {
	requests []snsapi.Request
	answer   snsapi.Response
	panics   bool
}

func (f *fakeAPI) Serve(_ context.Context, r snsapi.Request) snsapi.Response {
	if f.panics {
		panic("front door on fire, key=s3cret")
	}
	f.requests = append(f.requests, r)
	return f.answer
}

// fakePublisher records calls and gives ids m-0, m-1, …; fails and refuse inject
// errors for the call and by entry id.
type fakePublisher struct {
	calls  []pipeline.PublishRequest
	fails  error
	refuse map[string]error
}

func (f *fakePublisher) Publish(_ context.Context, r pipeline.PublishRequest) ([]pipeline.PublishResult, error) {
	f.calls = append(f.calls, r)
	if f.fails != nil {
		return nil, f.fails
	}
	out := make([]pipeline.PublishResult, len(r.Entries))
	for i, e := range r.Entries {
		out[i] = pipeline.PublishResult{EntryID: e.EntryID, MessageID: fmt.Sprintf("m-%d", i)}
		if err := f.refuse[e.EntryID]; err != nil {
			out[i] = pipeline.PublishResult{EntryID: e.EntryID, Err: err}
		}
	}
	return out, nil
}

func refuse(code push.Code, text string) snsapi.Response {
	return snsapi.Response{
		Status: code.HTTPStatus(), Header: http.Header{"Content-Type": {"text/xml"}},
		Body: []byte("<Code>" + string(code) + "</Code><Message>" + text + "</Message>"),
	}
}

func newHandler() (PublishHandler, *fakeAPI, *fakePublisher) {
	api := &fakeAPI{answer: snsapi.Response{Status: 200, Header: http.Header{"Content-Type": {"text/xml"}}, Body: []byte("<ok/>")}}
	publisher := &fakePublisher{}
	return PublishHandler{API: api, Publisher: publisher, Refuse: refuse, EventTopic: topicARN}, api, publisher
}

const (
	topicARN        = "arn:aws:sns:us-east-1:123456789012:orders"
	subscriptionARN = topicARN + ":3b1c2f0e-6a55-4f0e-9a44-0c7a6a1f7d10"
)
