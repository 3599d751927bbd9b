package stack

import (
	"crypto/rand"
	"time"

	"github.com/google/uuid"

	"postino/shared/aws/awscall"
	"postino/shared/lambdaio"
	"postino/shared/operator"
	"postino/shared/pipeline"
)

// Operator is what the command line asks of a stack, carried out in its own
// process with the caller's own credentials.
func (s *Stack) Operator() *operator.Operator {
	c := s.Config
	// Without the signing key: the deliver function signs what comes unsigned.
	publish := &pipeline.Publish{Directory: s.Store, Queues: s.Queue, Names: c.Queues, Now: time.Now, NewID: uuid.NewString, InlineLimit: c.InlineFanout}
	return &operator.Operator{Deliveries: s.Store, Directory: s.Store, Keys: s.Keys, Queues: s.Queue, Jobs: s.Queue, Names: c.Queues,
		Redriver: &pipeline.Redrive{Directory: s.Store, Queues: s.Queue, Names: c.Queues, Now: time.Now, MaxRedrives: c.MaxRedrives,
			Republisher: lambdaio.PublishHandler{Publisher: publish, EventTopic: c.EventTopicARN}},
		Publisher: publish, Region: c.Region, Account: c.Account, Aliases: aliases(c.Queues), Now: time.Now, Random: rand.Reader, Explain: awscall.Tell}
}

// aliases are the names that template.yaml has for its queues.
func aliases(q pipeline.QueueNames) map[string]string {
	return map[string]string{"AttemptQueue": q.Attempt, "RetryQueue": q.Retry, "FanoutQueue": q.Fanout, "DeadLetterQueue": q.DeadLetter, "FailedJobsQueue": q.Failed}
}
