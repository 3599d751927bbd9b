// Package statuslog reads delivery-status records out of the deliver function's
// log group, where deliveries are told that succeed at their first attempt.
package statuslog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"postino/shared/aws/awscall"
	"postino/shared/operator"
	"postino/shared/push"
	"postino/shared/telemetry"
)

// API is the call that the log makes; *cloudwatchlogs.Client has it.
type API interface {
	FilterLogEvents(context.Context, *cloudwatchlogs.FilterLogEventsInput, ...func(*cloudwatchlogs.Options)) (*cloudwatchlogs.FilterLogEventsOutput, error)
}

// Log is one log group.
type Log struct {
	Client API
	// Group is the log group's name.
	Group string
	Now   func() time.Time
}

const (
	// readFor bounds one reading. CloudWatch reads through whatever lies in the
	// group, a megabyte a call, records or not.
	readFor = 6 * time.Second
	// A group is read backwards in stretches, each four times as long as the one
	// before: what is looked for is recent as a rule.
	firstStretch = time.Minute
	growth       = 4
	// furthest is how far back a reading goes in the end.
	furthest = 45 * 24 * time.Hour
)

// errSlow ends a reading that takes too long.
var errSlow = errors.New("the log is too large to be read now")

// Logged implements operator.Log.
func (l *Log) Logged(ctx context.Context, f operator.Filter) (found []push.Delivery, back time.Time, err error) {
	call, cancel := context.WithTimeoutCause(ctx, readFor, errSlow)
	defer cancel()
	now := l.Now()
	oldest := now.Add(-furthest)
	if f.Since.After(oldest) {
		oldest = f.Since
	}
	for to, stretch := now.Add(time.Minute), firstStretch+time.Minute; to.After(oldest) && len(found) < f.Limit; stretch *= growth {
		from := to.Add(-stretch)
		if from.Before(oldest) {
			from = oldest
		}
		part, err := l.stretch(call, f, from, to)
		if errors.Is(context.Cause(call), errSlow) {
			return found, to, nil
		}
		if err != nil {
			return nil, time.Time{}, err
		}
		found = append(found, part[:min(len(part), f.Limit-len(found))]...)
		to = from
	}
	return found, time.Time{}, nil
}

// stretch gives the records from one time to before another, newest first.
func (l *Log) stretch(ctx context.Context, f operator.Filter, from, to time.Time) (found []push.Delivery, err error) {
	in := &cloudwatchlogs.FilterLogEventsInput{LogGroupName: &l.Group, FilterPattern: aws.String(pattern(f)),
		StartTime: aws.Int64(from.UnixMilli()), EndTime: aws.Int64(to.UnixMilli() - 1)}
	for {
		out, err := l.Client.FilterLogEvents(ctx, in)
		var gone *types.ResourceNotFoundException
		if errors.As(err, &gone) {
			return nil, nil // a function that has not run yet has no log
		}
		if err != nil {
			c := awscall.Call{Service: "CloudWatch Logs", Action: "logs:FilterLogEvents", Resource: "the log group " + l.Group}
			return nil, c.Explain(ctx, err)
		}
		for _, e := range out.Events {
			var r telemetry.Record
			if json.Unmarshal([]byte(aws.ToString(e.Message)), &r) == nil && matches(f, r) {
				found = append(found, r.AsDelivery())
			}
		}
		if n := len(found) - f.Limit; n > f.Limit {
			found = slices.Delete(found, 0, n) // the oldest of them
		}
		if in.NextToken = out.NextToken; in.NextToken == nil {
			slices.SortStableFunc(found, func(a, b push.Delivery) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
			return found, nil
		}
	}
}

var plain = regexp.MustCompile(`^[A-Za-z0-9:_-]+$`)

// pattern has CloudWatch leave out what is not wanted, as far as it can tell
// (CloudWatch Logs user guide, filter pattern syntax for JSON).
func pattern(f operator.Filter) string {
	p := `$.status = "SUCCESS" || $.status = "FAILURE"` // words that no other line has there
	for _, c := range []struct{ member, value string }{
		{"$.notification.messageId", f.MessageID}, {"$.postino.subscriptionArn", f.Subscription}, {"$.notification.topicArn", f.TopicARN},
	} {
		if plain.MatchString(c.value) {
			p = fmt.Sprintf("(%s) && %s = %q", p, c.member, c.value)
		}
	}
	return "{ " + p + " }"
}

func matches(f operator.Filter, r telemetry.Record) bool {
	p := r.Postino
	return r.Notification.MessageID != "" && p.State.Ended() && (f.MessageID == "" || f.MessageID == r.Notification.MessageID) &&
		(f.Subscription == "" || f.Subscription == p.SubscriptionARN) && (f.TopicARN == "" || f.TopicARN == r.Notification.TopicARN) &&
		(len(f.States) == 0 || slices.Contains(f.States, p.State))
}
