package stack_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"postino/shared/embedded/stack"
	"postino/shared/installation"
	"postino/shared/pipeline"
)

func adapters(t *testing.T, s *stack.Stack) installation.Adapters {
	t.Helper()
	a, err := s.Adapters("http://127.0.0.1:1", false, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func fill(t *testing.T, s *stack.Stack, n int) {
	t.Helper()
	for ; n > 0; n -= 10 {
		entries := make([]pipeline.Outgoing, min(n, 10))
		for i := range entries {
			entries[i].Body = fmt.Sprint(n, i)
		}
		if err := errors.Join(s.Queue.Send(t.Context(), "AttemptQueue", entries)...); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPublishersAreHeldBackWhileDeliveriesAreBehindAndNotForLong(t *testing.T) {
	s := open(t, t.TempDir())
	defer closed(t, s)
	a := adapters(t, s)
	held := func() time.Duration {
		t.Helper()
		began := time.Now()
		if err := a.Admit(t.Context()); err != nil {
			t.Error(err)
		}
		return time.Since(began)
	}
	fill(t, s, stack.Behind-1)
	if d := held(); d >= stack.HeldAtMost {
		t.Errorf("held for %s although nothing is behind", d)
	}
	fill(t, s, 1)
	if d := held(); d < stack.HeldAtMost || d > stack.HeldAtMost+5*time.Second {
		t.Errorf("held for %s, want %s", d, stack.HeldAtMost)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Admit(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who has left gets %v", err)
	}
	// One job fewer lets the publisher on at once, though a busy machine may take
	// too long to take that job.
	atOnce := false
	for range 20 {
		admitted := make(chan time.Duration, 1)
		go func() { admitted <- held() }()
		if got, err := s.Queue.Receive(t.Context(), "AttemptQueue", 1, time.Minute, 0); err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		if atOnce = <-admitted < stack.HeldAtMost; atOnce {
			break
		}
		fill(t, s, 1)
	}
	if !atOnce {
		t.Error("publishers are held although deliveries caught up")
	}
}

func TestAJobThatComesBackAHundredTimesGoesToFailedJobs(t *testing.T) {
	s := open(t, t.TempDir())
	defer closed(t, s)
	for _, queue := range []string{"AttemptQueue", "RetryQueue", "FanoutQueue"} {
		if err := errors.Join(s.Queue.Send(t.Context(), queue, []pipeline.Outgoing{{Body: queue}})...); err != nil {
			t.Fatal(err)
		}
		for n := 1; n <= 100; n++ {
			got, err := s.Queue.Receive(t.Context(), queue, 1, time.Minute, 0)
			if err != nil || len(got) != 1 || got[0].ReceiveCount != n {
				t.Fatalf("%s, receive %d: %+v, %v", queue, n, got, err)
			}
			if err := s.Queue.ChangeVisibility(t.Context(), queue, got[0].Receipt, 0); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := s.Queue.Receive(t.Context(), queue, 1, time.Minute, 0); err != nil || len(got) != 0 {
			t.Errorf("%s gives it a 101st time: %+v, %v", queue, got, err)
		}
		got, err := s.Queue.Receive(t.Context(), "FailedJobsQueue", 1, time.Minute, 0)
		if err != nil || len(got) != 1 || got[0].Body != queue {
			t.Errorf("FailedJobsQueue gives %+v, %v after %s", got, err, queue)
		}
	}
	// What people look at one by one stays however often they do.
	if err := errors.Join(s.Queue.Send(t.Context(), "DeadLetterQueue", []pipeline.Outgoing{{Body: "letter"}})...); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 101; n++ {
		got, err := s.Queue.Receive(t.Context(), "DeadLetterQueue", 1, time.Minute, 0)
		if err != nil || len(got) != 1 {
			t.Fatalf("DeadLetterQueue, receive %d: %+v, %v", n, got, err)
		}
		if err := s.Queue.ChangeVisibility(t.Context(), "DeadLetterQueue", got[0].Receipt, 0); err != nil {
			t.Fatal(err)
		}
	}
}
