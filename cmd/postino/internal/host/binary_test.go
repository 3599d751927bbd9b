package host_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
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
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
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
