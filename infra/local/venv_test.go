package local

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stub is a Python that makes an environment whose pip is a line of shell.
func stub(t *testing.T, pip string) (python string) {
	t.Helper()
	python = filepath.Join(t.TempDir(), "python")
	script := `#!/bin/sh
[ "$1" = -m ] || exit 0
mkdir -p "$3/bin" && touch "$3/bin/python" && chmod +x "$3/bin/python" && printf '#!/bin/sh\n%s\n' '` + pip + `' >"$3/bin/pip" && chmod +x "$3/bin/pip"
`
	if err := os.WriteFile(python, []byte(script), 0o700); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	return python
}

func install(t *testing.T, folder, pip string) (said string, code int) {
	t.Helper()
	return run(t, nil, []string{"PYTHON=" + stub(t, pip)}, "venv.sh", folder, "1.0", "a program", "program==1.0")
}

func TestAnInstallThatFailedIsMadeAnew(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "program")
	said, code := install(t, folder, "exit 1")
	if code == 0 || !strings.Contains(said, "pip could not install a program: see above; the next run tries again") {
		t.Errorf("it exits %d and says %q", code, said)
	}
	if said, code = install(t, folder, "exit 0"); code != 0 {
		t.Errorf("the next exits %d and says %q", code, said)
	}
	if said, code = install(t, folder, "exit 1"); code != 0 || said != "" {
		t.Errorf("one that is there is installed again: it exits %d and says %q", code, said)
	}
}

func TestAnInstallThatWasKilledIsMadeAnew(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "program")
	began := filepath.Join(t.TempDir(), "began")
	c := exec.Command("./venv.sh", folder, "1.0", "a program", "program==1.0")
	c.Env = append(os.Environ(), "PYTHON="+stub(t, "echo $$ >"+began+".new; mv "+began+".new "+began+"; sleep 1000"))
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	pip := pid(t, began)
	t.Cleanup(func() { _ = syscall.Kill(-pip, syscall.SIGKILL) }) // of a test that has failed
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err == nil {
		t.Error("it was not killed")
	}
	if said, code := install(t, folder, "exit 0"); code != 0 {
		t.Errorf("the next exits %d and says %q", code, said)
	}
	gone(t, pip)
}

// What a killed install has written down may be somebody else's number by now.
func TestAnInstallWaitsForNobodyElsesProcessAndEndsNone(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "program")
	foreign := exec.Command("sleep", "1000")
	foreign.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := foreign.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = foreign.Process.Kill(); _ = foreign.Wait() })
	if err := os.WriteFile(folder+".installing", []byte(strconv.Itoa(foreign.Process.Pid)), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, code := install(t, folder, "exit 0"); code != 0 {
		t.Errorf("it exits %d and says %q", code, said)
	}
	if ended, err := syscall.Wait4(foreign.Process.Pid, nil, syscall.WNOHANG, nil); ended != 0 || err != nil {
		t.Errorf("the other process has been ended: %v", err)
	}
}

func TestOfTwoInstallsTheSecondWaitsAndFindsItDone(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "program")
	began, goOn := filepath.Join(t.TempDir(), "began"), filepath.Join(t.TempDir(), "go-on")
	first := exec.Command("./venv.sh", folder, "1.0", "a program", "program==1.0")
	first.Env = append(os.Environ(), "PYTHON="+stub(t, "echo $$ >"+began+".new; mv "+began+".new "+began+"; until [ -e "+goOn+" ]; do sleep 0.05; done"))
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	pid(t, began)
	second := exec.Command("./venv.sh", folder, "1.0", "a program", "program==1.0")
	second.Env = append(os.Environ(), "PYTHON="+stub(t, "exit 1"))
	said, err := second.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(said).ReadString('\n')
	if want := "waiting for another install into " + folder + "\n"; err != nil || line != want {
		t.Errorf("the second says %q (%v), want %q", line, err, want)
	}
	if err := os.WriteFile(goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := first.Wait(); err != nil {
		t.Error(err)
	}
	if err := second.Wait(); err != nil {
		t.Errorf("the second installs what is there: %v", err)
	}
}

// there waits for a file and gives what is in it.
func there(t *testing.T, file string) string {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if b, err := os.ReadFile(file); err == nil {
			return string(b)
		}
	}
	t.Fatalf("%s is not there", file)
	return ""
}

// pid waits for the file that a process's number is in.
func pid(t *testing.T, file string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(there(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// gone gives a process a moment to be gone.
func gone(t *testing.T, process int) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if syscall.Kill(process, 0) != nil {
			return
		}
	}
	t.Errorf("process %d still runs", process)
}
