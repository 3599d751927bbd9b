package eventsource

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"postino/shared/pipeline"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
)

// queue hands out batches and remembers what was done with their messages.
type queue struct {
	batches chan []pipeline.Incoming
	broken  chan error

	mu      sync.Mutex
	deleted []string
	hidden  map[string]time.Duration
	refuses error
}

func newQueue() *queue {
	return &queue{batches: make(chan []pipeline.Incoming, 100), broken: make(chan error, 10), hidden: map[string]time.Duration{}}
}

func (q *queue) put(ids ...string) {
	var b []pipeline.Incoming
	for _, id := range ids {
		b = append(b, pipeline.Incoming{ID: id, Receipt: "receipt of " + id, Body: "body of " + id, ReceiveCount: 1})
	}
	q.batches <- b
}

func (q *queue) Receive(ctx context.Context, name string, most int, visibility, wait time.Duration) ([]pipeline.Incoming, error) {
	if name != "q" || most != 10 || visibility != 360*time.Second {
		panic(fmt.Sprint(name, most, visibility))
	}
	select {
	case b := <-q.batches:
		return b, nil
	case err := <-q.broken:
		return nil, err
	case <-time.After(wait):
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (q *queue) Delete(_ context.Context, _ string, receipts []string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.deleted = append(q.deleted, receipts...)
	return q.refuses
}

func (q *queue) ChangeVisibility(_ context.Context, _, receipt string, d time.Duration) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.hidden[receipt] = d
	return nil
}

type handler = func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

// world runs a source over q until the test function returns.
func world(t *testing.T, q *queue, h handler, change func(*Source), test func(stop, abandon func(), ended chan struct{})) {
	t.Helper()
	s := &Source{Queue: q, Name: "q", ARN: "arn:aws:sqs:us-east-1:000000000000:q", Handle: h, Concurrency: 2, Overflow: 2, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(s)
	}
	polling, stop := context.WithCancel(t.Context())
	work, abandon := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { s.Run(polling, work); close(ended) }()
	test(stop, abandon, ended)
	stop()
	abandon()
	<-ended
	<-time.After(2 * crewRest) // of the bubble's clock: resting goroutines go home
}

func failing(ids ...string) events.SQSEventResponse {
	var r events.SQSEventResponse
	for _, id := range ids {
		r.BatchItemFailures = append(r.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: id})
	}
	return r
}

func TestWhatTheFunctionDoesNotReportIsDeletedAndTheRestComesBackSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		h := func(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
			if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) != 60*time.Second {
				t.Errorf("the function has until %v", deadline)
			}
			if r := e.Records[0]; r.MessageId != "a" || r.Body != "body of a" || r.EventSourceARN != "arn:aws:sqs:us-east-1:000000000000:q" {
				t.Errorf("got %+v", r)
			}
			return failing("b"), nil
		}
		world(t, q, h, nil, func(_, _ func(), _ chan struct{}) {
			q.put("a", "b", "c")
			synctest.Wait()
			if d := cmp.Diff([]string{"receipt of a", "receipt of c"}, q.deleted); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(map[string]time.Duration{"receipt of b": 2 * time.Second}, q.hidden); d != "" {
				t.Error(d)
			}
		})
	})
}

func TestAFunctionThatFailsBringsItsWholeBatchBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		h := func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
			return events.SQSEventResponse{}, errors.New("no")
		}
		world(t, q, h, nil, func(_, _ func(), _ chan struct{}) {
			q.put("a", "b")
			synctest.Wait()
			if len(q.deleted) != 0 || len(q.hidden) != 2 {
				t.Errorf("deleted %v, brought back %v", q.deleted, q.hidden)
			}
		})
	})
}

func TestAMessageThatKeepsFailingComesBackEverLaterUpToTheVisibilityTimeout(t *testing.T) {
	var got []time.Duration
	var sum time.Duration
	for n := range 100 {
		d := returnsAfter(n + 1)
		got = append(got, d)
		sum += d
	}
	if !slices.IsSorted(got) || got[0] != 2*time.Second || got[4] != 32*time.Second || got[8] != visibilityTimeout || got[99] != visibilityTimeout {
		t.Errorf("comes back after %v", got)
	}
	if sum < 9*time.Hour { // 100 receives move it to FailedJobsQueue
		t.Errorf("a fault on our side is given up after %s", sum)
	}
	if returnsAfter(0) != 2*time.Second {
		t.Error("a queue that does not count breaks it")
	}
}

