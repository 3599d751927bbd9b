// Package installation makes the four functions of Postino over one set of
// adapters. The embedded server and the Lambdas are made here alike, so that
// what runs in one runs in the other.
package installation

import (
	"context"
	"crypto/rand"
	"log/slog"
	mathrand "math/rand/v2"
	"time"

	"github.com/google/uuid"

	"postino/shared/access"
	"postino/shared/config"
	"postino/shared/envelope"
	"postino/shared/httpsend"
	"postino/shared/lambdaio"
	"postino/shared/pipeline"
	"postino/shared/push"
	"postino/shared/signing"
	"postino/shared/snsapi"
)

// Store is where topics, subscriptions, retry state and throttle slots live.
type Store interface {
	snsapi.Directory
	pipeline.Deliveries
	pipeline.Slots
}

// Adapters is what an installation stands on. All are needed unless they say
// otherwise.
type Adapters struct {
	Store  Store
	Queues pipeline.Queues
	Timer  pipeline.Timer
	// Signer may be nil where only Fanout and Redrive are used, which sign nothing.
	Signer *signing.Signer
	Links  envelope.Links
	// Gate decides who may call the SNS API.
	Gate snsapi.Gate
	// Observer may be nil.
	Observer pipeline.Observer
	Log      *slog.Logger
	// AllowLoopback lets endpoints be on this host.
	AllowLoopback bool
	// MaxIdle bounds the idle connections to endpoints, 0 takes httpsend's default.
	MaxIdle int
	// Admit holds publishers back while deliveries are behind; may be nil.
	Admit func(ctx context.Context) error
	// CacheFor is how long a read subscription may be used, 0 where reads are free.
	CacheFor time.Duration
}

// Functions are the four handlers, with the verbs behind them.
type Functions struct {
	Publish lambdaio.PublishHandler
	Fanout  lambdaio.BatchHandler
	Deliver lambdaio.BatchHandler
	Redrive lambdaio.BatchHandler

	Redriver *pipeline.Redrive
}

// New wires everything.
func New(c config.Config, a Adapters) Functions {
	health := &pipeline.Health{}
	var signer pipeline.Signer
	var certificate snsapi.Certificate
	if a.Signer != nil {
		signer, certificate = a.Signer, snsapi.Certificate{Path: a.Signer.CertPath(), PEM: a.Signer.CertPEM()}
	}
	publish := &pipeline.Publish{Directory: a.Store, Queues: a.Queues, Names: c.Queues, Signer: signer, Health: health,
		Observer: a.Observer, Now: time.Now, NewID: uuid.NewString, Admit: a.Admit, InlineLimit: c.InlineFanout, Trace: c.Trace}
	fanout := &pipeline.Fanout{Directory: a.Store, Queues: a.Queues, Names: c.Queues, Observer: a.Observer, Now: time.Now}
	deliver := &pipeline.Deliver{Directory: a.Store, Deliveries: a.Store, Slots: a.Store, Queues: a.Queues, Timer: a.Timer,
		Sender: httpsend.New(httpsend.Options{Timeout: c.RequestTimeout, AllowLoopback: a.AllowLoopback, AllowNetworks: c.AllowNetworks, MaxIdle: a.MaxIdle}),
		Signer: signer, Health: health, Observer: a.Observer, Names: c.Queues, Links: a.Links,
		Now: time.Now, Sleep: sleep, Random: mathrand.Float64, NewID: uuid.NewString, RequestTimeout: c.RequestTimeout, MaxQueueDelay: c.MaxQueueDelay, CacheFor: a.CacheFor}
	redrive := &pipeline.Redrive{Directory: a.Store, Queues: a.Queues, Names: c.Queues, Observer: a.Observer, Now: time.Now, MaxRedrives: c.MaxRedrives}
	api := &snsapi.API{Directory: a.Store, Publisher: publish, Gate: a.Gate, Region: c.Region, Account: c.Account,
		Reserved: c.Queues.Working, Certificate: certificate, Now: time.Now, Random: rand.Reader, Log: a.Log}
	handler := lambdaio.PublishHandler{API: api, Publisher: publish, Refuse: api.Refuse, EventTopic: c.EventTopicARN, Log: a.Log}
	redrive.Republisher = handler
	return Functions{
		Publish:  handler,
		Fanout:   lambdaio.BatchHandler{Process: fanout.Handle, Log: a.Log},
		Deliver:  lambdaio.BatchHandler{Process: deliver.Handle, Log: a.Log},
		Redrive:  lambdaio.BatchHandler{Process: redrive.Handle, Log: a.Log},
		Redriver: redrive,
	}
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

// Keys makes the keyring of an installation over what its adapters give.
func Keys(c config.Config, store access.Store, sealer access.Sealer) *access.Keyring {
	return &access.Keyring{Store: store, Sealer: sealer, Scope: access.Scope{Actions: snsapi.Actions(), Region: c.Region, Account: c.Account},
		Now: time.Now, Random: rand.Reader}
}

// QueueARN completes a queue's name with the installation's region and account.
func QueueARN(c config.Config, queue string) string {
	return push.ARNOf("sqs", c.Region, c.Account, queue)
}
