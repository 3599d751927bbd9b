// Package schedulertimer keeps jobs that wait longer than a queue can delay them
// in Amazon EventBridge Scheduler: one schedule a wait, which sends the job to
// its queue shortly before it is due and then deletes itself.
package schedulertimer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/scheduler/types"
	"github.com/aws/smithy-go"

	"postino/shared/aws/awscall"
	"postino/shared/aws/sqsqueue"
	"postino/shared/pipeline"
	"postino/shared/push"
)

// API is the call the timer makes; *scheduler.Client has it.
type API interface {
	CreateSchedule(context.Context, *scheduler.CreateScheduleInput, ...func(*scheduler.Options)) (*scheduler.CreateScheduleOutput, error)
}

// Payloads keep what does not fit into a schedule.
type Payloads interface {
	// PutPayload keeps a body under a name until expires at least; the same name
	// holds the same body. A *pipeline.RefusedError says that it is too large.
	PutPayload(ctx context.Context, name, body string, expires time.Time) error
	// Payload reads a body; false when there is none of the name.
	Payload(ctx context.Context, name string) (body string, ok bool, err error)
}

// Variables that name what New needs.
const (
	GroupVariable = "POSTINO_SCHEDULE_GROUP"
	RoleVariable  = "POSTINO_SCHEDULE_ROLE"
	DeadVariable  = "POSTINO_FAILED_JOBS_QUEUE"
)

// Config are New's dependencies.
type Config struct {
	Client API
	// Queues take what is due soon, and what Scheduler cannot take just now.
	Queues   pipeline.Queues
	Payloads Payloads
	// Group is the schedule group; Role the ARN of the role that Scheduler
	// assumes to send (sqs:SendMessage), which the caller must be allowed to
	// pass (iam:PassRole).
	Group, Role string
	// DeadLetter is the ARN of the queue for jobs that Scheduler could not send:
	// FailedJobsQueue. Queues given by name are looked for beside it.
	DeadLetter string
	// Near is the wait up to which the queue's own delay is used, 900 s unless
	// set. A shorter one than three minutes lets schedules aim closer than the
	// minute within which Scheduler fires: for emulators, where a test cannot wait.
	Near time.Duration
	// Now is time.Now unless set.
	Now func() time.Time
}

// Timer implements pipeline.Timer.
type Timer struct {
	Config
	dead push.ARN
	// minute is how long before its time a message is aimed at its queue, and the
	// resolution of schedules: Scheduler fires within 60 s of a schedule's time
	// (EventBridge Scheduler user guide, schedule types), so that a message comes
	// up to two minutes early and never late.
	minute time.Duration
}

