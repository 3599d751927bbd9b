//go:build integration

package integration

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// The functions run as processes of this host: these tests need the emulator.

// workers are the processes of a function of the test's own stack.
func (s *stack) workers(function string) (pids []int) {
	s.t.Helper()
	if s.kept {
		s.t.Fatal("the stack is not the test's own")
	}
	name := []byte("\x00AWS_LAMBDA_FUNCTION_NAME=" + s.output(function+"FunctionName") + "\x00")
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range files {
		environment, err := os.ReadFile(f)
		if err != nil || !bytes.Contains(append([]byte{0}, environment...), name) {
			continue // it has ended, or is somebody else's
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (s *stack) signal(function string, signal syscall.Signal) {
	s.t.Helper()
	pids := s.workers(function)
	if len(pids) == 0 {
		s.t.Fatalf("no process of %s is found", function)
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, signal) // it may have ended
	}
}

// heldOnce is an answer that a test holds back, and knows of.
type heldOnce struct{ came, release chan struct{} }

func held(t *testing.T) *heldOnce {
	h := &heldOnce{make(chan struct{}, 10), make(chan struct{})}
	t.Cleanup(func() { close(h.release) })
	return h
}

func (h *heldOnce) answer(_ http.ResponseWriter, r *http.Request) {
	h.came <- struct{}{}
	select {
	case <-h.release:
	case <-r.Context().Done():
	}
}

func (h *heldOnce) wait(t *testing.T) {
	t.Helper()
	select {
	case <-h.came:
	case <-time.After(patience):
		t.Fatal("nothing was pushed")
	}
}

// A crash may repeat attempts and loses none: of a batch of ten, nine are pushed
// and not acknowledged when the process goes, and one is in the middle. A signal
// to abort ends a Go process as an unrecovered panic does.
func TestABatchWhoseProcessDiesComesBackWhole(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "crashed": syscall.SIGABRT} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, e := own(t, nil), listen(t)
			topic := s.topic()
			url, arn := s.queue("it")
			s.subscribe(topic, e, merged(policy(0, 1), redrive(arn)))
			s.visibility("AttemptQueueUrl", 10*time.Second)
			h := held(t)
			ok := status(http.StatusOK)
			e.on("Notification", h.answer, ok)
			s.eventSource("Deliver", "AttemptQueueUrl", false)
			s.publishAll(topic, ten()...) // one batch, as it is all there when the source comes on
			s.eventSource("Deliver", "AttemptQueueUrl", true)
			h.wait(t)
			e.messages(9)
			s.signal("Deliver", signal)
			broken := e.next() // the one in the middle
			e.once(ten()...)
			if broken.Message == "" {
				t.Errorf("held was %s", broken.body)
			}
			e.quiet(5 * time.Second)
			s.empty(url, anything)
			s.empty(s.output("FailedJobsQueueUrl"), anything)
		})
	}
}

// The attempt that broke off is not counted; the one made in its place is.
func TestAnAttemptWhoseProcessIsKilledIsMadeAgainAndCountedOnce(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]int{"the first": 0, "a retry, under a claim": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, e := own(t, nil), listen(t)
			// A claim is held for the timeout and 15 s; then the attempt is anybody's.
			s.change("Deliver", map[string]string{"POSTINO_REQUEST_TIMEOUT": "2s"})
			topic := s.topic()
			url, arn := s.queue("it")
			s.subscribe(topic, e, merged(policy(1, 1), redrive(arn)))
			s.visibility("AttemptQueueUrl", 10*time.Second)
			s.visibility("RetryQueueUrl", 10*time.Second)
			h := held(t)
			failed := status(http.StatusInternalServerError)
			script := []answer{h.answer, failed}
			if before > 0 {
				script = []answer{failed, h.answer, failed}
			}
			e.on("Notification", script...)
			id := s.publish(topic, name)
			for range before {
				e.next()
			}
			h.wait(t)
			s.signal("Deliver", syscall.SIGKILL)
			e.next()
			for range 2 - before {
				if p := e.next(); p.MessageId != id {
					t.Errorf("pushed was %s", p.body)
				}
			}
			if n := note(t, s.takeFrom(url, anything)); n.Attempts != 2 || n.Status != http.StatusInternalServerError {
				t.Errorf("the note says %+v", n)
			}
			e.quiet(2 * time.Second)
		})
	}
}

// A process that no longer moves is ended by the function's timeout: of its batch
// of ten, nine are pushed and not acknowledged, and one is in the middle.
func TestABatchWhoseFunctionTimesOutComesBackWhole(t *testing.T) {
	t.Parallel()
	s, e := own(t, nil), listen(t)
	s.timeout("Deliver", 25*time.Second) // a push begins where 20 s are left
	topic := s.topic()
	url, arn := s.queue("it")
	s.subscribe(topic, e, merged(policy(0, 1), redrive(arn)))
	s.visibility("AttemptQueueUrl", 27*time.Second)
	h := held(t)
	e.on("Notification", h.answer, status(http.StatusOK))
	s.eventSource("Deliver", "AttemptQueueUrl", false)
	s.publishAll(topic, ten()...)
	s.eventSource("Deliver", "AttemptQueueUrl", true)
	h.wait(t)
	e.messages(9)
	s.signal("Deliver", syscall.SIGSTOP) // while the tenth waits for its answer
	if broken := e.next(); broken.Message == "" {
		t.Errorf("held was %s", broken.body)
	}
	e.once(ten()...)
	e.quiet(2 * time.Second)
	s.empty(url, anything)
	s.empty(s.output("FailedJobsQueueUrl"), anything)
}

// A push begins only where it can end within the function's timeout.
func TestAFunctionWithTooLittleTimeBeginsNoPush(t *testing.T) {
	t.Parallel()
	s, e := own(t, nil), listen(t)
	topic := s.topic()
	url, arn := s.queue("it")
	s.subscribe(topic, e, merged(policy(0, 1), redrive(arn)))
	s.visibility("AttemptQueueUrl", 2*time.Second)
	s.timeout("Deliver", 15*time.Second)
	id := s.publish(topic, "no time")
	e.quiet(4 * time.Second)
	s.timeout("Deliver", time.Minute)
	if p := e.next(); p.MessageId != id {
		t.Errorf("pushed was %s", p.body)
	}
	e.quiet(2 * time.Second)
	s.empty(url, anything)
}
