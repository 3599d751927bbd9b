package pipeline

import (
	"context"
	"sync"

	"postino/shared/push"
)

// addressed is a queue message with the publish entry it belongs to. For a
// subscription's job, sub and v allow to park it as a fan-out page.
type addressed struct {
	entry    int
	queue    string
	sub      string
	protocol push.Protocol
	v        map[push.Protocol]variant
	out      Outgoing
}

// maxSendBytes bounds one send: SQS takes 1 MiB a batch, attributes included;
// the rest is room for them.
const maxSendBytes = 1<<20 - 16<<10

// store sends everything, batch by batch side by side. What a queue does not
// take at the second try is parked as a fan-out page; what cannot be parked is
// its entry's error.
func (p *Publish) store(ctx context.Context, topic push.Topic, all []addressed, entries int) []error {
	errs := make([]error, entries)
	failed := send(ctx, p.Queues, all)
	if len(failed) > 0 {
		failed = send(ctx, p.Queues, justAddressed(failed))
	}
	if len(failed) > 0 {
		failed = send(ctx, p.Queues, p.parked(topic, failed))
	}
	for _, f := range failed {
		errs[f.entry] = f.err
	}
	return errs
}

func (p *Publish) parked(topic push.Topic, failed []unsent) []addressed {
	out := make([]addressed, 0, len(failed))
	for _, f := range failed {
		a := f.addressed
		if a.sub != "" {
			page := FanoutPage{Topic: topic.ARN, Only: []string{a.sub}, Messages: rawMessages(map[push.Protocol]variant{a.protocol: a.v[a.protocol]})}
			a = addressed{entry: a.entry, queue: p.Names.Fanout, out: page.outgoing()}
		}
		out = append(out, a)
	}
	return out
}

type unsent struct {
	addressed
	err error
}

func justAddressed(us []unsent) []addressed {
	out := make([]addressed, len(us))
	for i, u := range us {
		out[i] = u.addressed
	}
	return out
}

// sendsAtOnce bounds how many batches of one call are under way together.
const sendsAtOnce = 16

// send stores all and returns what was not stored.
func send(ctx context.Context, q Queues, all []addressed) []unsent {
	batches := batch(all)
	if len(batches) == 1 {
		return sendBatch(ctx, q, batches[0])
	}
	var (
		mu     sync.Mutex
		failed []unsent
		wg     sync.WaitGroup
		gate   = make(chan struct{}, sendsAtOnce)
	)
	for _, b := range batches {
		gate <- struct{}{}
		wg.Go(func() {
			defer func() { <-gate }()
			if f := sendBatch(ctx, q, b); len(f) > 0 {
				mu.Lock()
				failed = append(failed, f...)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return failed
}

func sendBatch(ctx context.Context, q Queues, b []addressed) (failed []unsent) {
	out := make([]Outgoing, len(b))
	for i, a := range b {
		out[i] = a.out
	}
	for i, err := range q.Send(ctx, b[0].queue, out) {
		if err != nil {
			failed = append(failed, unsent{b[i], err})
		}
	}
	return failed
}

// batch cuts all into runs of one queue, at most MaxBatch entries and
// maxSendBytes each.
func batch(all []addressed) (batches [][]addressed) {
	byQueue := map[string][]addressed{}
	var order []string
	for _, a := range all {
		if byQueue[a.queue] == nil {
			order = append(order, a.queue)
		}
		byQueue[a.queue] = append(byQueue[a.queue], a)
	}
	for _, queue := range order {
		start, bytes := 0, 0
		run := byQueue[queue]
		for i, a := range run {
			if i-start == MaxBatch || i > start && bytes+len(a.out.Body) > maxSendBytes {
				batches = append(batches, run[start:i])
				start, bytes = i, 0
			}
			bytes += len(a.out.Body)
		}
		batches = append(batches, run[start:])
	}
	return batches
}
