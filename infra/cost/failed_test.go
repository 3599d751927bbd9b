//go:build integration

package main

import "testing"

// failing is a world in which n messages wait for their first attempts, which the
// endpoint will answer with status.
func failing(t *testing.T, n int, policy string, status int) *world {
	t.Helper()
	w := newWorld(t)
	w.subscribe(1, policy)
	w.warm(1)
	w.endpoint.status.Store(int32(status))
	for range n {
		w.publish(small)
	}
	return w
}

// failed is first attempts that fail, a batch of ten, and what is done about it at
// once: with immediate retries a job in the queue, after a permanent failure a
// dead letter.
func failed(status int, name, title string) func(*testing.T) Counted {
	return func(t *testing.T) Counted {
		const n = 10
		w := failing(t, n, immediate(50), status)
		c := w.begin(false)
		c.deliver(w.c.Queues.Attempt, n, n, answerTime)
		return c.end(name, title, "attempts", n, n)
	}
}
