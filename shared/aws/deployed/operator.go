package deployed

import (
	"crypto/rand"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/google/uuid"

	"postino/shared/aws/awscall"
	"postino/shared/aws/schedulertimer"
	"postino/shared/aws/stack"
	"postino/shared/aws/statuslog"
	"postino/shared/config"
	"postino/shared/lambdaio"
	"postino/shared/operator"
	"postino/shared/pipeline"
)

// Operator is what the command line asks of what lies on AWS, carried out in its
// own process with the caller's own credentials. logGroup is the deliver
// function's, "" where it is not known. No call is made yet.
func Operator(settings aws.Config, c config.Config, logGroup string) (*operator.Operator, error) {
	s, err := stack.Open(settings, c)
	if err != nil {
		return nil, err
	}
	// Without the signing key: the deliver function signs what comes unsigned.
	publish := &pipeline.Publish{Directory: s.Store, Queues: s.Queue, Names: c.Queues, Now: time.Now, NewID: uuid.NewString, InlineLimit: c.InlineFanout}
	opener := &schedulertimer.Opener{Payloads: s.Store, Trusted: []string{c.Queues.Failed}}
	o := &operator.Operator{Open: opener.Open, Deliveries: s.Store, Directory: s.Store, Keys: s.Keys, Queues: s.Queue, Jobs: s.Queue, Names: c.Queues,
		Redriver: &pipeline.Redrive{Directory: s.Store, Queues: s.Queue, Names: c.Queues, Now: time.Now, MaxRedrives: c.MaxRedrives,
			Republisher: lambdaio.PublishHandler{Publisher: publish, EventTopic: c.EventTopicARN}},
		Publisher: publish, Region: c.Region, Account: c.Account, Aliases: aliases(c.Queues), Now: time.Now, Random: rand.Reader, Explain: awscall.Tell}
	if logGroup != "" {
		o.DeliveryLog = &statuslog.Log{Client: cloudwatchlogs.NewFromConfig(settings), Group: logGroup, Now: time.Now}
		o.LogsSome = true
	}
	return o, nil
}

// aliases are the names that template.yaml has for its queues.
func aliases(q pipeline.QueueNames) map[string]string {
	return map[string]string{"AttemptQueue": q.Attempt, "RetryQueue": q.Retry, "FanoutQueue": q.Fanout, "DeadLetterQueue": q.DeadLetter, "FailedJobsQueue": q.Failed}
}
