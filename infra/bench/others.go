package main

import (
	"errors"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// parseBusy reads the machine's busy time since boot from /proc/stat: all of
// its first line but idle and iowait, and but guest times, which are in user's
// already (proc(5)).
func parseBusy(stat string) (time.Duration, error) {
	line, _, _ := strings.Cut(stat, "\n")
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return 0, errors.New("/proc/stat does not begin with the sum of all CPUs")
	}
	var ticks int64
	for _, i := range []int{1, 2, 3, 6, 7, 8} { // user nice system, irq softirq steal
		n, err := strconv.ParseInt(f[i], 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}

// loadMeter tells how much of the machine others used while the suite ran.
type loadMeter struct {
	began     time.Time
	busy, own time.Duration
	known     bool
}

func startLoadMeter(workers ...*worker) loadMeter {
	busy, own, ok := cpuNow(workers)
	return loadMeter{began: time.Now(), busy: busy, own: own, known: ok}
}

// others is the mean number of CPUs in use by anything but the suite and the
// servers it started, since the start; unknown outside Linux.
func (l loadMeter) others(workers ...*worker) figure {
	busy, own, ok := cpuNow(workers)
	if !ok || !l.known {
		return unknown
	}
	share := float64(busy-l.busy-(own-l.own)) / float64(time.Since(l.began))
	return figure(math.Max(share, 0))
}

// cpuNow is the machine's busy time and the suite's own: this process, the
// servers that have ended and the workers.
func cpuNow(workers []*worker) (busy, own time.Duration, ok bool) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, false
	}
	if busy, err = parseBusy(string(stat)); err != nil {
		return 0, 0, false
	}
	self, ok1 := usedCPU(syscall.RUSAGE_SELF)
	ended, ok2 := usedCPU(syscall.RUSAGE_CHILDREN)
	own = time.Duration(self + ended)
	for _, w := range workers {
		cpu, err := cpuTime(w.cmd.Process.Pid)
		if err != nil {
			return 0, 0, false
		}
		own += cpu
	}
	return busy, own, ok1 && ok2
}