func TestPromise5SlowInvocationsMakeRoomForQuickOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		began := make(chan string, 100)
		h := func(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
			began <- e.Records[0].MessageId
			if e.Records[0].Body == "body of quick" {
				return events.SQSEventResponse{}, nil
			}
			<-ctx.Done()
			return failing(e.Records[0].MessageId), nil
		}
		world(t, q, h, nil, func(_, _ func(), _ chan struct{}) {
			q.put("hang 1")
			q.put("hang 2")
			q.put("quick")
			synctest.Wait()
			if len(began) != 2 {
				t.Fatalf("%d invocations at a concurrency of 2", len(began))
			}
			time.Sleep(slowAfter + time.Millisecond) // the synctest bubble's clock
			synctest.Wait()
			if len(began) != 3 {
				t.Errorf("%d invocations: the two slow ones still hold their places", len(began))
			}
			// The overflow is bounded, too: four hang, nobody else gets in …
			q.put("hang 3")
			q.put("hang 4")
			time.Sleep(slowAfter + time.Millisecond)
			q.put("quick")
			time.Sleep(10 * time.Second)
			synctest.Wait()
			if len(began) != 5 {
				t.Errorf("%d invocations where 2 quick and 2 slow ones may run", len(began))
			}
			// … until the function's time is over.
			time.Sleep(functionTimeout)
			synctest.Wait()
			if len(began) != 6 || !slices.Contains(q.deleted, "receipt of quick") {
				t.Errorf("%d invocations after the hanging ones ended", len(began))
			}
		})
	})
}

func TestStoppingTakesNothingNewFinishesWhatRunsAndHandsTheRestBackAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		finish := make(chan struct{})
		h := func(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
			select {
			case <-finish:
				return events.SQSEventResponse{}, nil
			case <-ctx.Done():
				return failing(e.Records[0].MessageId), nil
			}
		}
		world(t, q, h, nil, func(stop, abandon func(), ended chan struct{}) {
			q.put("finishes")
			synctest.Wait()
			stop()
			synctest.Wait()
			q.put("too late")
			select {
			case <-ended:
				t.Fatal("Run left an invocation behind")
			default:
			}
			close(finish)
			<-ended
			if len(q.batches) != 1 || len(q.deleted) != 1 {
				t.Errorf("deleted %v, %d batches left", q.deleted, len(q.batches))
			}
		})

		q = newQueue()
		finish = nil
		world(t, q, h, nil, func(stop, abandon func(), ended chan struct{}) {
			q.put("hangs")
			synctest.Wait()
			stop()
			abandon()
			<-ended
			if d, ok := q.hidden["receipt of hangs"]; !ok || d != 0 || len(q.deleted) != 0 {
				t.Errorf("handed back after %v, deleted %v", d, q.deleted)
			}
		})
	})
}

func TestAQueueThatFailsIsAskedAgainAndAFailedDeleteHurtsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		q.refuses = errors.New("disk full")
		var mu sync.Mutex
		handled := 0
		h := func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
			mu.Lock()
			defer mu.Unlock()
			handled++
			return events.SQSEventResponse{}, nil
		}
		world(t, q, h, func(s *Source) { s.Concurrency = 1 }, func(_, _ func(), _ chan struct{}) {
			began := time.Now()
			for range 3 {
				q.broken <- errors.New("disk full")
			}
			time.Sleep(500 * time.Millisecond)
			if len(q.broken) != 2 {
				t.Errorf("a queue that fails is asked again at once")
			}
			q.put("a")
			q.put("b")
			time.Sleep(5 * time.Second)
			synctest.Wait()
			if handled != 2 {
				t.Errorf("%d of 2 batches were handled %s after the queue failed", handled, time.Since(began))
			}
		})
	})
}
