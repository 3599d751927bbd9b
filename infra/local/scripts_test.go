// Package local tests what the scripts of this folder say when they cannot do what
// they are for. What they do is tested by the suites that run on it.
package local

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// stubs is a folder of commands, each a line of shell.
func stubs(t *testing.T, commands map[string]string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for name, line := range commands {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+line+"\n"), 0o700); err != nil { //nolint:gosec // it is to be run
			t.Fatal(err)
		}
	}
	return folder
}

// run runs a script of this folder with commands of the test's own in front of
// PATH, each a line of shell, and gives what it says.
func run(t *testing.T, commands map[string]string, variables []string, script string, arguments ...string) (said string, code int) {
	t.Helper()
	folder := stubs(t, commands)
	c := exec.Command("./"+script, arguments...) //nolint:gosec // the test's own words
	c.Env = append(append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH")), variables...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	if stdout.Len() > 0 {
		t.Errorf("%s writes to standard output: %s", script, stdout.Bytes())
	}
	return stderr.String(), c.ProcessState.ExitCode()
}

const no = "exit 1"

// only is a PATH with nothing but commands and some of this machine's programs.
func only(t *testing.T, commands map[string]string, programs ...string) string {
	t.Helper()
	folder := stubs(t, commands)
	for _, name := range programs {
		at, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(at, filepath.Join(folder, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return "PATH=" + folder
}

// tooOld is a Python that says no when it is asked for its version.
func tooOld(t *testing.T) string {
	t.Helper()
	return filepath.Join(stubs(t, map[string]string{"python": no}), "python")
}

// listening is a port that somebody has until the test ends. A start on it leaves a
// lock, which goes with it: nobody comes back to this port.
func listening(t *testing.T) (l *net.TCPListener, port string) {
	t.Helper()
	a, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l = a.(*net.TCPListener)
	port = strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	t.Cleanup(func() {
		_ = l.Close()
		_ = os.Remove("../../.cache/" + port + ".lock")
	})
	return l, port
}

func TestWhatAScriptCannotDoItSaysInOneLine(t *testing.T) {
	_, port := listening(t)
	others := foreign(t)
	noPython := map[string]string{"python3": no, "python3.12": no, "python3.13": no, "python3.14": no}
	for name, c := range map[string]struct {
		commands  map[string]string
		variables []string
		script    []string
		says      string
	}{
		"MiniStack's port is taken": {nil, nil, []string{"ministack.sh", "start", port}, "port " + port + " is taken"},
		"LocalEmu's port is taken":  {nil, nil, []string{"localemu.sh", "start", port}, "port " + port + " is taken"},
		"the port is LocalEmu's":    {nil, nil, []string{"ministack.sh", "start", others}, "the other emulator, localemu, runs on port " + others},
		"no Python that LocalEmu runs on": {noPython, []string{"PYTHON=", "PYENV_ROOT=/nowhere"}, []string{"localemu.sh", "python"},
			"LocalEmu needs Python 3.12 or later"},
		"a port above all":          {nil, nil, []string{"sam.sh", "up", "99999"}, "99999 is no port: give a number from 1 to 65535"},
		"the port 0":                {nil, nil, []string{"sam.sh", "down", "0"}, "0 is no port"},
		"a word for a port":         {nil, nil, []string{"sam.sh", "env", "4'5"}, "4'5 is no port"},
		"MiniStack on no port":      {nil, nil, []string{"ministack.sh", "start", "65536"}, "65536 is no port"},
		"LocalEmu on no port":       {nil, nil, []string{"localemu.sh", "start", "-1"}, "-1 is no port"},
		"tests on no port":          {nil, nil, []string{"integration.sh", "99999"}, "99999 is no port"},
		"tests on an empty port":    {nil, nil, []string{"integration.sh", ""}, "nothing is no port"},
		"an empty port to stop":     {nil, nil, []string{"sam.sh", "down", ""}, "nothing is no port"},
		"the benchmark on no port":  {nil, nil, []string{"benchaws.sh", "99999"}, "99999 is no port"},
		"the counting on no port":   {nil, nil, []string{"costcounts.sh", "99999"}, "99999 is no port"},
		"no port after tests' last": {nil, nil, []string{"integration.sh", "65535"}, "65536 is no port"},
		"everything on no port":     {nil, nil, []string{"../test.sh", "99999", "lint"}, "99999 is no port"},
		"no port after the last":    {nil, nil, []string{"test-stacks.sh", "65535"}, "65536 is no port"},
		"containers on no port":     {nil, nil, []string{"../samlocal/run", "99999"}, "99999 is no port"},
		"LocalEmu does not run":     {nil, nil, []string{"localemu.sh", "alive", port}, "LocalEmu does not run on port " + port},
		"an emulator nobody knows":  {nil, []string{"EMULATOR=moto"}, []string{"sam.sh", "up", port}, "no emulator is called moto"},
		"no stack is up":            {nil, []string{"EMULATOR=localemu"}, []string{"sam.sh", "env", "1"}, "no stack is up on port 1"},
		"a Python that is too old":  {nil, []string{"PYTHON=" + tooOld(t)}, []string{"venv.sh", t.TempDir() + "/program", "1", "a program", "program"}, "is older than Python 3.10, which a program needs"},
		"a container engine off Linux": {map[string]string{"uname": "echo Darwin"}, nil, []string{"engine.sh", "needs"},
			"a container engine for the tests alone needs Linux"},
		"a container engine without root": {map[string]string{"id": "echo 1000", "uname": "echo Linux"}, nil, []string{"engine.sh", "needs"},
			"a container engine for the tests alone needs root"},
		"a container engine off Debian": {nil, []string{only(t, map[string]string{"uname": "echo Linux", "id": "echo 0"}, "bash", "env", "dirname", "mkdir")}, []string{"engine.sh", "needs"},
			"there is no apt-get here"},
		"no container engine of one's own": {map[string]string{"docker": "echo it does not run >&2; exit 1"}, []string{"ENGINE=own"}, []string{"../samlocal/run", port},
			"no container engine answers"},
	} {
		t.Run(name, func(t *testing.T) {
			said, code := run(t, c.commands, c.variables, c.script[0], c.script[1:]...)
			if code == 0 || !strings.Contains(said, c.says) || strings.Count(said, "\n") != 1 {
				t.Errorf("it exits %d and says %q, want one line with %q", code, said, c.says)
			}
		})
	}
}

// foreign is a port that is in use, by LocalEmu for all that the scripts can tell.
func foreign(t *testing.T) (port string) {
	t.Helper()
	_, port = listening(t)
	run := "../../.cache/localemu-run/" + port
	if err := os.MkdirAll(run, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(run) })
	return port
}

func TestWhatDoesNotRunIsAFailureInCIAlone(t *testing.T) {
	missing := map[string]string{"python3": no, "python3.12": no, "python3.13": no, "python3.14": no, "uname": "echo Darwin"}
	for ci, want := range map[string]int{"": 0, "true": 1} {
		said, code := run(t, missing, []string{"CI=" + ci, "PYTHON=", "PYENV_ROOT=/nowhere"}, "test-stacks.sh", "1")
		second := strings.Contains(said, "!! The test of functions in containers did NOT run.")
		if code != want || !strings.Contains(said, "!! The integration test on LocalEmu did NOT run.") || second == (ci == "true") {
			t.Errorf("with CI=%q it exits %d, want %d, and says %q", ci, code, want, said)
		}
	}
}

// Each target's port and, for those that take two, the next are nobody else's.
func TestTargetsDoNotTakeEachOthersPorts(t *testing.T) {
	b, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	taken := map[int]string{}
	for _, m := range regexp.MustCompile(`(?m)^(?:export )?(\w+)(_PORT| \?= 127\.0\.0\.1:)(?: \?= )?(\d+)$`).FindAllStringSubmatch(string(b), -1) {
		first, err := strconv.Atoi(m[3])
		if err != nil {
			t.Fatal(err)
		}
		ports := []int{first}
		if m[1] == "TEST_AWS" || m[1] == "STACKS" {
			ports = append(ports, first+1)
		}
		for _, port := range ports {
			if other := taken[port]; other != "" {
				t.Errorf("%s and %s both take port %d", other, m[1], port)
			}
			taken[port] = m[1]
		}
	}
	if len(taken) != 8 {
		t.Errorf("the ports are %v", taken)
	}
}
