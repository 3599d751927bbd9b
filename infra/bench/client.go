package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// publishArgs ask the client to publish.
type publishArgs struct {
	URL string
	// Topics take turns: message n goes to topic n mod len(Topics).
	Topics []string
	Run    uint32
	load
}

// straightArgs ask it to POST a sample to the receiver's addresses in turn.
type straightArgs struct {
	URLs   []string
	Sample sample
	Run    uint32
	load
}

// load says how hard and how long.
type load struct {
	// Clients is how many publishers there are, Batch how many messages each
	// sends at once (1 to 10).
	Clients, Batch int
	// For bounds the time of sending; Count, unless 0, the messages.
	For   time.Duration
	Count int64
	// Rate, unless 0, sends so many a second whatever becomes of them (open
	// loop); otherwise each publisher waits for its answer (closed loop).
	Rate float64
	// StopOnError ends a publisher at its first failure; otherwise it goes on.
	StopOnError bool
}

// sent is what came of it.
type sent struct {
	// Accepted are the sequence numbers that were answered 200.
	Accepted bitmap
	// Tried counts messages sent, Failed those without a good answer.
	Tried, Failed int64
	Error         string // the first failure
	// Latency of the calls, from the scheduled time in an open loop.
	Latency quantiles
	// Late is how late the client itself began calls of an open loop.
	Late quantiles
	// Started and Ended are Unix nanoseconds.
	Started, Ended int64
}

// runClient does what it is told until in ends. Its connections live on
// between commands.
func runClient(ctx context.Context, in io.Reader, out io.Writer) error {
	transport := newTransport(512)
	defer transport.CloseIdleConnections()
	return serveCommands(ctx, in, out, map[string]handler{
		"publish": handle(func(ctx context.Context, a publishArgs) (sent, error) {
			to, err := url.Parse(a.URL)
			if err != nil {
				return sent{}, err
			}
			return drive(ctx, pause, a.Run, a.load, func() sender {
				var ls []letter
				for _, arn := range a.Topics {
					ls = append(ls, publication(to, arn, a.Batch))
				}
				return posting(transport, accepted, ls)
			})
		}),
		"sdk": handle(func(ctx context.Context, a sdkArgs) (sent, error) {
			client, err := newSNS(ctx, a.Endpoint, a.Region, a.Key)
			if err != nil {
				return sent{}, err
			}
			return drive(ctx, pause, a.Run, a.load, func() sender { return publishing(client, a.Topic, a.Batch) })
		}),
		"straight": handle(func(ctx context.Context, a straightArgs) (sent, error) {
			var to []*url.URL
			for _, s := range a.URLs {
				u, err := url.Parse(s)
				if err != nil {
					return sent{}, err
				}
				to = append(to, u)
			}
			return drive(ctx, pause, a.Run, a.load, func() sender {
				var ls []letter
				for _, u := range to {
					ls = append(ls, straight(u, a.Sample))
				}
				return posting(transport, ok200, ls)
			})
		}),
	})
}

// ok200 checks a straight POST's answer.
func ok200(status int, _ []byte, _ int) error {
	if status != http.StatusOK {
		return fmt.Errorf("the receiver answers %d", status)
	}
	return nil
}