// New checks c. It makes no call.
func New(c Config) (*Timer, error) {
	if c.Client == nil || c.Queues == nil || c.Payloads == nil {
		return nil, errors.New("schedulertimer: a client, queues and payloads are needed")
	}
	if c.Group == "" {
		return nil, errors.New(GroupVariable + " is not set: it names the EventBridge Scheduler group of waiting jobs")
	}
	if role, err := push.ParseARN(c.Role); err != nil || role.Service != "iam" {
		return nil, fmt.Errorf("%s is %q: it must be the ARN of the role that EventBridge Scheduler sends with", RoleVariable, c.Role)
	}
	dead, err := push.ParseARN(c.DeadLetter)
	if err != nil || dead.Service != "sqs" {
		return nil, fmt.Errorf("%s is %q: on AWS it must be the queue's ARN", DeadVariable, c.DeadLetter)
	}
	if c.Near == 0 {
		c.Near = pipeline.MaxDelay
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Timer{Config: c, dead: dead, minute: min(time.Minute, c.Near/3).Truncate(time.Second)}, nil
}

// How long and how often Scheduler tries to send (EventBridge Scheduler user
// guide, retry policy): its most, after which the job goes to DeadLetter.
const (
	sendAge   = 24 * time.Hour
	sendTries = 185
)

// callLimit bounds one CreateSchedule, its tries included.
const callLimit = 6 * time.Second

// At implements pipeline.Timer. When Scheduler cannot take the schedule just now,
// the message goes to its queue with the longest delay, to be judged again: a
// hop. The queue's refusals are told at once, not at the time.
func (t *Timer) At(ctx context.Context, name string, at time.Time, queue string, e pipeline.Outgoing) error {
	e.Delay = 0
	if err := sqsqueue.Check(e); err != nil {
		return err
	}
	target, err := t.target(queue)
	if err != nil {
		return err
	}
	now := t.Now()
	fire := at.Add(-t.minute).Truncate(t.minute)
	// AWS refuses a time that has passed; a minute allows for clocks that differ.
	if at.Sub(now) <= t.Near || !fire.After(now.Add(t.minute)) {
		return t.hop(ctx, at, queue, e)
	}
	name = fit(name)
	input, err := t.input(ctx, name, at, e)
	if _, tooLarge := pipeline.Refused(err); tooLarge {
		return t.hop(ctx, at, queue, e)
	}
	if err != nil {
		return err
	}
	err = t.create(ctx, name, fire, target, input)
	if err != nil && ctx.Err() == nil && passing(err) {
		return t.hop(ctx, at, queue, e)
	}
	c := awscall.Call{Service: "EventBridge Scheduler", Action: "scheduler:CreateSchedule",
		Resource: fmt.Sprintf("the schedule group %s (%s), or iam:PassRole on %s (%s),", t.Group, GroupVariable, t.Role, RoleVariable)}
	return c.Explain(ctx, err)
}

func (t *Timer) create(ctx context.Context, name string, fire time.Time, target push.ARN, input string) error {
	call, cancel := awscall.Bound(ctx, callLimit)
	defer cancel()
	_, err := t.Client.CreateSchedule(call, &scheduler.CreateScheduleInput{
		Name: &name, GroupName: &t.Group,
		ScheduleExpression:         aws.String("at(" + fire.UTC().Format("2006-01-02T15:04:05") + ")"),
		ScheduleExpressionTimezone: aws.String("UTC"),
		FlexibleTimeWindow:         &types.FlexibleTimeWindow{Mode: types.FlexibleTimeWindowModeOff},
		ActionAfterCompletion:      types.ActionAfterCompletionDelete,
		Target: &types.Target{Arn: aws.String(target.String()), RoleArn: &t.Role, Input: &input,
			// Deletion also follows when all tries have failed: without a
			// dead-letter queue the job would vanish.
			DeadLetterConfig: &types.DeadLetterConfig{Arn: &t.DeadLetter},
			RetryPolicy:      &types.RetryPolicy{MaximumEventAgeInSeconds: aws.Int32(int32(sendAge.Seconds())), MaximumRetryAttempts: aws.Int32(sendTries)}},
	})
	var conflict *types.ConflictException
	if errors.As(err, &conflict) {
		return nil // the same wait was arranged before
	}
	return err
}

// hop sends the message through its queue: at its time if that is near, else
// with the longest delay.
func (t *Timer) hop(ctx context.Context, at time.Time, queue string, e pipeline.Outgoing) error {
	e.Delay = min(max(at.Sub(t.Now()), 0), t.Near)
	return t.Queues.Send(ctx, queue, []pipeline.Outgoing{e})[0]
}

// passing reports whether a later try may succeed: throttling, a quota that is
// full, faults of the service's own, and no answer at all.
func passing(err error) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return true
	}
	return awscall.Throttled(err) || api.ErrorFault() == smithy.FaultServer || api.ErrorCode() == "ServiceQuotaExceededException"
}

// target is the ARN of a queue given by name or ARN.
func (t *Timer) target(queue string) (push.ARN, error) {
	if arn, err := push.ParseARN(queue); err == nil {
		if arn.Service != "sqs" || arn.Region != t.dead.Region {
			return arn, &pipeline.RefusedError{Reason: fmt.Sprintf("%.200q is not the ARN of an SQS queue in %s", queue, t.dead.Region)}
		}
		return arn, nil
	}
	beside := t.dead
	beside.Resource = queue
	return beside, nil
}

var plainName = regexp.MustCompile(`^[0-9a-zA-Z_.-]{1,64}$`)

// fit makes any name one that Scheduler takes (EventBridge Scheduler API
// reference, CreateSchedule): 64 hexadecimal characters of its hash if need be.
func fit(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}
