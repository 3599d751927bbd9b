package stack

import (
	"crypto/rand"
	"time"

	"github.com/google/uuid"

	"postino/shared/operator"
	"postino/shared/pipeline"
	"postino/shared/push"
)

// Operator is what the command line asks of a stack, carried out in its own
// process with the caller's own credentials.
func (s *Stack) Operator() *operator.Operator {
	c := s.Config
	return &operator.Operator{Deliveries: s.Store, Directory: s.Store, Queues: s.Queue, Jobs: s.Queue, Names: c.Queues,
		Redriver:  &pipeline.Redrive{Directory: s.Store, Queues: s.Queue, Names: c.Queues, Now: time.Now, MaxRedrives: c.MaxRedrives},
		Publisher: &pipeline.Publish{Directory: s.Store, Queues: s.Queue, Names: c.Queues, Signer: unsigned{}, Now: time.Now, NewID: uuid.NewString, InlineLimit: c.InlineFanout},
		Region:    c.Region, Account: c.Account, Now: time.Now, Random: rand.Reader}
}

// unsigned leaves messages without a signature: the deliver function, which alone
// of the two needs the signing key, signs what comes unsigned.
type unsigned struct{}

// Sign implements pipeline.Signer.
func (unsigned) Sign(push.Kind, push.Message, string) (push.Signature, error) {
	return push.Signature{}, nil
}
