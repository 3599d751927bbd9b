package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of CPU times in /proc: USER_HZ is 100 on every
// architecture Linux runs Go on (proc(5), sysconf(_SC_CLK_TCK)).
const clockTick = 10 * time.Millisecond

// cpuTime is the user and system time that process pid has used.
func cpuTime(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return parseCPU(stat)
}

// parseCPU reads utime and stime, fields 14 and 15 of /proc/PID/stat. Field 2,
// the program's name in parentheses, may hold spaces and parentheses itself.
func parseCPU(stat []byte) (time.Duration, error) {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return 0, errors.New("/proc/PID/stat has no program name")
	}
	fields := strings.Fields(string(stat[end+1:])) // from field 3
	if len(fields) < 13 {
		return 0, errors.New("/proc/PID/stat is too short")
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return 0, fmt.Errorf("/proc/PID/stat: %w", err)
	}
	return time.Duration(user+system) * clockTick, nil
}

// memory is what /proc/PID/status says, in bytes.
type memory struct {
	// Resident now, and Peak since the start.
	Resident, Peak int64
}

func memoryOf(pid int) (memory, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return memory{}, err
	}
	return parseMemory(status)
}

// parseMemory reads VmRSS and VmHWM, which are in units of 1,024 bytes.
func parseMemory(status []byte) (memory, error) {
	var m memory
	lines := bufio.NewScanner(bytes.NewReader(status))
	for lines.Scan() {
		name, rest, _ := strings.Cut(lines.Text(), ":")
		var to *int64
		switch name {
		case "VmRSS":
			to = &m.Resident
		case "VmHWM":
			to = &m.Peak
		default:
			continue
		}
		kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		if err != nil {
			return memory{}, fmt.Errorf("/proc/PID/status: %s: %w", name, err)
		}
		*to = kb * 1024
	}
	if m.Resident == 0 || m.Peak == 0 {
		return memory{}, errors.New("/proc/PID/status has no VmRSS or VmHWM")
	}
	return m, nil
}
