package main

import (
	"syscall"
	"time"
)

// pause sleeps to within some 0.1 ms: Go's own timers may be late by a
// millisecond, which is what is to be measured here.
func pause(d time.Duration) {
	for left := syscall.NsecToTimespec(int64(d)); ; {
		var rest syscall.Timespec
		if err := syscall.Nanosleep(&left, &rest); err != syscall.EINTR {
			return
		}
		left = rest
	}
}
