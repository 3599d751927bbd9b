package operator

import (
	"context"
	"errors"

	"postino/shared/pipeline"
	"postino/shared/push"
)

// PublishInput is one message for a topic.
type PublishInput struct {
	Message string `json:"message"`
	// Subject is left out when empty.
	Subject    string      `json:"subject,omitempty"`
	Attributes []Attribute `json:"attributes,omitempty"`
	// Invocation makes a call that is repeated publish the same message again; ""
	// publishes another one.
	Invocation string `json:"invocation,omitempty"`
}

// publication is the message as topics take it.
func (in PublishInput) publication() push.Publication {
	p := push.Publication{Message: in.Message}
	if in.Subject != "" {
		p.Subject = &in.Subject
	}
	for _, a := range in.Attributes {
		p.Attributes = append(p.Attributes, push.Attribute(a))
	}
	return p
}

// Published is what Publish answers.
type Published struct {
	MessageID string `json:"messageId"`
}

// Publish sends a message to all subscriptions of a topic, which is an ARN or a
// name. Like any publisher it is answered once every delivery is stored.
func (o *Operator) Publish(ctx context.Context, topic string, in PublishInput) (Published, error) {
	results, err := o.Publisher.Publish(ctx, pipeline.PublishRequest{TopicARN: o.topicARN(topic), Invocation: in.Invocation, Entries: []push.Publication{in.publication()}})
	switch {
	case push.IsNotFound(err):
		return Published{}, push.Errorf(push.CodeNotFound, "There is no topic %q: `aws sns list-topics` shows those there are", push.Clip(topic))
	case err != nil:
		return Published{}, err
	case len(results) != 1:
		return Published{}, errors.New("publishing did not answer with one result for one message")
	}
	return Published{MessageID: results[0].MessageID}, results[0].Err
}
