package lambdaio

import (
	"context"
	"encoding/json"

	"github.com/aws/aws-lambda-go/events"

	"postino/shared/pipeline"
	"postino/shared/push"
)

// publishEvent publishes an EventBridge event, whole and byte for byte as it came
// in, to EventTopic. The message id follows from the event's id, so an event that
// EventBridge delivers twice is the same message twice. A replay of an archived
// event carries a replay-name (EventBridge user guide, archive and replay) and is
// a new message: whoever replays wants it delivered again.
func (h PublishHandler) publishEvent(ctx context.Context, raw json.RawMessage) (any, error) {
	var e events.EventBridgeEvent
	var replay struct {
		Name string `json:"replay-name"`
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, push.Errorf(push.CodeValidationError, "The EventBridge event cannot be read: %s", jsonProblem(err))
	}
	if err := json.Unmarshal(raw, &replay); err != nil {
		return nil, push.Errorf(push.CodeValidationError, "The EventBridge event cannot be read: %s", jsonProblem(err))
	}
	switch {
	case h.EventTopic == "":
		return nil, push.Errorf(push.CodeValidationError, "EventBridge events are not published here: POSTINO_EVENT_TOPIC_ARN names no topic.")
	case e.ID == "" || e.Source == "" || len(e.Detail) == 0:
		return nil, push.Errorf(push.CodeValidationError, "The EventBridge event has no id, source or detail.")
	}
	invocation := "eventbridge:" + e.ID
	if replay.Name != "" {
		invocation += ":" + replay.Name
	}
	return h.publishOne(ctx, pipeline.PublishRequest{
		TopicARN: h.EventTopic, Invocation: invocation, Event: true,
		Entries: []push.Publication{{Message: string(raw)}},
	})
}
