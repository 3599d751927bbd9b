package crew_test

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"postino/shared/crew"
)

func TestEveryFunctionRunsAtOnceHoweverManyAreBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crew.New(time.Second)
		hold := make(chan struct{})
		var running atomic.Int32
		for range 100 {
			c.Go(func() { running.Add(1); <-hold })
		}
		synctest.Wait()
		if n := running.Load(); n != 100 {
			t.Errorf("%d of 100 functions run", n)
		}
		close(hold)
		<-time.After(2 * time.Second) // of the bubble's clock: all go home
	})
}

func TestGoroutinesAreUsedAgainAndEndWhenUnused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crew.New(time.Second)
		members := map[string]bool{}
		for range 10 {
			who := make(chan string, 1)
			c.Go(func() { who <- goroutine() })
			members[<-who] = true
			synctest.Wait()
		}
		if len(members) != 1 {
			t.Errorf("ten functions one after the other ran on %d goroutines, want 1", len(members))
		}
		// The bubble panics if a goroutine is left when this returns.
		<-time.After(2 * time.Second)
	})
}

// goroutine is the first line of this goroutine's stack, which names it.
func goroutine() string {
	b := make([]byte, 64)
	first, _, _ := strings.Cut(string(b[:runtime.Stack(b, false)]), "[")
	return first
}
