package sqsqueue

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"postino/shared/aws/awscall"
	"postino/shared/pipeline"
	"postino/shared/push"
)

const (
	// maxVisibility is SQS's bound on a visibility timeout, maxWait on a poll.
	maxVisibility = 12 * time.Hour
	maxWait       = 20 * time.Second
)

// Receive hides up to max messages (ten at most) for the visibility timeout, 0
// for the queue's own. It waits up to wait for the first one, in polls of at
// most 20 s. SQS counts whole seconds; parts are rounded up.
func (q *Queue) Receive(ctx context.Context, queue string, max int, visibility, wait time.Duration) ([]pipeline.Incoming, error) {
	if max < 1 || visibility < 0 || visibility > maxVisibility {
		return nil, refuse("a receive asks for 1 to %d messages and hides them for at most %v", pipeline.MaxBatch, maxVisibility)
	}
	url, err := q.url(ctx, queue)
	if err != nil {
		return nil, err
	}
	for {
		poll := min(wait, maxWait)
		in, err := q.poll(ctx, queue, url, min(max, pipeline.MaxBatch), visibility, poll)
		if wait -= poll; err != nil || len(in) > 0 || wait <= 0 {
			return in, err
		}
	}
}

func (q *Queue) poll(ctx context.Context, queue, url string, max int, visibility, wait time.Duration) ([]pipeline.Incoming, error) {
	call, cancel := awscall.Bound(ctx, callLimit+wait)
	defer cancel()
	out, err := q.Client.ReceiveMessage(call, &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: int32(max),
		VisibilityTimeout: seconds(visibility), WaitTimeSeconds: seconds(wait), MessageAttributeNames: []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameMessageGroupId,
			types.MessageSystemAttributeNameApproximateReceiveCount, types.MessageSystemAttributeNameSentTimestamp}})
	if err != nil {
		return nil, explain(ctx, "ReceiveMessage", queue, err)
	}
	in := make([]pipeline.Incoming, len(out.Messages))
	for i, m := range out.Messages {
		in[i] = incoming(m)
	}
	return in, nil
}

func seconds(d time.Duration) int32 { return int32((d + time.Second - 1) / time.Second) }

func incoming(m types.Message) pipeline.Incoming {
	in := pipeline.Incoming{ID: aws.ToString(m.MessageId), Receipt: aws.ToString(m.ReceiptHandle), Body: aws.ToString(m.Body),
		Group: m.Attributes["MessageGroupId"], ReceiveCount: 1}
	if n, err := strconv.Atoi(m.Attributes["ApproximateReceiveCount"]); err == nil {
		in.ReceiveCount = n
	}
	if ms, err := strconv.ParseInt(m.Attributes["SentTimestamp"], 10, 64); err == nil {
		in.Sent = time.UnixMilli(ms).UTC()
	}
	for name, a := range m.MessageAttributes {
		value := aws.ToString(a.StringValue)
		if binary(aws.ToString(a.DataType)) {
			value = base64.StdEncoding.EncodeToString(a.BinaryValue)
		}
		in.Attributes = append(in.Attributes, push.Attribute{Name: name, Type: aws.ToString(a.DataType), Value: value})
	}
	slices.SortFunc(in.Attributes, func(a, b push.Attribute) int { return cmp.Compare(a.Name, b.Name) })
	return in
}

// Delete acknowledges by receipt. A stale receipt deletes nothing and is no
// error.
func (q *Queue) Delete(ctx context.Context, queue string, receipts []string) error {
	url, err := q.url(ctx, queue)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(receipts, pipeline.MaxBatch) {
		for try := 1; len(part) > 0; try++ {
			if part, err = q.deleteBatch(ctx, queue, url, part, try == entryTries); err != nil {
				return err
			}
			if len(part) > 0 {
				if err := q.pause(ctx, try); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// deleteBatch is one call; it gives the receipts worth another try, or where it
// is the last one an error.
func (q *Queue) deleteBatch(ctx context.Context, queue, url string, receipts []string, last bool) (again []string, err error) {
	in := &sqs.DeleteMessageBatchInput{QueueUrl: &url}
	for i := range receipts {
		in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: &receipts[i]})
	}
	call, cancel := awscall.Bound(ctx, callLimit)
	defer cancel()
	out, err := q.Client.DeleteMessageBatch(call, in)
	if err != nil {
		return nil, explain(ctx, "DeleteMessage", queue, err)
	}
	for _, r := range out.Failed {
		if i, err := strconv.Atoi(aws.ToString(r.Id)); err == nil && i >= 0 && i < len(receipts) && !r.SenderFault {
			if last {
				return nil, entryFault("DeleteMessage", queue, r)
			}
			again = append(again, receipts[i])
		}
	}
	return again, nil
}

// ChangeVisibility makes a received message reappear after d from now, 0 to
// 12 h. A stale receipt changes nothing.
func (q *Queue) ChangeVisibility(ctx context.Context, queue, receipt string, d time.Duration) error {
	if d < 0 || d > maxVisibility {
		return refuse("a visibility timeout is 0 to %v, not %v", maxVisibility, d)
	}
	url, err := q.url(ctx, queue)
	if err != nil {
		return err
	}
	call, cancel := awscall.Bound(ctx, callLimit)
	defer cancel()
	_, err = q.Client.ChangeMessageVisibility(call, &sqs.ChangeMessageVisibilityInput{QueueUrl: &url, ReceiptHandle: &receipt, VisibilityTimeout: seconds(d)})
	if stale(err) {
		return nil
	}
	return explain(ctx, "ChangeMessageVisibility", queue, err)
}
