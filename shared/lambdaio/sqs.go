package lambdaio

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"postino/shared/pipeline"
	"postino/shared/push"
)

// FromSQSMessage reads a record of an SQS event. Attributes come in the order of
// their names, Binary values as standard base64. A receive count that is missing
// or no number reads as 1: it is only ever shown, attempts are counted in jobs.
func FromSQSMessage(m events.SQSMessage) pipeline.Record {
	r := pipeline.Record{
		ID: m.MessageId, Body: m.Body, Queue: m.EventSourceARN,
		Group: m.Attributes["MessageGroupId"], ReceiveCount: 1,
	}
	if n, err := strconv.Atoi(m.Attributes["ApproximateReceiveCount"]); err == nil && n > 0 {
		r.ReceiveCount = n
	}
	for name, a := range m.MessageAttributes {
		value := base64.StdEncoding.EncodeToString(a.BinaryValue)
		if !(push.Attribute{Type: a.DataType}).Binary() {
			value = ""
			if a.StringValue != nil {
				value = *a.StringValue
			}
		}
		r.Attributes = append(r.Attributes, push.Attribute{Name: name, Type: a.DataType, Value: value})
	}
	slices.SortFunc(r.Attributes, func(a, b push.Attribute) int { return strings.Compare(a.Name, b.Name) })
	return r
}

// ToSQSMessage makes the record Lambda's poller would: system attributes as
// decimal strings, times in Unix milliseconds, the region from the queue's ARN.
// receipt is the handle by which the poller deletes the message; handlers do not
// read it. The MD5 sums stay empty. A Binary value that is no base64 stays empty.
func ToSQSMessage(r pipeline.Record, receipt string, sent time.Time) events.SQSMessage {
	m := events.SQSMessage{
		MessageId: r.ID, ReceiptHandle: receipt, Body: r.Body,
		EventSource: "aws:sqs", EventSourceARN: r.Queue,
		Attributes: map[string]string{
			"ApproximateReceiveCount": strconv.Itoa(r.ReceiveCount),
			"SentTimestamp":           strconv.FormatInt(sent.UnixMilli(), 10),
		},
	}
	if arn, err := push.ParseARN(r.Queue); err == nil {
		m.AWSRegion = arn.Region
	}
	if r.Group != "" {
		m.Attributes["MessageGroupId"] = r.Group
	}
	if len(r.Attributes) > 0 {
		m.MessageAttributes = make(map[string]events.SQSMessageAttribute, len(r.Attributes))
	}
	for _, a := range r.Attributes {
		out := events.SQSMessageAttribute{DataType: a.Type}
		if a.Binary() {
			out.BinaryValue, _ = base64.StdEncoding.DecodeString(a.Value)
		} else {
			value := a.Value
			out.StringValue = &value
		}
		m.MessageAttributes[a.Name] = out
	}
	return m
}
