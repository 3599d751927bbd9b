package functions_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
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

// runtimeAPI is the part of Lambda that a bootstrap talks to (AWS Lambda
// developer guide, "Using the Lambda runtime API").
type runtimeAPI struct {
	*httptest.Server
	invocations chan []byte
	answers     chan answer
}

// answer is a response, or an error with its type.
type answer struct {
	body      []byte
	errorType string
}

func newRuntimeAPI(t *testing.T) *runtimeAPI {
	api := &runtimeAPI{invocations: make(chan []byte), answers: make(chan answer, 1)}
	mux := http.NewServeMux()
	const base = "/2018-06-01/runtime/invocation/"
	n := 0
	mux.HandleFunc("GET "+base+"next", func(w http.ResponseWriter, r *http.Request) {
		select {
		case event := <-api.invocations:
			n++
			w.Header().Set("Lambda-Runtime-Aws-Request-Id", fmt.Sprintf("8476a536-e9f4-11e8-9739-%012d", n))
			w.Header().Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(time.Now().Add(time.Minute).UnixMilli()))
			w.Header().Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:123456789012:function:f")
			_, _ = w.Write(event)
		case <-r.Context().Done():
		}
	})
	take := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		a := answer{body: body}
		if r.PathValue("what") == "error" {
			var e struct{ ErrorType string }
			if err := json.Unmarshal(body, &e); err != nil {
				t.Error(err)
			}
			a.errorType = e.ErrorType
		}
		api.answers <- a
		w.WriteHeader(http.StatusAccepted)
	}
	mux.HandleFunc("POST "+base+"{id}/{what}", take)
	api.Server = httptest.NewServer(mux)
	t.Cleanup(api.Close)
	return api
}

// function is a running bootstrap.
type function struct {
	t    *testing.T
	api  *runtimeAPI
	stop func()
}

// launch starts a function; stop kills it, as Lambda does between invocations.
func launch(t *testing.T, path string, env map[string]string) *function {
	t.Helper()
	api := newRuntimeAPI(t)
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), "AWS_LAMBDA_RUNTIME_API="+strings.TrimPrefix(api.URL, "http://"))
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop := func() {
		if !stopped {
			stopped = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			if t.Failed() {
				t.Logf("%s logged: %s", filepath.Base(path), log.String())
			}
		}
	}
	t.Cleanup(stop)
	return &function{t, api, stop}
}

func (f *function) invoke(event []byte) answer {
	f.t.Helper()
	deadline := time.After(patience)
	select {
	case f.api.invocations <- event:
	case <-deadline:
		f.t.Fatal("the function asks for no event")
	}
	select {
	case a := <-f.api.answers:
		return a
	case <-deadline:
		f.t.Fatal("the function does not answer")
		panic("unreachable")
	}
}
