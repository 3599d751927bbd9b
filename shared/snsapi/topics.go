package snsapi

import (
	"context"
	"strings"

	"postino/shared/push"
)

// topicName is what SNS allows (SNS API reference, CreateTopic); FIFO topics,
// whose names end in .fifo, are not served yet.
func topicName(s string) bool {
	return len(s) >= 1 && len(s) <= 256 && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
	}) < 0
}

// createTopic is idempotent: an existing topic's ARN is answered unless an
// attribute or tag of the request differs from it. What the request does not
// mention may be anything (recorded from SNS).
func (a *API) createTopic(ctx context.Context, c *call) error {
	attributes, err := c.params.attributes()
	if err != nil {
		return err
	}
	name := c.params["Name"]
	fifo := strings.EqualFold(attributes["FifoTopic"], "true")
	if fifo && topicName(strings.TrimSuffix(name, ".fifo")) && strings.HasSuffix(name, ".fifo") {
		return creating("FifoTopic", notServed("FifoTopic"))
	}
	if fifo || !topicName(name) {
		return push.Invalid("Topic Name")
	}
	if c.params["DataProtectionPolicy"] != "" {
		return push.Invalid("%s", notServed("DataProtectionPolicy"))
	}
	tags, err := c.params.tags()
	if err != nil {
		return err
	}
	changes, err := topicChanges(attributes)
	if err != nil {
		return err
	}
	t := push.Topic{ARN: a.arnOf(name), Tags: tags, CreatedAt: c.now}
	changes.apply(&t)
	have, created, err := a.Directory.CreateTopic(ctx, t)
	if err != nil {
		return err
	}
	if !created {
		if err := sameTopic(have, changes, tags); err != nil {
			return err
		}
	}
	c.out.text("TopicArn", have.ARN)
	return nil
}

// sameTopic refuses a CreateTopic that asks for something else than there is.
func sameTopic(have push.Topic, changes topicEdits, tags map[string]string) error {
	want := have
	changes.apply(&want)
	if want.DisplayName != have.DisplayName || want.DeliveryPolicy != have.DeliveryPolicy || want.Signature() != have.Signature() ||
		want.SuccessSampleRate != have.SuccessSampleRate {
		return push.Invalid("Attributes Reason: Topic already exists with different attributes")
	}
	for k, v := range tags {
		if old, ok := have.Tags[k]; !ok || old != v {
			return push.Invalid("Tags Reason: Topic already exists with different tags")
		}
	}
	return nil
}

func (a *API) deleteTopic(ctx context.Context, c *call) error {
	arn, err := a.topicARN(c, "TopicArn")
	if err != nil {
		return err
	}
	if err := a.Directory.DeleteTopic(ctx, arn, c.now); err != nil && !push.IsNotFound(err) {
		return err
	}
	return nil
}

// topic reads the topic a parameter names.
func (a *API) topic(ctx context.Context, c *call, parameter string) (push.Topic, error) {
	arn, err := a.topicARN(c, parameter)
	if err != nil {
		return push.Topic{}, err
	}
	t, err := a.Directory.Topic(ctx, arn)
	if push.IsNotFound(err) {
		return push.Topic{}, noTopic()
	}
	return t, err
}

func (a *API) listTopics(ctx context.Context, c *call) error {
	after, err := c.params.after("topics", "")
	if err != nil {
		return err
	}
	page, next, err := a.Directory.Topics(ctx, after, pageSize)
	if err != nil {
		return err
	}
	c.out.open("Topics")
	for _, t := range page {
		c.out.open("member")
		c.out.text("TopicArn", t.ARN)
		c.out.close("member")
	}
	c.out.close("Topics")
	c.out.next("topics", next)
	return nil
}
