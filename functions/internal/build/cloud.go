package build

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/scheduler"

	"postino/shared/access"
	"postino/shared/aws/awscall"
	"postino/shared/aws/kmsseal"
	"postino/shared/aws/schedulertimer"
	"postino/shared/aws/stack"
	"postino/shared/config"
	"postino/shared/envelope"
	"postino/shared/installation"
	"postino/shared/pipeline"
	"postino/shared/signing"
)

// cacheFor is how long a function may use a subscription it has read: a change
// of policy or an unsubscribe takes effect within it.
const cacheFor = 5 * time.Second

// maxIdle leaves most of a function's 1,024 descriptors to what is under way
// (AWS Lambda developer guide, quotas).
const maxIdle = 256

// cloud is the AWS adapters of one process.
type cloud struct {
	*stack.Stack
	timer *schedulertimer.Timer
	// key is the signing key and its certificate in PEM form, nil in functions that
	// sign nothing.
	key []byte
}

// openCloud makes the adapters and, for a function that signs, reads the signing
// key: which is also the proof that table, region and permissions are right
// before anything is taken.
func openCloud(ctx context.Context, c config.Config, n needs) (*cloud, error) {
	settings, err := awscall.Load(ctx)
	if err != nil {
		return nil, err
	}
	var a cloud
	if a.Stack, err = stack.Open(settings, c); err != nil {
		return nil, err
	}
	a.timer, err = schedulertimer.New(schedulertimer.Config{Client: scheduler.NewFromConfig(settings), Queues: a.Queue, Payloads: a.Store,
		Group: c.ScheduleGroup, Role: c.ScheduleRole, DeadLetter: c.Queues.Failed, Near: c.MaxQueueDelay})
	if err != nil {
		return nil, err
	}
	if n.keys && c.KeysKMSKey == "" {
		return nil, errors.New(kmsseal.KeyVariable + " is not set: it names the KMS key that opens the keys of callers")
	}
	if !n.signer {
		return &a, nil
	}
	a.key, err = signingKey{Client: a.DB, Table: c.Table, Now: time.Now}.loadOrCreate(ctx)
	return &a, err
}

// functions wires the handlers. What a schedule refers to is fetched in front of
// Deliver and Redrive.
func (a *cloud) functions(c config.Config, publicURL string, observer pipeline.Observer, log *slog.Logger) (installation.Functions, error) {
	links := envelope.Links{PublicURL: publicURL}
	var signer *signing.Signer
	if a.key != nil {
		var err error
		if signer, err = signing.FromPEM(a.key, links); err != nil {
			return installation.Functions{}, err
		}
	}
	// A deployed front door is anybody's to knock at: it opens to keys alone.
	gate := &access.Gate{Keys: a.Keys, PublicURL: publicURL, Now: time.Now}
	f := installation.New(c, installation.Adapters{Store: a.Store, Queues: a.Queue, Timer: a.timer, Signer: signer, Links: links, Gate: gate,
		Observer: observer, Log: log, CacheFor: cacheFor, MaxIdle: maxIdle})
	opener := func(next verb) *schedulertimer.Opener {
		return &schedulertimer.Opener{Payloads: a.Store, Trusted: []string{c.Queues.Attempt, c.Queues.Retry, c.Queues.Failed},
			Next: next, Observer: observer, Now: time.Now}
	}
	f.Deliver.Process = opener(f.Deliver.Process).Handle
	f.Redrive.Process = opener(f.Redrive.Process).Handle
	return f, nil
}

// verb is the pipeline's Deliver or Redrive.
type verb func(ctx context.Context, records []pipeline.Record) (failed []string)

// Handle calls v.
func (v verb) Handle(ctx context.Context, records []pipeline.Record) []string { return v(ctx, records) }
