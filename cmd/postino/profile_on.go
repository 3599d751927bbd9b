//go:build profile

package main

import (
	"fmt"
	"os"
	"runtime/pprof"
)

// profile writes a CPU profile of the whole run to POSTINO_CPU_PROFILE.PID, in
// binaries built with -tags profile.
func profile() (stop func()) {
	f, err := os.Create(fmt.Sprintf("%s.%d", os.Getenv("POSTINO_CPU_PROFILE"), os.Getpid()))
	if err != nil {
		return func() {}
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return func() {}
	}
	return func() { pprof.StopCPUProfile(); _ = f.Close() }
}
