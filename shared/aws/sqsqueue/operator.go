package sqsqueue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"postino/shared/aws/awscall"
	"postino/shared/operator"
	"postino/shared/pipeline"
	"postino/shared/push"
)

// SQS shows messages only by receiving them. So Peek and Take receive, which
// counts as a receive of every message seen, and put back what is not wanted.
// They are made for dead-letter queues; nothing else should read the queue
// meanwhile.

const (
	// looked is for how long messages are hidden that are only looked at. Those
	// that cannot be put back come back by themselves.
	looked = 30 * time.Second
	// lookedMost bounds how many messages one look goes through.
	lookedMost = 5000
	// lookWait makes SQS ask all its servers for messages, not some (SQS
	// developer guide, short and long polling).
	lookWait = time.Second
)

// List tells the sizes of the Known queues; those that do not exist are left
// out. SQS does not tell when the oldest message was sent, so OldestSent is zero.
func (q *Queue) List(ctx context.Context) ([]operator.QueueInfo, error) {
	var infos []operator.QueueInfo
	for _, queue := range q.Known {
		i, err := q.info(ctx, queue)
		var missing *missingError
		if errors.As(err, &missing) {
			continue
		}
		if err != nil {
			return nil, err
		}
		infos = append(infos, i)
	}
	slices.SortFunc(infos, func(a, b operator.QueueInfo) int { return cmp.Compare(a.Name, b.Name) })
	return infos, nil
}

func (q *Queue) info(ctx context.Context, queue string) (operator.QueueInfo, error) {
	url, err := q.url(ctx, queue)
	if err != nil {
		return operator.QueueInfo{}, err
	}
	call, cancel := awscall.Bound(ctx, callLimit)
	defer cancel()
	out, err := q.Client.GetQueueAttributes(call, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{
		types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
		types.QueueAttributeNameApproximateNumberOfMessagesDelayed}})
	if err != nil {
		return operator.QueueInfo{}, explain(ctx, "GetQueueAttributes", queue, err)
	}
	number := func(name types.QueueAttributeName) int {
		n, _ := strconv.Atoi(out.Attributes[string(name)]) // 0 where SQS leaves it out
		return n
	}
	info := operator.QueueInfo{Name: queue, Visible: number(types.QueueAttributeNameApproximateNumberOfMessages),
		InFlight: number(types.QueueAttributeNameApproximateNumberOfMessagesNotVisible),
		Delayed:  number(types.QueueAttributeNameApproximateNumberOfMessagesDelayed)}
	if arn, err := push.ParseARN(queue); err == nil {
		info.Name = arn.Resource
	}
	return info, nil
}

// Peek shows up to limit of the messages that are visible now, in the order
// sent, behind a previous page's next. It goes through 5,000 messages at most.
func (q *Queue) Peek(ctx context.Context, queue, after string, limit int) (page []operator.Letter, next string, err error) {
	seen, err := q.look(ctx, queue, func(pipeline.Incoming) bool { return false })
	q.putBack(ctx, queue, seen)
	var missing *missingError
	if errors.As(err, &missing) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	slices.SortFunc(seen, func(a, b pipeline.Incoming) int { return cmp.Compare(place(a), place(b)) })
	for _, in := range seen {
		if place(in) <= after {
			continue
		}
		if len(page) == max(limit, 1) {
			last := page[len(page)-1]
			return page, place(pipeline.Incoming{ID: last.ID, Sent: last.Sent}), nil
		}
		l := operator.Letter(in)
		l.Receipt = "" // it was put back
		page = append(page, l)
	}
	return page, "", nil
}

// place orders messages by when they were sent, and says where a page ends.
func place(in pipeline.Incoming) string {
	return fmt.Sprintf("%013d.%s", in.Sent.UnixMilli(), in.ID)
}

// Take receives one given message and hides it for the visibility timeout. found
// is false when it is gone, not visible, or behind 5,000 others.
func (q *Queue) Take(ctx context.Context, queue, id string, visibility time.Duration) (l operator.Letter, found bool, err error) {
	if visibility <= 0 || visibility > maxVisibility {
		return l, false, refuse("a visibility timeout is up to %v, not %v", maxVisibility, visibility)
	}
	id = id[strings.LastIndexByte(id, '.')+1:]
	seen, err := q.look(ctx, queue, func(in pipeline.Incoming) bool { return in.ID == id })
	if n := len(seen); n > 0 && seen[n-1].ID == id {
		l, found = operator.Letter(seen[n-1]), true
		seen = seen[:n-1]
	}
	q.putBack(ctx, queue, seen)
	var missing *missingError
	if errors.As(err, &missing) {
		return l, false, nil
	}
	if found && err == nil {
		err = q.ChangeVisibility(ctx, queue, l.Receipt, visibility)
	}
	return l, found && err == nil, err
}

// look receives until wanted answers true, nothing more comes, or it has gone
// through enough.
func (q *Queue) look(ctx context.Context, queue string, wanted func(pipeline.Incoming) bool) (seen []pipeline.Incoming, err error) {
	for len(seen) < lookedMost {
		in, err := q.Receive(ctx, queue, 10, looked, lookWait)
		if err != nil || len(in) == 0 {
			return seen, err
		}
		for n, m := range in {
			if wanted(m) {
				q.putBack(ctx, queue, in[n+1:])
				return append(append(seen, in[:n]...), m), nil
			}
		}
		seen = append(seen, in...)
	}
	return seen, nil
}

// putBack makes messages visible again, as well as it can.
func (q *Queue) putBack(ctx context.Context, queue string, seen []pipeline.Incoming) {
	url, err := q.url(ctx, queue)
	if err != nil {
		return
	}
	for part := range slices.Chunk(seen, pipeline.MaxBatch) {
		in := &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &url}
		for i := range part {
			in.Entries = append(in.Entries, types.ChangeMessageVisibilityBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: &part[i].Receipt})
		}
		call, cancel := awscall.Bound(ctx, callLimit)
		_, _ = q.Client.ChangeMessageVisibilityBatch(call, in)
		cancel()
	}
}
