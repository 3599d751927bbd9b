// Package awscall is how the adapters call AWS: which target, how long, how
// often, and what an error means to the one who has to fix it.
package awscall

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"
)

// Tries and backoff of one call. The SDK's own are made for programs that can
// wait: three tries up to 20 s apart. A function has a minute in all and queues
// to fall back on, so its waits are short; half a second in all lets a throttled
// partition or a closed connection pass.
const (
	tries      = 3
	backoffMax = 250 * time.Millisecond
)

// How long one try may take. A connection that hangs is given up while there is
// still time for another.
const (
	dialTimeout = 2 * time.Second
	tryTimeout  = 3 * time.Second
	// pollTimeout leaves room for SQS's longest poll of 20 s.
	pollTimeout = 25 * time.Second
)

// connections kept open to one service: a batch of ten jobs, each with a few
// calls side by side, and fan-out's sixteen sends.
const connections = 64

// Load reads the SDK's own settings: AWS_REGION, the credentials of the role,
// profile or environment, and AWS_ENDPOINT_URL, which alone decides the target.
// Clients made from the result try thrice, within seconds.
func Load(ctx context.Context, more ...func(*config.LoadOptions) error) (aws.Config, error) {
	client := awshttp.NewBuildableClient().
		WithDialerOptions(func(d *net.Dialer) { d.Timeout = dialTimeout }).
		WithTransportOptions(func(t *http.Transport) {
			t.MaxIdleConnsPerHost, t.MaxIdleConns = connections, 4*connections
		})
	options := append([]func(*config.LoadOptions) error{
		config.WithHTTPClient(client),
		config.WithRetryer(Retryer),
		// The log is one JSON line an event; the SDK's own lines are not.
		config.WithLogger(logging.Nop{}),
	}, more...)
	c, err := config.LoadDefaultConfig(ctx, options...)
	if profile, ok := errors.AsType[config.SharedConfigProfileNotExistError](err); ok {
		return c, fmt.Errorf("AWS_PROFILE names the profile %s, which the AWS configuration files do not have", profile.Profile)
	}
	if err != nil {
		return c, fmt.Errorf("the AWS configuration cannot be read: %w", err)
	}
	if c.Region == "" {
		return c, errors.New("AWS_REGION is not set: it names the region whose table, queues and schedules are used")
	}
	c.HTTPClient = readBodies{c.HTTPClient}
	c.APIOptions = append(c.APIOptions, limitTries)
	return c, nil
}

// Retryer is the SDK's standard one with our tries and waits. Conditional writes
// may be tried again by it: the store recognises its own earlier try.
func Retryer() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts, o.MaxBackoff = tries, backoffMax
	})
}

// Bound limits a whole call, its tries included, to limit and, where ctx has a
// deadline (a function's), to two thirds of the time left, so that a call that
// fails leaves time to put the job back and to answer for the batch.
func Bound(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)*2/3)
	}
	return context.WithTimeout(ctx, limit)
}
