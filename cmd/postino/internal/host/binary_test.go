package host_test

import (
	"bufio"
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var built struct {
	once sync.Once
	dir  string
	err  error
	out  []byte
}

// binary is bin/postino, built once for all tests.
func binary(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "postino"); built.err != nil {
			return
		}
		build := exec.Command("go", "build", "-o", filepath.Join(built.dir, "postino"), "postino/cmd/postino")
		built.out, built.err = build.CombinedOutput()
	})
	if built.err != nil {
		t.Fatalf("go build: %v %s", built.err, built.out)
	}
	return filepath.Join(built.dir, "postino")
}

func removeBinary() {
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
}

// process is a server in a process of its own.
type process struct {
	*server
	// up is when /healthz first answered.
	up time.Time
	// kill is kill -9, once.
	kill func()
}

// launch serves on dir in a process of its own until it is killed, at the
// latest when the test ends.
func launch(t *testing.T, dir string) *process {
	t.Helper()
	cmd := exec.Command(binary(t), "serve", "--listen", "127.0.0.1:0", "--data", dir)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out := must[interface{ Read([]byte) (int, error) }](t)(cmd.StdoutPipe())
	ok(t, cmd.Start())
	var once sync.Once
	p := &process{server: &server{t: t, dir: dir, events: newRecorder()}, kill: func() {
		once.Do(func() {
			_ = cmd.Process.Signal(syscall.SIGKILL)
			_ = cmd.Wait()
		})
	}}
	t.Cleanup(p.kill)
	first, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.kill()
		t.Fatalf("the server says %q: %s", first, errs.String())
	}
	p.connect(strings.Fields(first)[3])
	eventually(t, "/healthz answers", func() bool {
		resp, err := http.Get(p.url + "/healthz")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	p.up = time.Now()
	return p
}
