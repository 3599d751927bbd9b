//go:build !linux

package main

import "time"

// pause sleeps; outside Linux no finer clock is used than Go's own.
func pause(d time.Duration) { time.Sleep(d) }
