// Package sqsqueue is the pipeline's queues on Amazon SQS. It makes no queues:
// the template does.
//
// Send stores what it can: entries of a batch that SQS does not take are tried
// again on their own, and what SQS would never take is not sent at all.
package sqsqueue

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"postino/shared/aws/awscall"
	"postino/shared/pipeline"
	"postino/shared/push"
)

// API are the calls the queue makes; *sqs.Client has them.
type API interface {
	GetQueueUrl(context.Context, *sqs.GetQueueUrlInput, ...func(*sqs.Options)) (*sqs.GetQueueUrlOutput, error)
	GetQueueAttributes(context.Context, *sqs.GetQueueAttributesInput, ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error)
	SendMessageBatch(context.Context, *sqs.SendMessageBatchInput, ...func(*sqs.Options)) (*sqs.SendMessageBatchOutput, error)
	ReceiveMessage(context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessageBatch(context.Context, *sqs.DeleteMessageBatchInput, ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error)
	ChangeMessageVisibilityBatch(context.Context, *sqs.ChangeMessageVisibilityBatchInput, ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityBatchOutput, error)
	ChangeMessageVisibility(context.Context, *sqs.ChangeMessageVisibilityInput, ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityOutput, error)
}

// Config are New's dependencies.
type Config struct {
	Client API
	// Region is the one the client talks to; ARNs of others are refused rather
	// than taken for a queue of the same name here.
	Region string
	// Known are the queues that List looks at: names or ARNs.
	Known []string
	// Random is uniform in [0, 1), for waits between tries; math/rand's unless set.
	Random func() float64
	// Sleep waits for d or until ctx ends; a real wait unless set.
	Sleep func(ctx context.Context, d time.Duration) error
}

// Queue implements pipeline.Queues, conformance.Queue and operator.Queues.
type Queue struct {
	Config

	mu   sync.Mutex
	urls map[string]string
}

// New checks c. It makes no call.
func New(c Config) (*Queue, error) {
	if c.Client == nil {
		return nil, errors.New("sqsqueue: no SQS client")
	}
	if c.Region == "" {
		return nil, errors.New("AWS_REGION is not set: it names the region whose queues are used")
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	return &Queue{Config: c, urls: map[string]string{}}, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// callLimit bounds one call, its tries included.
const callLimit = 8 * time.Second

// url resolves a queue's name or ARN. URLs never change, so they are kept; a
// queue that is missing is looked for again.
func (q *Queue) url(ctx context.Context, queue string) (string, error) {
	q.mu.Lock()
	known := q.urls[queue]
	q.mu.Unlock()
	if known != "" {
		return known, nil
	}
	in := &sqs.GetQueueUrlInput{QueueName: aws.String(queue)}
	if strings.HasPrefix(queue, "arn:") {
		arn, err := push.ParseARN(queue)
		if err != nil || arn.Service != "sqs" || arn.Resource == "" {
			return "", refuse("%.200q is not the ARN of an SQS queue", queue)
		}
		if arn.Region != q.Region {
			return "", refuse("%.200q is not in the region %s", queue, q.Region)
		}
		in.QueueName, in.QueueOwnerAWSAccountId = aws.String(arn.Resource), aws.String(arn.Account)
	}
	if err := checkName(*in.QueueName); err != nil {
		return "", err
	}
	call, cancel := awscall.Bound(ctx, callLimit)
	defer cancel()
	out, err := q.Client.GetQueueUrl(call, in)
	if err != nil {
		return "", explain(ctx, "GetQueueUrl", queue, err)
	}
	url := aws.ToString(out.QueueUrl)
	if url == "" {
		return "", fmt.Errorf("SQS gives no URL for the queue %s", queue)
	}
	q.mu.Lock()
	q.urls[queue] = url
	q.mu.Unlock()
	return url, nil
}

// refuse is a final no.
func refuse(format string, args ...any) error {
	return &pipeline.RefusedError{Reason: fmt.Sprintf(format, args...)}
}
