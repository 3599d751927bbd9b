package main

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheBinaryKeepsItsStreamsAndExitCodesApart(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "postino")
	if out, err := exec.Command("go", "build", "-ldflags", "-X main.version=v9.8.7", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, c := range []struct {
		line, in, out, err string
		code               int
	}{
		{line: "version", out: "postino v9.8.7 (go1."},
		{line: "explain -", in: "{}", out: "Total: 3 retries over 1m."},
		{line: "explain -", in: "{", err: "postino: Invalid parameter: DeliveryPolicy: ", code: exitFailure},
		{line: "dlq list --data " + t.TempDir(), err: "postino: No Postino server is running on ", code: exitFailure},
		{line: "bogus", err: "postino: unexpected argument bogus", code: exitUsage},
		{line: "serve --listen 0.0.0.0:0 --data " + t.TempDir(), err: "postino: ", code: exitFailure},
	} {
		var out, errs bytes.Buffer
		cmd := exec.Command(binary, strings.Fields(c.line)...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(c.in), &out, &errs
		code := 0
		if err := cmd.Run(); err != nil {
			exit, ok := errors.AsType[*exec.ExitError](err)
			if !ok {
				t.Fatal(err)
			}
			code = exit.ExitCode()
		}
		if code != c.code || !strings.Contains(out.String(), c.out) || (c.out == "") != (out.Len() == 0) ||
			!strings.HasPrefix(errs.String(), c.err) || (c.err == "") != (errs.Len() == 0) {
			t.Errorf("postino %s: code %d, out %q, err %q", c.line, code, out.String(), errs.String())
		}
	}
}
