package snsapi

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"postino/shared/pipeline"
	"postino/shared/push"
)

// maxInvocation bounds the client's own name of its call, in bytes; SDKs send a
// UUID. A longer one is as good as none.
const maxInvocation = 128

func (a *API) publish(ctx context.Context, c *call) error {
	arn, err := a.target(c)
	if err != nil {
		return err
	}
	p, err := publication(c.params, "messageAttributes")
	if err != nil {
		return err
	}
	results, err := a.hand(ctx, c, arn, []push.Publication{p})
	if err != nil {
		return err
	}
	if results[0].Err != nil {
		return results[0].Err
	}
	c.out.text("MessageId", results[0].MessageID)
	return nil
}

// target is the topic a Publish addresses, by either of two parameters.
func (a *API) target(c *call) (string, error) {
	topic, target := c.params["TopicArn"], c.params["TargetArn"]
	switch {
	case c.params["PhoneNumber"] != "":
		return "", push.Invalid("%s", notServed("PhoneNumber"))
	case topic == "" && target == "":
		return "", push.Invalid("TopicArn or TargetArn Reason: no value for required parameter")
	case topic != "" && target != "" && topic != target:
		return "", push.Invalid("TopicArn or TargetArn Reason: both are given and differ")
	case topic != "":
		return a.topicARN(c, "TopicArn")
	}
	if arn, err := push.ParseARN(target); err == nil && strings.HasPrefix(arn.Resource, "endpoint/") {
		return "", push.Invalid("TargetArn Reason: No endpoint found for the target arn specified")
	}
	return a.topicARN(c, "TargetArn")
}

// publication reads one message. path names its attributes in an error's text.
// What can be judged of the message itself is the pipeline's to judge.
func publication(p params, path string) (push.Publication, error) {
	out := push.Publication{
		EntryID: p["Id"], Message: p["Message"], Structure: p["MessageStructure"],
		GroupID: p["MessageGroupId"], DeduplicationID: p["MessageDeduplicationId"],
	}
	if subject, ok := p["Subject"]; ok {
		out.Subject = &subject
	}
	if out.DeduplicationID != "" { // every topic served is a standard one
		return out, push.Invalid("MessageDeduplicationId Reason: The request includes MessageDeduplicationId parameter that is not valid for this topic type")
	}
	var err error
	out.Attributes, err = p.messageAttributes(path)
	return out, err
}

func (a *API) publishBatch(ctx context.Context, c *call) error {
	members, err := c.params.list("PublishBatchRequestEntries.member")
	if err != nil {
		return err
	}
	if err := checkBatch(members); err != nil {
		return err
	}
	arn, err := a.topicARN(c, "TopicArn")
	if err != nil {
		return err
	}
	entries := make([]push.Publication, len(members))
	for i, m := range members {
		entries[i], err = publication(m, "publishBatchRequestEntries."+strconv.Itoa(i+1)+".member.messageAttributes")
		if err != nil {
			return err
		}
		// SNS refuses the whole batch for one message attribute of a wrong form
		// (recorded), not the entry.
		if err := entries[i].Validate(); err != nil && push.CodeOf(err) == push.CodeParameterValueInvalid {
			return err
		}
	}
	results, err := a.hand(ctx, c, arn, entries)
	if err != nil {
		return err
	}
	c.batchResults(results)
	return nil
}

// checkBatch judges the batch as such; texts and order as recorded from SNS.
func checkBatch(members []params) error {
	if len(members) == 0 {
		return push.Errorf(push.CodeEmptyBatch, "The batch request doesn't contain any entries.")
	}
	if len(members) > pipeline.MaxBatch {
		return push.Errorf(push.CodeTooManyEntries, "The batch request contains more entries than permissible.")
	}
	seen := make(map[string]bool, len(members))
	for _, m := range members {
		if seen[m["Id"]] {
			return push.Errorf(push.CodeBatchIDsNotDistinct, "Two or more batch entries in the request have the same Id.")
		}
		seen[m["Id"]] = true
	}
	for _, m := range members {
		id := m["Id"]
		switch {
		case len(id) > 80:
			return push.Errorf(push.CodeInvalidBatchEntryID, "The Id of a batch entry in the batch request is too long: %s", clip(id))
		case !topicName(id): // the same letters as a topic's name
			return push.Errorf(push.CodeInvalidBatchEntryID, "The Id of a batch entry in the batch request contains an impermissible character: %s", clip(id))
		}
	}
	return nil
}

func (a *API) hand(ctx context.Context, c *call, arn string, entries []push.Publication) ([]pipeline.PublishResult, error) {
	r := pipeline.PublishRequest{TopicARN: arn, Entries: entries}
	trace := push.ParseTrace(c.header.Get("Traceparent"), c.header.Get("Tracestate"))
	for i := range entries {
		entries[i].Trace = trace
	}
	if id := c.header.Get("Amz-Sdk-Invocation-Id"); len(id) <= maxInvocation {
		r.Invocation = id
	}
	results, err := a.Publisher.Publish(ctx, r)
	if push.IsNotFound(err) {
		return nil, noTopic()
	}
	if err == nil && len(results) != len(entries) {
		err = errors.New("publishing answered " + strconv.Itoa(len(results)) + " results for " + strconv.Itoa(len(entries)) + " entries")
	}
	return results, err
}

func (c *call) batchResults(results []pipeline.PublishResult) {
	c.out.open("Successful")
	for _, r := range results {
		if r.Err == nil {
			c.out.open("member")
			c.out.text("Id", r.EntryID)
			c.out.text("MessageId", r.MessageID)
			c.out.close("member")
		}
	}
	c.out.close("Successful")
	c.out.open("Failed")
	for _, r := range results {
		if r.Err == nil {
			continue
		}
		why := refusal(r.Err)
		c.out.open("member")
		c.out.text("Id", r.EntryID)
		c.out.text("Code", string(why.Code))
		c.out.text("Message", why.Text)
		c.out.text("SenderFault", strconv.FormatBool(status(why.Code) < 500))
		c.out.close("member")
	}
	c.out.close("Failed")
}
