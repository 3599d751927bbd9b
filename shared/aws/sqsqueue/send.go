package sqsqueue

import (
	"context"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"postino/shared/aws/awscall"
	"postino/shared/pipeline"
)

// entryTries is how often an entry is sent that SQS did not take within a batch
// it took; whole calls are tried again by the SDK.
const entryTries = 3

// Send implements pipeline.Queues: an entry whose error is nil is stored in SQS.
func (q *Queue) Send(ctx context.Context, queue string, entries []pipeline.Outgoing) []error {
	errs := make([]error, len(entries))
	if len(entries) > pipeline.MaxBatch {
		return all(errs, refuse("a batch has at most %d entries, this one %d", pipeline.MaxBatch, len(entries)))
	}
	var open []int // entries still to be stored
	for i, e := range entries {
		if errs[i] = Check(e); errs[i] == nil {
			open = append(open, i)
		}
	}
	if len(open) == 0 {
		return errs
	}
	url, err := q.url(ctx, queue)
	if err != nil {
		for _, i := range open {
			errs[i] = err
		}
		return errs
	}
	for try := 1; ; try++ {
		open = q.sendAll(ctx, queue, url, entries, open, errs)
		if len(open) == 0 || try == entryTries || q.pause(ctx, try) != nil {
			return errs
		}
	}
}

// pause waits before an entry is sent again: up to 50 ms, then up to 100 ms.
func (q *Queue) pause(ctx context.Context, try int) error {
	return q.Sleep(ctx, time.Duration(q.Random()*float64(50*time.Millisecond<<(try-1))))
}

func all(errs []error, err error) []error {
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// sendAll sends the open entries in as many calls as their size asks for, and
// gives those worth another try.
func (q *Queue) sendAll(ctx context.Context, queue, url string, entries []pipeline.Outgoing, open []int, errs []error) (again []int) {
	for len(open) > 0 {
		n, size := 0, 0
		for n < len(open) && (n == 0 || size+sizeOf(entries[open[n]]) <= maxSize) {
			size += sizeOf(entries[open[n]])
			n++
		}
		again = append(again, q.sendBatch(ctx, queue, url, entries, open[:n], errs)...)
		open = open[n:]
	}
	return again
}

// sendBatch is one call. It sets the entries' errors and gives those that SQS
// did not take this time.
func (q *Queue) sendBatch(ctx context.Context, queue, url string, entries []pipeline.Outgoing, open []int, errs []error) (again []int) {
	in := &sqs.SendMessageBatchInput{QueueUrl: &url}
	for _, i := range open {
		errs[i] = errUnanswered
		in.Entries = append(in.Entries, wire(strconv.Itoa(i), entries[i]))
	}
	call, cancel := awscall.Bound(ctx, callLimit)
	defer cancel()
	out, err := q.Client.SendMessageBatch(call, in)
	if err != nil {
		err = explain(ctx, "SendMessage", queue, err)
		for _, i := range open {
			errs[i] = err
		}
		return nil // the SDK has tried the call as often as is good
	}
	for _, r := range out.Successful {
		if i, ok := entry(r.Id, open); ok {
			errs[i] = nil
		}
	}
	for _, r := range out.Failed {
		if i, ok := entry(r.Id, open); ok {
			errs[i] = entryError(queue, r)
		}
	}
	for _, i := range open {
		if _, never := pipeline.Refused(errs[i]); errs[i] != nil && !never {
			again = append(again, i)
		}
	}
	return again
}

var errUnanswered = errors.New("sqs:SendMessage: the answer does not mention the entry")

// entry finds which of open an id stands for.
func entry(id *string, open []int) (int, bool) {
	n, err := strconv.Atoi(aws.ToString(id))
	for _, i := range open {
		if err == nil && i == n {
			return i, true
		}
	}
	return 0, false
}

func entryError(queue string, r types.BatchResultErrorEntry) error {
	code, message := aws.ToString(r.Code), aws.ToString(r.Message)
	if reason := final(code, "SendMessage", queue, message); reason != "" {
		return refuse("%s", reason)
	}
	if r.SenderFault && !awscall.Credentials(code) && !strings.Contains(code, "Throttl") {
		return refuse("the queue %s does not take the message (%s: %.200s)", queue, code, message)
	}
	return entryFault("SendMessage", queue, r)
}

// wire makes an entry of a batch. SQS counts delays in whole seconds: rounded up,
// so that nothing comes early. Without any, the queue's own counts, which is 0 in
// the template.
func wire(id string, e pipeline.Outgoing) types.SendMessageBatchRequestEntry {
	out := types.SendMessageBatchRequestEntry{Id: &id, MessageBody: &e.Body,
		DelaySeconds: int32((e.Delay + time.Second - 1) / time.Second)}
	if e.Group != "" {
		out.MessageGroupId = &e.Group
	}
	for _, a := range e.Attributes {
		v := types.MessageAttributeValue{DataType: &a.Type}
		if binary(a.Type) {
			v.BinaryValue, _ = base64.StdEncoding.DecodeString(a.Value) // checked before
		} else {
			v.StringValue = &a.Value
		}
		if out.MessageAttributes == nil {
			out.MessageAttributes = map[string]types.MessageAttributeValue{}
		}
		out.MessageAttributes[a.Name] = v
	}
	return out
}

// binary reports whether an attribute of the type holds bytes: Binary, or Binary
// with a custom suffix (SQS developer guide, message attributes).
func binary(dataType string) bool {
	return dataType == "Binary" || strings.HasPrefix(dataType, "Binary.")
}
