package operator

import (
	"context"
	"slices"
	"strings"

	"postino/shared/pipeline"
	"postino/shared/push"
	"postino/shared/redrivepolicy"
)

// ListQueues lists the queues that dead letters are in: every queue but those
// that carry deliveries on their way, and those that subscriptions name.
func (o *Operator) ListQueues(ctx context.Context) ([]QueueInfo, error) {
	names, err := o.Queues.List(ctx)
	if err != nil {
		return nil, err
	}
	named, err := o.namedQueues(ctx)
	if err != nil {
		return nil, err
	}
	var arns []string
	for _, n := range slices.Concat(names, named) {
		if arn := o.queueARN(n); !o.working(arn) && !slices.Contains(arns, arn) {
			arns = append(arns, arn)
		}
	}
	dead := []QueueInfo{}
	for _, arn := range arns {
		info, err := o.Queues.Info(ctx, arn)
		if push.IsNotFound(err) {
			continue // an empty queue is missing from the list until it is made
		}
		if reason, refused := pipeline.Refused(err); refused {
			info, err = QueueInfo{Problem: reason}, nil
		}
		if err != nil {
			return nil, err
		}
		info.Name, info.ARN = o.queueLabel(arn), arn
		dead = append(dead, info)
	}
	slices.SortFunc(dead, func(a, b QueueInfo) int { return strings.Compare(a.Name, b.Name) })
	return dead, nil
}

// namedQueues are the ARNs that subscriptions' RedrivePolicies name.
func (o *Operator) namedQueues(ctx context.Context) (arns []string, err error) {
	for after := ""; ; {
		page, next, err := o.Directory.AllSubscriptions(ctx, after, MaxList)
		if err != nil {
			return nil, err
		}
		for _, s := range page {
			if s.RedrivePolicy == "" || s.Deleted() {
				continue
			}
			p, err := redrivepolicy.Parse(s.RedrivePolicy)
			if err == nil && !slices.Contains(arns, p.DeadLetterTargetARN) {
				arns = append(arns, p.DeadLetterTargetARN)
			}
		}
		if next == "" {
			return arns, nil
		}
		after = next
	}
}

// working reports whether a queue carries deliveries on their way.
func (o *Operator) working(arn string) bool {
	return slices.ContainsFunc([]string{o.Names.Attempt, o.Names.Retry, o.Names.Fanout},
		func(name string) bool { return push.QueueName(name) == push.QueueName(arn) })
}

// deadLetterQueue is the ARN of a queue, which must exist and must not be one that
// carries deliveries on their way.
func (o *Operator) deadLetterQueue(ctx context.Context, queue string) (string, error) {
	arn := o.queueARN(queue)
	if o.working(arn) {
		return "", push.Errorf(push.CodeInvalidParameter,
			"Queue %s carries deliveries on their way and is no dead-letter queue", o.queueLabel(arn))
	}
	_, err := o.Queues.Info(ctx, arn)
	if push.IsNotFound(err) {
		return "", push.Errorf(push.CodeNotFound,
			"There is no queue %q: `postino dlq list` shows those there are", push.Clip(o.queueLabel(arn)))
	}
	if reason, refused := pipeline.Refused(err); refused {
		return "", push.Errorf(push.CodeInvalidParameter, "Queue %s cannot be looked into: %s; `postino dlq list` shows those there are", push.Clip(o.queueLabel(arn)), reason)
	}
	return arn, err
}
