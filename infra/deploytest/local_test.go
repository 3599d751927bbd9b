//go:build integration

package deploytest

import (
	"bytes"
	"cmp"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// port is one that nothing listens on.
func port(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, p, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// makes runs a target of the Makefile for the emulator on a port.
func makes(t *testing.T, target, port string) (stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "make", "--no-print-directory", "-C", "../..", target, "LOCAL_AWS_PORT="+port, "STACK=ministack")
	cmd.Env = environment(t, nil)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("make %s: %v: %s", target, err, said.String())
	}
	return out.String(), said.String()
}

// awsCLI is a Python that has the AWS CLI: make sdktest's, or one with its version.
func awsCLI(t *testing.T) (python string) {
	t.Helper()
	folder, err := filepath.Abs("../../.cache/awscli")
	if err != nil {
		t.Fatal(err)
	}
	requirements, err := os.ReadFile("../sdktest/requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	wanted := regexp.MustCompile(`(?m)^awscli==(\S+)`).FindSubmatch(requirements)
	if wanted == nil {
		t.Fatal("infra/sdktest/requirements.txt names no awscli")
	}
	version := string(wanted[1])
	shared, _ := filepath.Abs("../../.cache/venv")
	if has, err := os.ReadFile(filepath.Join(shared, "requirements.txt")); err == nil && bytes.Equal(has, requirements) {
		return filepath.Join(shared, "bin/python")
	}
	if out, err := exec.CommandContext(t.Context(), "../local/venv.sh", folder, version, "AWS CLI "+version, "awscli=="+version).CombinedOutput(); err != nil { //nolint:gosec // the test's own words
		t.Fatalf("%v: %s", err, out)
	}
	return filepath.Join(folder, "bin/python")
}

func TestLocalAWSPrintsOneCommandThatPublishesAndGoesAwayWhole(t *testing.T) {
	at := cmp.Or(os.Getenv("LOCAL_AWS_TEST_PORT"), port(t))
	t.Cleanup(func() { _ = exec.Command("../local/ministack.sh", "stop", at).Run() }) //nolint:gosec // of the port that was free
	exports, said := makes(t, "local-aws", at)
	_, command, found := strings.Cut(said, "publish with one command:\n")
	command, _, _ = strings.Cut(command, "\n")
	if command = strings.TrimSpace(command); !found || strings.Contains(command, "\n") {
		t.Fatalf("it names no command of one line: %s", said)
	}

	cmd := exec.CommandContext(t.Context(), "bash", "-euc", `aws() { "$PYTHON_WITH_AWS" -m awscli "$@"; }`+"\n"+exports+"\n"+command) //nolint:gosec // what a person would paste
	cmd.Env = append(environment(t, map[string]string{"AWS_ENDPOINT_URL": "", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}), "PYTHON_WITH_AWS="+awsCLI(t))
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), `"MessageId"`) {
		t.Errorf("%s\n%v: %s", command, err, out)
	}

	makes(t, "local-aws-down", at)
	if out, err := exec.CommandContext(t.Context(), "../local/ministack.sh", "check", at).CombinedOutput(); err != nil { //nolint:gosec // the same
		t.Errorf("%v: %s", err, out)
	}
	if c, err := net.Dial("tcp", "127.0.0.1:"+at); err == nil {
		c.Close()
		t.Error("something still listens on the port")
	}
	if left, _ := filepath.Glob("../../.cache/ministack-run/" + at); left != nil {
		t.Errorf("it leaves %q", left)
	}
}
