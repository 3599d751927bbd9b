// Package build makes the handlers of the functions over the adapters that the
// environment chooses.
//
// POSTINO_TABLE names the DynamoDB table and with it chooses AWS: the template
// sets it and everything else that is needed. Without it POSTINO_DATA names the
// data directory of the embedded adapters: one process at a time, as for
// `postino serve`. It is how a function runs on its own machine, under a Lambda
// runtime interface emulator say.
package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"postino/shared/config"
	"postino/shared/embedded/stack"
	"postino/shared/installation"
	"postino/shared/pipeline"
	"postino/shared/telemetry"
)

// Batch is the handler of the functions that queues feed.
type Batch func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

// MustPublish makes the publish function's handler. On AWS it needs no
// POSTINO_PUBLIC_URL: Function URL requests say where they came to.
//
// Like the others it ends the process with one log line that says what is wrong:
// AWS Lambda reports it and starts the function anew.
func MustPublish() func(context.Context, json.RawMessage) (any, error) {
	b := must(open(context.Background(), os.Getenv, needs{signer: true, keys: true}))
	if b.config.PublicURL == "" && b.aws != nil {
		return b.seen.publish((&frontDoor{make: b.functions}).Handle)
	}
	return b.seen.publish(must(b.functions(b.config.PublicURL)).Publish.Handle)
}

// MustFanout makes the fanout function's handler. It makes no links.
func MustFanout() Batch {
	b := must(open(context.Background(), os.Getenv, needs{}))
	return b.seen.batch(must(b.functions(b.config.PublicURL)).Fanout.Handle)
}

// MustDeliver makes the deliver function's handler. It needs POSTINO_PUBLIC_URL.
func MustDeliver() Batch {
	b := must(open(context.Background(), os.Getenv, needs{signer: true, links: true}))
	return b.seen.batch(must(b.functions(b.config.PublicURL)).Deliver.Handle)
}

// MustRedrive makes the redrive function's handler. It makes no links.
func MustRedrive() Batch {
	b := must(open(context.Background(), os.Getenv, needs{}))
	return b.seen.batch(must(b.functions(b.config.PublicURL)).Redrive.Handle)
}

func must[T any](v T, err error) T {
	if err != nil {
		stop(err)
	}
	return v
}

func stop(err error) {
	slog.New(telemetry.LambdaHandler(os.Stderr, slog.LevelInfo)).Error("the function cannot start", "err", err)
	os.Exit(1)
}

// builder has everything but the public URL.
type builder struct {
	config config.Config
	log    *slog.Logger
	// observer is told what happens, seen what came of each invocation.
	observer pipeline.Observer
	seen     invocations
	// One of the two is set.
	aws      *cloud
	embedded *stack.Stack
}

// needs are what a function's own work takes: the key that signs messages, the
// keys that callers sign with, and the URL that links begin with.
type needs struct{ signer, keys, links bool }

// open reads the environment and opens the adapters it chooses. A function that
// makes links must be told where they begin; the embedded adapters' one always is.
func open(ctx context.Context, getenv func(string) string, n needs) (*builder, error) {
	c, err := config.Load(getenv)
	if err != nil {
		return nil, err
	}
	if c.PublicURL == "" && (n.links || c.Table == "") {
		return nil, errors.New("POSTINO_PUBLIC_URL is not set: a function cannot know the URL its links must begin with")
	}
	b := watched(c, os.Stderr)
	if c.Table != "" {
		b.aws, err = openCloud(ctx, c, n)
		return b, err
	}
	b.embedded, err = stack.Open(ctx, c, b.log)
	return b, err
}

// watched is a builder whose function logs to out.
func watched(c config.Config, out io.Writer) *builder {
	name := lambdacontext.FunctionName
	if name == "" {
		name = filepath.Base(os.Args[0]) // not on Lambda
	}
	log := telemetry.NewFunctionLog(telemetry.FunctionLogOptions{Out: out, Name: name, Stack: c.Stack, Level: c.LogLevel,
		SuccessSampleRate: c.SuccessSampleRate, Queues: c.Queues})
	return &builder{config: c, log: log.Logger, observer: log.Observer, seen: invocations{log: log, now: time.Now}}
}

// functions wires the four handlers; their links begin with publicURL.
func (b *builder) functions(publicURL string) (installation.Functions, error) {
	if b.aws != nil {
		return b.aws.functions(b.config, publicURL, b.observer, b.log)
	}
	a, err := b.embedded.Adapters(publicURL, false, b.observer, b.log)
	if err != nil {
		return installation.Functions{}, fmt.Errorf("the embedded adapters: %w", errors.Join(err, b.embedded.Close()))
	}
	return installation.New(b.config, a), nil
}
