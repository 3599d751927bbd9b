package functions_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"postino/infra/runtimeapi"
)

// built is where the functions were built, once for all tests.
var built = sync.OnceValues(func() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "postino-functions"); err != nil {
		return dir, err
	}
	out, err := exec.Command("go", "build", "-o", dir, "./publish", "./fanout", "./deliver", "./redrive").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go build: %w: %s", err, out)
	}
	return dir, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := built(); err == nil {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// binaries is the folder with the four functions.
func binaries(t *testing.T) string {
	t.Helper()
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// function is a running bootstrap.
type function struct {
	t *testing.T
	*runtimeapi.Function
}

// launch starts a function; it is stopped with the test.
func launch(t *testing.T, path string, env map[string]string) *function {
	t.Helper()
	var variables []string
	for name, value := range env {
		variables = append(variables, name+"="+value)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	f, err := runtimeapi.Start(ctx, path, variables)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.Stop()
		if t.Failed() {
			t.Logf("%s logged: %s", filepath.Base(path), f.Log())
		}
	})
	return &function{t, f}
}

func (f *function) invoke(event []byte) runtimeapi.Answer {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	a, err := f.Invoke(ctx, event)
	if err != nil {
		f.t.Fatal(err)
	}
	return a
}
