package pipeline

import (
	"context"
	"time"

	"postino/shared/push"
)

// Wrong variants of the protocol, made of the right code by wrapping its ports:
// a crash test that does not catch them proves nothing.

// handler handles one queue message over scripted ports.
type handler func(ctx context.Context, s *script, r Record) (acked bool)

// noSend acknowledges a failed attempt without sending its successor.
func noSend(c *code) handler {
	return func(ctx context.Context, s *script, r Record) bool {
		j, _ := push.DecodeJob(r.Body)
		return len(c.deliver(s, s, forgetful{s, j.Attempt}).Handle(ctx, []Record{r})) == 0
	}
}

type forgetful struct {
	Queues
	attempt int
}

func (f forgetful) Send(ctx context.Context, queue string, entries []Outgoing) []error {
	if j, err := push.DecodeJob(entries[0].Body); err == nil && j.Attempt > f.attempt {
		return []error{nil}
	}
	return f.Queues.Send(ctx, queue, entries)
}

// ackLostClaim acknowledges when it finds that another worker took its claim.
func ackLostClaim(c *code) handler {
	return func(ctx context.Context, s *script, r Record) bool {
		lost := &losing{Deliveries: s}
		return len(c.deliver(s, lost, s).Handle(ctx, []Record{r})) == 0 || lost.claim
	}
}

type losing struct {
	Deliveries
	claim bool
}

func (l *losing) Settle(ctx context.Context, d push.Delivery) (push.Delivery, bool, error) {
	current, ok, err := l.Deliveries.Settle(ctx, d)
	l.claim = err == nil && !ok
	return current, ok, err
}

// oneGeneration redrives a dead delivery under its old key.
func oneGeneration(c *code) handler {
	return func(ctx context.Context, s *script, r Record) bool {
		if r.Queue != crashDLQ {
			return c.right(ctx, s, r)
		}
		return len(c.redrive(s, sameKey{s}).Handle(ctx, []Record{r})) == 0
	}
}

type sameKey struct{ Queues }

func (k sameKey) Send(ctx context.Context, queue string, entries []Outgoing) []error {
	j, err := push.DecodeJob(entries[0].Body)
	if err != nil {
		return k.Queues.Send(ctx, queue, entries)
	}
	j.Generation = ""
	return k.Queues.Send(ctx, queue, []Outgoing{{Body: j.Encode()}})
}

// unclaimedRepeat pushes a first attempt without a claim although its job was in
// hand before.
func unclaimedRepeat(c *code) handler {
	return func(ctx context.Context, s *script, r Record) bool {
		if j, err := push.DecodeJob(r.Body); err == nil && j.Attempt == 1 {
			j.Stumbles, r.ReceiveCount = 0, 1
			r.Body = j.Encode()
		}
		return c.right(ctx, s, r)
	}
}

// unrecorded sends the successor of a retry without recording the attempt.
func unrecorded(c *code) handler {
	return func(ctx context.Context, s *script, r Record) bool {
		return len(c.deliver(s, careless{s}, s).Handle(ctx, []Record{r})) == 0
	}
}

type careless struct{ Deliveries }

func (u careless) Settle(_ context.Context, d push.Delivery) (push.Delivery, bool, error) {
	return d, true, nil
}

// hasty makes the delay of each retry a fifth too short.
func hasty(c *code) handler {
	return func(ctx context.Context, s *script, r Record) bool {
		return len(c.deliver(s, s, hurrying{s}).Handle(ctx, []Record{r})) == 0
	}
}

type hurrying struct{ Queues }

func (h hurrying) Send(ctx context.Context, queue string, entries []Outgoing) []error {
	if j, err := push.DecodeJob(entries[0].Body); err == nil && !j.NotBefore.IsZero() {
		j.NotBefore = j.NotBefore.Add(-crashDelay / 5)
		entries = []Outgoing{{Body: j.Encode(), Group: entries[0].Group}}
	}
	return h.Queues.Send(ctx, queue, entries)
}

// forking sends each successor twice.
func forking(c *code) handler {
	return func(ctx context.Context, s *script, r Record) bool {
		return len(c.deliver(s, s, doubling{s}).Handle(ctx, []Record{r})) == 0
	}
}

type doubling struct{ Queues }

func (d doubling) Send(ctx context.Context, queue string, entries []Outgoing) []error {
	if j, err := push.DecodeJob(entries[0].Body); err == nil && !j.NotBefore.IsZero() {
		d.Queues.Send(ctx, queue, entries)
	}
	return d.Queues.Send(ctx, queue, entries)
}

// greedy goes on as if every claim were granted.
func greedy(c *code) handler {
	return func(ctx context.Context, s *script, r Record) bool {
		return len(c.deliver(s, granting{s}, s).Handle(ctx, []Record{r})) == 0
	}
}

type granting struct{ Deliveries }

func (g granting) Claim(ctx context.Context, d push.Delivery, now time.Time) (push.Delivery, bool, error) {
	if current, ok, err := g.Deliveries.Claim(ctx, d, now); ok || err != nil {
		return current, ok, err
	}
	return d, true, nil
}
