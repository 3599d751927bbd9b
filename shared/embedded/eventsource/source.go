// Package eventsource is what AWS Lambda's SQS event source mapping is in the
// cloud: it polls a queue, invokes a handler with real SQS events, and deletes
// what the handler did not report as failed (AWS Lambda guide, "Using Lambda
// with Amazon SQS"). The rest reappears: soon at first, later with the queue's
// visibility timeout, which in the cloud it always waits for.
//
// It is ours because no library plays the mapping in process.
package eventsource

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"postino/shared/crew"
	"postino/shared/lambdaio"
	"postino/shared/pipeline"
)

// Queue is the receiving end.
type Queue interface {
	Receive(ctx context.Context, queue string, max int, visibility, wait time.Duration) ([]pipeline.Incoming, error)
	Delete(ctx context.Context, queue string, receipts []string) error
	ChangeVisibility(ctx context.Context, queue, receipt string, d time.Duration) error
}

// Source polls one queue for one function.
type Source struct {
	Queue  Queue
	Name   string // the queue's name
	ARN    string // as events name it
	Handle func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)
	// Concurrency is how many invocations run side by side while each is quick.
	Concurrency int
	// Overflow is how many more may run that have turned out slow, so that
	// endpoints that hang do not take the place of those that answer.
	Overflow int
	Log      *slog.Logger
}

// The figures of the deployed functions (template.yaml).
const (
	batchSize         = 10
	functionTimeout   = 60 * time.Second
	visibilityTimeout = 360 * time.Second
	// slowAfter is when an invocation counts as slow; a healthy batch ends in
	// milliseconds.
	slowAfter = 100 * time.Millisecond
	crewRest  = 5 * time.Second
)

// Run polls until polling ends, then waits for the invocations under way, which
// run under work. Records not handled by then are in the queue still.
func (s *Source) Run(polling, work context.Context) {
	var (
		running     sync.WaitGroup
		held        atomic.Int64 // bytes of the bodies in hand
		invocations = crew.New(crewRest)
		quick       = make(chan struct{}, s.Concurrency)
		slow        = make(chan struct{}, s.Overflow)
	)
	defer running.Wait()
	for {
		select {
		case quick <- struct{}{}:
		case <-polling.Done():
			return
		}
		if !s.roomFor(polling, &held) {
			return
		}
		batch, err := s.Queue.Receive(polling, s.Name, batchSize, visibilityTimeout, 20*time.Second)
		if polling.Err() != nil && len(batch) == 0 {
			return
		}
		if err != nil {
			s.Log.Error("receive failed; polling goes on", "queue", s.Name, "err", err)
			pause(polling, time.Second)
		}
		if len(batch) == 0 {
			<-quick
			continue
		}
		size := bytesOf(batch)
		held.Add(size)
		running.Add(1)
		invocations.Go(func() {
			defer running.Done()
			defer held.Add(-size)
			slot := newSlot(quick, slow)
			defer slot.release()
			s.invoke(work, batch)
		})
	}
}

// heldMost bounds the bodies in hand at one time. Each is in memory about five
// times while its push is under way, and an endpoint that hangs keeps it there
// for the whole of its time limit.
const heldMost = 48 << 20

// roomFor waits until few enough bytes are in hand; false when polling ends.
func (s *Source) roomFor(polling context.Context, held *atomic.Int64) bool {
	for held.Load() >= heldMost {
		pause(polling, 10*time.Millisecond)
		if polling.Err() != nil {
			return false
		}
	}
	return true
}

func bytesOf(batch []pipeline.Incoming) (n int64) {
	for _, m := range batch {
		n += int64(len(m.Body))
	}
	return n
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// slot is an invocation's place; it moves from quick to slow when it has run
// for slowAfter and there is room.
type slot struct {
	mu    sync.Mutex
	held  chan struct{}
	slow  chan struct{}
	timer *time.Timer
	done  bool
}

func newSlot(quick, slow chan struct{}) *slot {
	s := &slot{held: quick, slow: slow}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = time.AfterFunc(slowAfter, s.move)
	return s
}

func (s *slot) move() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return
	}
	select {
	case s.slow <- struct{}{}:
		<-s.held
		s.held = s.slow
	default:
		s.timer.Reset(slowAfter) // no room: it keeps its place and asks again
	}
}

func (s *slot) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	s.timer.Stop()
	<-s.held
}

// invoke runs the handler once and settles the batch.
func (s *Source) invoke(work context.Context, batch []pipeline.Incoming) {
	ctx, cancel := context.WithTimeout(work, functionTimeout)
	defer cancel()
	event := events.SQSEvent{Records: make([]events.SQSMessage, len(batch))}
	for i, m := range batch {
		record := pipeline.Record{ID: m.ID, Body: m.Body, Group: m.Group, Attributes: m.Attributes, ReceiveCount: m.ReceiveCount, Queue: s.ARN}
		event.Records[i] = lambdaio.ToSQSMessage(record, m.Receipt, m.Sent)
	}
	answer, err := s.Handle(ctx, event)
	if err != nil {
		s.Log.Error("function failed; its batch comes back", "queue", s.Name, "err", err)
		for _, m := range batch {
			s.giveBack(work, m)
		}
		return
	}
	failed := map[string]bool{}
	for _, f := range answer.BatchItemFailures {
		failed[f.ItemIdentifier] = true
	}
	done := make([]string, 0, len(batch))
	for _, m := range batch {
		if failed[m.ID] {
			s.giveBack(work, m)
		} else {
			done = append(done, m.Receipt)
		}
	}
	if len(done) == 0 {
		return
	}
	if err := s.Queue.Delete(context.WithoutCancel(work), s.Name, done); err != nil {
		s.Log.Error("acknowledging failed; the batch may run again", "queue", s.Name, "err", err)
	}
}

// giveBack makes a message reappear. That it cannot is no matter: it does so
// with its timeout.
func (s *Source) giveBack(work context.Context, m pipeline.Incoming) {
	after := returnsAfter(m.ReceiveCount)
	if work.Err() != nil {
		after = 0 // stopping: whoever starts next need not wait
	}
	_ = s.Queue.ChangeVisibility(context.WithoutCancel(work), s.Name, m.Receipt, after)
}

// returnsAfter is how long a message that was received so many times and failed
// stays away: 2 s, doubling up to the visibility timeout. A disk that was full
// for a minute costs a minute, and maxReceiveCount still lasts for hours.
func returnsAfter(receives int) time.Duration {
	return min(visibilityTimeout, 2*time.Second<<min(max(receives-1, 0), 8))
}
