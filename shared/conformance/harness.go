// Package conformance holds the promises of the pipeline's ports as test
// suites. Every set of adapters runs the same suites, whatever it is built on:
// that is what makes the embedded server and the functions on AWS one product.
//
// Upper bounds on time are generous (Harness.Late), lower bounds exact: nothing
// may come early on any adapter.
package conformance

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Harness says how to run a suite against one adapter of type P. Times are
// taken with time.Now and waits made with time.Sleep, so that an adapter in a
// testing/synctest bubble runs on the bubble's clock and a remote one on the
// real clock.
type Harness[P any] struct {
	// Open gives a fresh, empty adapter and registers its closing with t.
	Open func(t *testing.T) P
	// Reopen closes an adapter and opens it on the same data. Promises about
	// restarts are left out when it is nil.
	Reopen func(t *testing.T, p P) P
	// Run runs a test's body; synctest.Test fits. nil calls it.
	Run func(t *testing.T, body func(t *testing.T))
	// Late is how long after its time a thing may come.
	Late time.Duration
	// Longest is the longest a test may wait; promises that need more are left
	// out. 0 means any time, as on a fake clock.
	Longest time.Duration
}

// test runs one promise as a subtest.
func (h Harness[P]) test(t *testing.T, promise string, body func(t *testing.T, p P)) {
	t.Run(promise, func(t *testing.T) {
		run := h.Run
		if run == nil {
			run = func(t *testing.T, body func(t *testing.T)) { body(t) }
		}
		run(t, func(t *testing.T) { body(t, h.Open(t)) })
	})
}

// waits reports whether a test may wait for d.
func (h Harness[P]) waits(d time.Duration) bool { return h.Longest == 0 || d <= h.Longest }

// must fails the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// equal compares values; times by the instant they name, nil and empty as same.
func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, sameInstant, sameEmpty); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", what, diff)
	}
}

func same(a, b any) bool { return cmp.Equal(a, b, sameInstant, sameEmpty) }

var (
	sameInstant = cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })
	sameEmpty   = cmp.FilterValues(func(a, b any) bool { return empty(a) && empty(b) }, cmp.Comparer(func(_, _ any) bool { return true }))
)

func empty(v any) bool {
	r := reflect.ValueOf(v)
	return r.IsValid() && (r.Kind() == reflect.Slice || r.Kind() == reflect.Map) && r.Len() == 0
}
