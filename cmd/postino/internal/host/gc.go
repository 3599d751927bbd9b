package host

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// garbageFloor is how much garbage may gather before a collection however
// little is live. Go's default collects at twice the live heap, which for a
// server that holds 10 MB is many times a second, each time shrinking the
// stacks that the next attempt grows again.
const garbageFloor = 32 << 20

// tuneGC keeps the heap's goal at the live heap plus the larger of the live heap
// and garbageFloor. It adjusts after each collection, until stop.
func tuneGC() (stop func()) {
	previous := debug.SetGCPercent(100)
	done := make(chan struct{})
	percent := 100 // only the finalizer's goroutine uses it
	var again func(*[16]byte)
	again = func(sentinel *[16]byte) {
		select {
		case <-done:
			return
		default:
		}
		if p := gcPercent(liveHeap()); p < percent*9/10 || p > percent*11/10 {
			percent = p
			debug.SetGCPercent(p)
		}
		runtime.SetFinalizer(sentinel, again)
	}
	runtime.SetFinalizer(new([16]byte), again)
	return func() {
		close(done)
		debug.SetGCPercent(previous)
	}
}

// gcPercent is the GOGC value that leaves garbageFloor above live.
func gcPercent(live uint64) int {
	if live == 0 {
		return 100
	}
	return int(min(max(100, garbageFloor*100/live), 1000))
}

// liveHeap is what the last collection found reachable, in bytes.
func liveHeap() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
