package infra_test

import (
	"os/exec"
	"strings"
	"testing"
)

// What is given to make must reach the scripts as it is: in a recipe's text a quote
// of it would end the recipe's own, and what follows would be the shell's to run.
func TestMakeHandsOnWhatItIsGivenAsItIs(t *testing.T) {
	for _, c := range []struct{ target, given, says string }{
		{"deploy", "STACK=a'b", "make deploy: STACK=a'b is no stack name"},
		{"deploy", `STACK=a"b`, `make deploy: STACK=a"b is no stack name`},
		{"deploy", "STACK=a;echo b", "make deploy: STACK=a;echo b is no stack name"},
		{"local-aws", "LOCAL_AWS_PORT=4'5", "4'5 is no port"},
		{"local-aws", "STACK=a'b", "no emulator is called a'b"},
		{"local-aws", "PYTHON=x'; echo b; '\nLOCAL_AWS_PORT=0", "0 is no port"},
		{"sam-local", "GO=x'; echo b; '\nSTACKS_PORT=0", "0 is no port"},
		{"local-aws-down", "LOCAL_AWS_PORT=99999", "99999 is no port"},
		{"coldstart", "LOCAL_AWS_PORT=1;echo b", "1;echo b is no port"},
		{"integration", `TEST_AWS_PORT=4"5`, `4"5 is no port`},
		{"test", "TEST_AWS_PORT=99999", "99999 is no port"},
		{"bench-aws", "BENCH_AWS_PORT=99999", "99999 is no port"},
		{"cost-counts", "COST_PORT=99999", "99999 is no port"},
		{"test-stacks", "STACKS_PORT=99999", "99999 is no port"},
		{"sam-local", "STACKS_PORT=99999", "99999 is no port"},
	} {
		arguments := append([]string{"--no-print-directory", "-C", "..", c.target}, strings.Split(c.given, "\n")...)
		out, err := exec.CommandContext(t.Context(), "make", arguments...).CombinedOutput() //nolint:gosec // the test's own words
		first, _, _ := strings.Cut(string(out), "\n")
		if err == nil || !strings.HasPrefix(first, c.says) {
			t.Errorf("make %s %s: %v, and it says %s", c.target, c.given, err, out)
		}
	}
}
