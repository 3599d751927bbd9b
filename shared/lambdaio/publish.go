package lambdaio

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda/messages"

	"postino/shared/pipeline"
	"postino/shared/push"
	"postino/shared/snsapi"
)

// API is the front door, *snsapi.API.
type API interface {
	Serve(ctx context.Context, r snsapi.Request) snsapi.Response
}

// Publisher is the pipeline's Publish verb, *pipeline.Publish.
type Publisher interface {
	Publish(ctx context.Context, r pipeline.PublishRequest) ([]pipeline.PublishResult, error)
}

// PublishHandler answers everything that comes in to the publish function.
type PublishHandler struct {
	// API answers Function URL requests, Publisher the other two kinds.
	API       API
	Publisher Publisher
	// Refuse renders a refusal as the API would, for requests that do not get
	// as far as the API.
	Refuse func(code push.Code, text string) snsapi.Response
	// EventTopic is the ARN EventBridge events are published to, "" to refuse them.
	EventTopic string
	// Log gets causes that callers are not shown. May be nil.
	Log *slog.Logger
}

// Handle takes whatever Lambda invokes the function with and tells the three
// kinds apart by the members they alone have (AWS Lambda developer guide,
// Function URL payloads; EventBridge user guide, event structure):
//
//   - requestContext: a Function URL request, payload version 2.0; answered with
//     an events.LambdaFunctionURLResponse.
//   - detail-type: an EventBridge event; answered with a PublishAnswer.
//   - topicArn: a DirectPublish; answered with a PublishAnswer, or with a
//     BatchAnswer when it has entries.
//
// Anything else is refused. Errors are messages.InvokeResponse_Error values, so
// that the caller sees the wire code as errorType and a safe text as errorMessage.
func (h PublishHandler) Handle(ctx context.Context, raw json.RawMessage) (any, error) {
	var answer any
	err := guard(ctx, h.Log, func() (err error) {
		answer, err = h.dispatch(ctx, raw)
		return err
	})
	if err != nil {
		return nil, h.invokeError(ctx, err)
	}
	return answer, nil
}

func (h PublishHandler) dispatch(ctx context.Context, raw json.RawMessage) (any, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return nil, push.Errorf(push.CodeValidationError, "The event is not a JSON object.")
	}
	_, isURL := members["requestContext"]
	_, isEvent := members["detail-type"]
	_, isDirect := members["topicArn"]
	switch {
	case isURL && !isEvent && !isDirect:
		var r events.LambdaFunctionURLRequest
		if err := json.Unmarshal(raw, &r); err != nil {
			return nil, push.Errorf(push.CodeValidationError, "The Function URL request cannot be read: %s", jsonProblem(err))
		}
		return h.HandleURL(ctx, r)
	case isEvent && !isURL && !isDirect:
		return h.publishEvent(ctx, raw)
	case isDirect && !isURL && !isEvent:
		return h.publishDirect(ctx, raw, invocation(requestID(ctx)))
	default:
		return nil, push.Errorf(push.CodeValidationError, "The event is no Function URL request (requestContext), EventBridge event (detail-type) or direct publish (topicArn).")
	}
}

// invokeError makes what Lambda shows the caller; the cause stays in the log.
func (h PublishHandler) invokeError(ctx context.Context, err error) error {
	e := asError(err)
	h.logFault(ctx, e)
	return messages.InvokeResponse_Error{Type: string(e.Code), Message: e.Text}
}

// logFault logs a failure on our side; a caller's mistake is the caller's to log.
func (h PublishHandler) logFault(ctx context.Context, e *push.Error) {
	if e.Code.HTTPStatus() >= 500 {
		logger(h.Log).ErrorContext(ctx, "a publish failed", "err", e)
	}
}
