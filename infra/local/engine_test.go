package local

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// scripts puts a copy of the engine's scripts into a folder of their own, with a short
// name: a socket's name is to lie in it.
func scripts(t *testing.T) (root string) {
	t.Helper()
	root, err := os.MkdirTemp("/tmp", "engine")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	for _, name := range []string{"infra/local/engine.sh", "infra/local/ending.sh"} {
		b, err := os.ReadFile(filepath.Join("../..", name))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(root, name), b, 0o700) //nolint:gosec // it is to be run
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestTheEnginesEndIsNotThatOfWhoReadsItsLog(t *testing.T) {
	root := scripts(t)
	log := filepath.Join(root, ".cache/engine-run/log")
	err := os.MkdirAll(filepath.Dir(log), 0o700)
	if err == nil {
		err = os.WriteFile(log, nil, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	reader := exec.Command("tail", "-f", log) //nolint:gosec // the test's own
	if err := reader.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reader.Process.Kill(); _ = reader.Wait() })
	if out, err := exec.Command(filepath.Join(root, "infra/local/engine.sh"), "stop").CombinedOutput(); err != nil { //nolint:gosec // the copy
		t.Errorf("%v: %s", err, out)
	}
	if ended, err := syscall.Wait4(reader.Process.Pid, nil, syscall.WNOHANG, nil); ended != 0 || err != nil {
		t.Errorf("the reader has been ended: %v", err)
	}
}

// The engine is unpacked beside a copy of the script, by commands that are not the
// real ones: nothing is downloaded and no network is made.
func TestAnEngineWhoseUnpackingWasKilledIsUnpackedAnewWithStubs(t *testing.T) {
	root := scripts(t)
	start := func(apt, dpkg string) string {
		c := exec.Command(filepath.Join(root, "infra/local/engine.sh"), "start") //nolint:gosec // the copy
		c.Env = append(os.Environ(), "PATH="+stubs(t, map[string]string{"uname": "echo Linux", "id": "echo 0", "apt-get": apt, "dpkg-deb": dpkg})+":"+os.Getenv("PATH"))
		out, err := c.CombinedOutput()
		if err == nil {
			t.Errorf("it starts: %s", out)
		}
		return string(out)
	}
	const downloads = `for word; do case $word in Dir::Cache::archives=*) touch "${word#*=}/one.deb";; esac; done`
	said := start(downloads, `mkdir -p "$3/usr/bin" && touch "$3/usr/bin/half" && kill -KILL $PPID`)
	if _, err := os.Stat(filepath.Join(root, ".cache/engine.new/usr/bin/half")); err != nil {
		t.Fatalf("it was not killed in the middle: %v: %s", err, said)
	}
	if _, err := os.Stat(filepath.Join(root, ".cache/engine")); err == nil {
		t.Error("half of it counts as an engine")
	}
	said = start(no, no)
	if _, err := os.Stat(filepath.Join(root, ".cache/engine.new/usr/bin/half")); err == nil || !strings.Contains(said, "the next run tries again") {
		t.Errorf("the next run goes on with what is half there: %s", said)
	}
}
