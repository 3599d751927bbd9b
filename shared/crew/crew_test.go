package crew_test

import (
	"runtime"
	"sync"
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
		before := runtime.NumGoroutine()
		var done sync.WaitGroup
		for range 10 {
			done.Add(1)
			c.Go(done.Done)
			done.Wait()
			synctest.Wait()
		}
		if n := runtime.NumGoroutine() - before; n != 1 {
			t.Errorf("ten functions one after the other left %d goroutines, want 1", n)
		}
		<-time.After(2 * time.Second) // of the bubble's clock
		synctest.Wait()
		if n := runtime.NumGoroutine() - before; n != 0 {
			t.Errorf("%d goroutines are left after their rest", n)
		}
	})
}
