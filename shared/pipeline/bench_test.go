package pipeline

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"postino/shared/envelope"
	"postino/shared/push"
)

// nothing are ports that cost next to nothing, to see what the verbs cost.
type nothing struct {
	*fakes
	results []error
}

func (n nothing) Subscription(_ context.Context, arn string, _ bool) (push.Subscription, error) {
	return n.subs[arn], nil
}

func (n nothing) Topic(_ context.Context, arn string) (push.Topic, error) { return n.topics[arn], nil }

func (n nothing) Create(_ context.Context, d push.Delivery) (push.Delivery, bool, error) {
	return d, true, nil
}

func (n nothing) Claim(_ context.Context, d push.Delivery, _ time.Time) (push.Delivery, bool, error) {
	return d, true, nil
}

func (n nothing) Settle(_ context.Context, d push.Delivery) (push.Delivery, bool, error) {
	return d, true, nil
}

func (n nothing) Send(_ context.Context, _ string, entries []Outgoing) []error {
	return n.results[:len(entries)]
}

func (n nothing) Sign(push.Kind, push.Message, string) (push.Signature, error) {
	return push.Signature{Version: "1", Value: "c2ln"}, nil
}

type answering struct{ result push.Result }

func (a answering) Send(context.Context, string, envelope.Request) push.Result { return a.result }

// BenchmarkDeliver is what one record costs in Deliver itself.
func BenchmarkDeliver(b *testing.B) {
	for name, c := range map[string]struct {
		attempt int
		result  push.Result
		cache   time.Duration
		body    int
	}{
		"first attempt succeeds":         {1, push.Result{Class: push.Success, Status: 200}, 0, 1000},
		"first attempt succeeds, cached": {1, push.Result{Class: push.Success, Status: 200}, time.Hour, 1000},
		"first attempt succeeds, 100 kB": {1, push.Result{Class: push.Success, Status: 200}, 0, 100_000},
		"first attempt fails":            {1, unavailable, 0, 1000},
		"retry fails":                    {2, unavailable, 0, 1000},
	} {
		b.Run(name, func(b *testing.B) {
			n := nothing{newFakes(1), make([]error, MaxBatch)}
			d := n.deliver()
			d.Directory, d.Deliveries, d.Queues, d.Sender, d.Signer, d.Observer, d.CacheFor = n, n, n, answering{c.result}, n, nil, c.cache
			j := n.job(0)
			j.Attempt, j.Message.Body = c.attempt, strings.Repeat("x", c.body)
			j.Message.Signature = push.Signature{Version: "1", Value: "c2ln", CertURL: "https://push.example.com/cert.pem"}
			records := []Record{record(crashNames.Retry, j)}
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				if failed := d.Handle(ctx, records); failed != nil {
					b.Fatal(failed)
				}
			}
		})
	}
}

// BenchmarkPublish is one message to ten and to a hundred subscriptions.
func BenchmarkPublish(b *testing.B) {
	for _, subs := range []int{10, 100} {
		b.Run(fmt.Sprintf("fan-out %d", subs), func(b *testing.B) {
			n := nothing{newFakes(subs), make([]error, MaxBatch)}
			p := n.publish()
			p.Directory, p.Queues, p.Signer, p.Observer = n, n, n, nil
			r := PublishRequest{TopicARN: topicA, Entries: one(strings.Repeat("x", 1000))}
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				if results, err := p.Publish(ctx, r); err != nil || results[0].Err != nil {
					b.Fatal(results, err)
				}
			}
		})
	}
}
