package first

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/uuid"

	"postino/infra/functionurl"
	"postino/shared/envelope"
	"postino/shared/lambdaio"
	"postino/shared/pipeline"
	"postino/shared/push"
)

// event makes a function's event, and tells the id of its message, which publish
// itself gives.
func (t *Topic) event(ctx context.Context, function string) (event []byte, id string, err error) {
	if function == "publish" {
		form := url.Values{"Action": {"Publish"}, "Version": {"2010-03-31"}, "TopicArn": {t.arn}, "Message": {"a cold start"}}
		event, err = functionurl.Call(ctx, form, t.key, time.Now())
		return event, "", err
	}
	// Deliver pushes a message that is signed as it is.
	m := push.Message{ID: uuid.NewString(), TopicARN: t.arn, Body: "a cold start", Timestamp: time.Now().UTC().Truncate(time.Millisecond),
		Signature: push.Signature{Version: "1", Value: "bm8gb25lIGNoZWNrcyBpdA==", CertURL: t.endpoint() + "/certificate.pem"}}
	r := pipeline.Record{ID: uuid.NewString(), ReceiveCount: 1}
	switch function {
	case "fanout":
		r.Queue = t.queue("FanoutQueue")
		r.Body, err = encoded(pipeline.FanoutPage{V: push.JobVersion, Topic: t.arn, Messages: map[push.Protocol]json.RawMessage{push.HTTP: json.RawMessage(m.Encode())}})
	case "deliver":
		r.Queue = t.queue("AttemptQueue")
		r.Body = push.Job{Kind: push.Notification, Subscription: t.subscription, Attempt: 1, Message: m}.Encode()
	case "redrive":
		var note string
		note, err = encoded(pipeline.DeadLetterNote{V: 1, Subscription: t.subscription, Topic: t.arn, MessageID: m.ID, Attempts: 1, Status: 503,
			Reason: "to be sent again", Published: m.Timestamp})
		r.Queue = t.queue("DeadLetterQueue")
		r.Body, _ = envelope.DeadLetter(m, push.Subscription{ARN: t.subscription}, envelope.Links{PublicURL: t.endpoint()})
		r.Attributes = []push.Attribute{{Name: pipeline.DeadLetterAttribute, Type: "String", Value: note}}
	default:
		err = fmt.Errorf("no function is called %s", function)
	}
	if err == nil {
		event, err = json.Marshal(events.SQSEvent{Records: []events.SQSMessage{lambdaio.ToSQSMessage(r, "receipt", m.Timestamp)}})
	}
	return event, m.ID, err
}

// queue is the ARN of one of the stack's queues. Its name is the end of its URL.
func (t *Topic) queue(name string) string {
	url := t.outputs[name+"Url"]
	account := t.arn[:strings.LastIndexByte(t.arn, ':')]
	return strings.Replace(account, ":sns:", ":sqs:", 1) + ":" + url[strings.LastIndexByte(url, '/')+1:]
}

func encoded(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}
