//go:build integration

package local

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The port is one that integration.sh stops the emulator of, should this test be killed.
func TestWhenTheEmulatorDiesItsTestsAreEndedAndNothingIsLeft(t *testing.T) {
	port := os.Getenv("LOCAL_AWS_TEST_PORT")
	if port == "" {
		t.Fatal("LOCAL_AWS_TEST_PORT is not set: run make integration")
	}
	if out, err := exec.Command("./ministack.sh", "start", port).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	defer func() {
		if out, err := exec.Command("./ministack.sh", "stop", port).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}()
	started := filepath.Join(t.TempDir(), "started")
	c := exec.Command("bash", "-euc", `cd ../..; cleanup() { echo cleaned up >&2; }; . infra/local/steps.sh
		step "the test" watched ministack "$0" bash -c 'sleep 1000 & echo $! >"$0.new"; mv "$0.new" "$0"; wait' "$1"`, port, started)
	var said bytes.Buffer
	c.Stderr = &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	command := pid(t, started)
	if err := syscall.Kill(pid(t, "../../.cache/ministack-run/"+port+"/pid"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	err := c.Wait()
	if err == nil || !strings.HasPrefix(said.String(), "MiniStack has died on port "+port) || !strings.Contains(said.String(), "the test failed\n") ||
		!strings.HasSuffix(said.String(), "cleaned up\n") || strings.Contains(said.String(), "left processes") {
		t.Errorf("%v, and it says %q", err, said.String())
	}
	gone(t, command)
}

func TestWhenTheEmulatorDiesADeploymentSaysSoAndLeavesNothing(t *testing.T) {
	port := os.Getenv("LOCAL_AWS_TEST_PORT")
	if port == "" {
		t.Fatal("LOCAL_AWS_TEST_PORT is not set: run make integration")
	}
	run := "../../.cache/ministack-run/" + port
	c := exec.Command("./sam.sh", "up", port) //nolint:gosec // of the tests' port
	c.Env = append(os.Environ(), "EMULATOR=ministack")
	var said bytes.Buffer
	c.Stderr = &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	there(t, run+"/build.log")
	if err := syscall.Kill(pid(t, run+"/pid"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err == nil || !strings.Contains(said.String(), "MiniStack has died on port "+port) {
		t.Errorf("%v, and it says %q", err, said.String())
	}
	if _, err := os.Stat(run); err == nil {
		t.Errorf("it leaves %s", run)
	}
	if out, err := exec.Command("./ministack.sh", "check", port).CombinedOutput(); err != nil { //nolint:gosec // the same
		t.Errorf("%v: %s", err, out)
	}
}
