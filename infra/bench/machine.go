package main

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// machine is what the figures were measured on.
type machine struct {
	CPUs       int
	Go, OS     string
	FileSystem string // of the data directories, "" when unknown
	FsyncP50US int64  // of 4 KiB writes there
	LoadBefore string // the load averages at the start, "" when unknown
	// Others is the mean number of CPUs that other programs kept busy meanwhile.
	Others  figure
	Started time.Time
}

// describeMachine knows the disk of a directory too.
func describeMachine(dir string) (m machine, err error) {
	m = describeProcessors()
	m.FileSystem = fileSystem(dir)
	m.FsyncP50US, err = fsyncCost(dir)
	return m, err
}

func describeProcessors() machine {
	m := machine{
		CPUs: runtime.NumCPU(), Go: runtime.Version(), OS: runtime.GOOS + "/" + runtime.GOARCH,
		Started: time.Now().UTC().Truncate(time.Second),
	}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.LoadBefore = strings.Join(strings.Fields(string(b))[:3], " ")
	}
	return m
}

// fsyncCost is the median time in µs to append 4 KiB to a file and fsync it:
// what a durable commit cannot do without, and next to nothing where durability
// is only pretended.
func fsyncCost(dir string) (int64, error) {
	f, err := os.CreateTemp(dir, "fsync-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	var took []int64
	page := make([]byte, 4096)
	for range 50 {
		began := time.Now()
		if _, err := f.Write(page); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began).Microseconds())
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

// fileSystem is the type of the mount that holds dir, from /proc/self/mounts.
func fileSystem(dir string) string {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return ""
	}
	dir, err = filepath.EvalSymlinks(dir)
	if err != nil {
		return ""
	}
	return mountType(string(mounts), dir)
}

// mountType finds the longest mount point that dir lies under; a later mount
// covers an earlier one at the same place.
func mountType(mounts, dir string) (kind string) {
	longest := -1
	for line := range strings.Lines(mounts) {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		under := f[1] == "/" || dir == f[1] || strings.HasPrefix(dir, f[1]+"/")
		if under && len(f[1]) >= longest {
			longest, kind = len(f[1]), f[2]
		}
	}
	return kind
}
