package sqsqueue

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"postino/shared/aws/awscall"
	"postino/shared/operator"
)

// List gives the Known queues.
func (q *Queue) List(context.Context) ([]string, error) { return q.Known, nil }

// Info implements operator.Queues. SQS's numbers are approximate, and it does not
// tell when the oldest message was sent.
func (q *Queue) Info(ctx context.Context, queue string) (operator.QueueInfo, error) {
	url, err := q.url(ctx, queue)
	if err != nil {
		return operator.QueueInfo{}, err
	}
	call, cancel := awscall.Bound(ctx, callLimit)
	defer cancel()
	out, err := q.Client.GetQueueAttributes(call, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{
		types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
		types.QueueAttributeNameApproximateNumberOfMessagesDelayed, types.QueueAttributeNameRedrivePolicy}})
	if err != nil {
		return operator.QueueInfo{}, explain(ctx, "GetQueueAttributes", queue, err)
	}
	number := func(name types.QueueAttributeName) int {
		n, _ := strconv.Atoi(out.Attributes[string(name)]) // 0 where SQS leaves it out
		return n
	}
	return operator.QueueInfo{
		Name: queue, Visible: number(types.QueueAttributeNameApproximateNumberOfMessages),
		InFlight:   number(types.QueueAttributeNameApproximateNumberOfMessagesNotVisible),
		Delayed:    number(types.QueueAttributeNameApproximateNumberOfMessagesDelayed),
		MovesAfter: movesAfter(out.Attributes[string(types.QueueAttributeNameRedrivePolicy)]),
	}, nil
}

// movesAfter reads a queue's own redrive policy, whose count is a number or one in
// quotes.
func movesAfter(policy string) int {
	var p struct {
		MaxReceiveCount json.RawMessage `json:"maxReceiveCount"`
	}
	if json.Unmarshal([]byte(policy), &p) != nil || len(p.MaxReceiveCount) == 0 {
		return 0
	}
	s := string(p.MaxReceiveCount)
	if quoted, err := strconv.Unquote(s); err == nil {
		s = quoted
	}
	n, _ := strconv.Atoi(s)
	return n
}

// Look implements operator.Queues. SQS shows a message only to who receives it:
// each look counts as a receive. A queue has no order, so that After is refused;
// Swept.Left says what a look did not come to.
func (q *Queue) Look(ctx context.Context, queue string, s operator.Sweep, see func(operator.Letter)) (operator.Swept, error) {
	w := newSweep(q, queue, s)
	w.limit = s.Max
	return w.run(ctx, lookLimit, func(batch []operator.Letter) ([]bool, error) {
		for _, l := range batch {
			l.Receipt = "" // it is put back
			see(l)
		}
		return nil, nil
	})
}

// Take implements operator.Queues. Without ids it goes through the whole queue.
func (q *Queue) Take(ctx context.Context, queue string, s operator.Sweep, take func([]operator.Letter) ([]bool, error)) (operator.Swept, error) {
	limit := lookLimit
	if len(s.IDs) == 0 {
		limit = 0
	}
	return newSweep(q, queue, s).run(ctx, limit, take)
}
