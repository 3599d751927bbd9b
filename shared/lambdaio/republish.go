package lambdaio

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"postino/shared/pipeline"
	"postino/shared/push"
)

// Republish publishes what a failed invocation of the publish function was to
// publish. Message ids are those that the invocation itself would have given, so
// what it did before it failed is not delivered as another message. The record's
// body is what FailedJobsQueue holds of it:
//
//   - Lambda's record of an asynchronous invocation, whose requestPayload is a
//     DirectPublish or an EventBridge event (AWS Lambda developer guide,
//     "Capturing records of Lambda asynchronous invocations").
//   - An EventBridge event by itself, which EventBridge could not hand to the
//     function (EventBridge user guide, dead-letter queues).
//
// A *pipeline.UnsendableError says that it will not be published as it is;
// after any other error the record must come back.
func (h PublishHandler) Republish(ctx context.Context, r pipeline.Record) error {
	event, request := failedInvocation(r)
	err := guard(ctx, h.Log, func() error { return h.again(ctx, event, request) })
	if err == nil {
		return nil
	}
	e := asError(err)
	if e.Code == push.CodeThrottling || e.Code.HTTPStatus() >= 500 {
		return e
	}
	return &pipeline.UnsendableError{Reason: "it cannot be published: " + e.Text}
}

// failedInvocation gives the event, and the request id of the invocation. Where
// Lambda told none the queue message's own id serves: it stays the same when the
// message comes back.
func failedInvocation(r pipeline.Record) (event json.RawMessage, request string) {
	var record struct {
		RequestContext struct {
			RequestID string `json:"requestId"`
			Condition string `json:"condition"`
		} `json:"requestContext"`
		RequestPayload json.RawMessage `json:"requestPayload"`
	}
	if json.Unmarshal([]byte(r.Body), &record) == nil && record.RequestContext.Condition != "" {
		return record.RequestPayload, cmp.Or(record.RequestContext.RequestID, r.ID)
	}
	return json.RawMessage(r.Body), r.ID
}

func (h PublishHandler) again(ctx context.Context, event json.RawMessage, request string) error {
	var members map[string]json.RawMessage
	if json.Unmarshal(event, &members) != nil {
		members = nil
	}
	var answer any
	var err error
	switch {
	case members["detail-type"] != nil:
		answer, err = h.publishEvent(ctx, event)
	case members["topicArn"] != nil:
		answer, err = h.publishDirect(ctx, event, invocation(request))
	default:
		return push.Errorf(push.CodeValidationError, "it is no job, no fan-out page and no failed publish that this build reads")
	}
	if batch, ok := answer.(BatchAnswer); ok && err == nil {
		return batch.fault()
	}
	return err
}

// fault is the first failure of a batch, one of ours before a sender's: after ours
// the whole batch is published once more, under the same ids.
func (a BatchAnswer) fault() error {
	var refused error
	for _, f := range a.Failed {
		if !f.SenderFault {
			return push.Errorf(f.Code, "%s", f.Message)
		}
		if refused == nil {
			refused = push.Errorf(f.Code, "%s", fmt.Sprintf("%d of its entries are refused, %s first: %s", len(a.Failed), f.ID, f.Message))
		}
	}
	return refused
}
