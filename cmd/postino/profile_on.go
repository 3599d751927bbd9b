//go:build profile

package main

import (
	"fmt"
	"os"
	"runtime/pprof"
)

// profile writes a CPU and an allocation profile of the whole run to
// POSTINO_PROFILE.PID.cpu and .allocs, in binaries built with -tags profile.
func profile() (stop func()) {
	name := fmt.Sprintf("%s.%d", os.Getenv("POSTINO_PROFILE"), os.Getpid())
	f, err := os.Create(name + ".cpu")
	if err != nil {
		return func() {}
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return func() {}
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close()
		if f, err := os.Create(name + ".allocs"); err == nil {
			_ = pprof.Lookup("allocs").WriteTo(f, 0)
			_ = f.Close()
		}
	}
}
