package local

import (
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
mkdir -p "$3/bin" && printf '#!/bin/sh\n%s\n' '` + pip + `' >"$3/bin/pip" && chmod +x "$3/bin/pip"
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
	c.Env = append(os.Environ(), "PYTHON="+stub(t, "echo $$ >"+began+".new; mv "+began+".new "+began+"; exec sleep 1000 "+folder))
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	pip := pid(t, began)
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

// pid waits for the file that a process's number is in.
func pid(t *testing.T, file string) int {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		b, err := os.ReadFile(file)
		if err == nil {
			n, err := strconv.Atoi(strings.TrimSpace(string(b)))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("%s is not there", file)
	return 0
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
