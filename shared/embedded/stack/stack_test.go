package stack_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"postino/shared/config"
	"postino/shared/embedded/sqlitequeue"
	"postino/shared/embedded/stack"
	"postino/shared/pipeline"
	"postino/shared/push"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func settings(t *testing.T, dir string) config.Config {
	t.Helper()
	c, err := config.Load(func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	c.Data = dir
	return c
}

func open(t *testing.T, dir string) *stack.Stack {
	t.Helper()
	s, err := stack.Open(context.Background(), settings(t, dir), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closed(t *testing.T, s *stack.Stack) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestTheFiveQueuesExistFromTheStart(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "made", "on", "the", "way"))
	defer closed(t, s)
	all, err := s.Queue.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, n := range all {
		names[n] = true
	}
	want := map[string]bool{"AttemptQueue": true, "RetryQueue": true, "FanoutQueue": true, "DeadLetterQueue": true, "FailedJobsQueue": true}
	if d := cmp.Diff(want, names); d != "" {
		t.Error(d)
	}
}

func TestMessagesTimersAndTheKeyOutliveTheStack(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	a, err := s.Adapters("http://127.0.0.1:1", false, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	path := a.Signer.CertPath()
	if err := errors.Join(s.Queue.Send(t.Context(), "AttemptQueue", []pipeline.Outgoing{{Body: "kept"}})...); err != nil {
		t.Fatal(err)
	}
	if err := s.Timer.At(t.Context(), "t", time.Now().Add(time.Hour), "RetryQueue", pipeline.Outgoing{Body: "later"}); err != nil {
		t.Fatal(err)
	}
	closed(t, s)

	s = open(t, dir)
	defer closed(t, s)
	got, err := s.Queue.Receive(t.Context(), "AttemptQueue", 10, time.Minute, 0)
	if err != nil || len(got) != 1 || got[0].Body != "kept" {
		t.Errorf("received %+v, %v", got, err)
	}
	// The name is taken still, so the second call changes nothing.
	if err := s.Timer.At(t.Context(), "t", time.Now(), "RetryQueue", pipeline.Outgoing{Body: "sooner"}); err != nil {
		t.Error(err)
	}
	if got, err := s.Queue.Receive(t.Context(), "RetryQueue", 10, time.Minute, 0); err != nil || len(got) != 0 {
		t.Errorf("received %+v, %v", got, err)
	}
	if a, err = s.Adapters("http://127.0.0.1:2", false, nil, nil); err != nil || a.Signer.CertPath() != path {
		t.Errorf("the certificate moved from %s to %s (%v)", path, a.Signer.CertPath(), err)
	}
}

func TestPromise3ClaimsEndWithTheProcessThatMadeThem(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	key := push.DeliveryKey{Subscription: "arn:aws:sns:us-east-1:000000000000:t:x", MessageID: "m"}
	claim := func(s *stack.Stack, owner string) bool {
		t.Helper()
		now := time.Now()
		d := push.Delivery{Key: key, Attempt: 2, State: push.Claimed, Owner: owner, LeaseEnd: now.Add(time.Hour), CreatedAt: now, UpdatedAt: now, Expires: now.Add(2 * time.Hour)}
		_, ok, err := s.Store.Claim(t.Context(), d, now)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if !claim(s, "first") || claim(s, "second") {
		t.Fatal("claims do not exclude each other")
	}
	closed(t, s)
	s = open(t, dir)
	defer closed(t, s)
	if !claim(s, "third") {
		t.Error("the claim of a process that has ended holds")
	}
}

func TestAStackThatCannotOpenLeavesNothingOpen(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if _, err := stack.Open(t.Context(), settings(t, dir), slog.New(slog.DiscardHandler)); push.CodeOf(err) != push.CodeUnavailable {
		t.Errorf("a second stack on the directory: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "signing.pem"), []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Adapters("http://127.0.0.1:1", false, nil, nil); err == nil {
		t.Error("a damaged key is taken")
	}
	closed(t, s)
	closed(t, open(t, dir))
}

func TestAQueueThatIsNamedByItsARNIsTheSameQueue(t *testing.T) {
	s := open(t, t.TempDir())
	defer closed(t, s)
	const arn = "arn:aws:sqs:us-east-1:000000000000:own"
	if err := s.Queue.Ensure(t.Context(), "own", sqlitequeue.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Queue.Send(t.Context(), arn, []pipeline.Outgoing{{Body: "b"}})...); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Queue.Receive(t.Context(), "own", 10, time.Minute, 0); err != nil || len(got) != 1 {
		t.Errorf("received %+v, %v", got, err)
	}
}
