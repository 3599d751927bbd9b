package main

import (
	"bytes"
	"context"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// serve runs `postino serve`. stop ends it as Ctrl-C does and gives what it
// wrote to standard error.
func serve(t *testing.T, env map[string]string, args ...string) (out *screen, stop func() string) {
	t.Helper()
	out = &screen{changed: make(chan struct{}, 1)}
	var errs bytes.Buffer
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	app := &App{In: strings.NewReader(""), Out: out, Err: &errs, Now: time.Now, Getenv: func(name string) string { return env[name] }}
	go func() { ended <- run(ctx, app, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)) }()
	end := sync.OnceFunc(func() {
		cancel()
		if code := <-ended; code != exitOK {
			t.Errorf("serve ended with code %d: %s", code, errs.String())
		}
	})
	t.Cleanup(end)
	return out, func() string { end(); return errs.String() }
}

func TestTheDemonstrationShowsOneDeliveryRetryAndDeadLetter(t *testing.T) {
	s, stop := serve(t, nil, "--demo", "--data", filepath.Join(t.TempDir(), "data"))
	s.wait(t, `Published message [0-9a-f-]{36}`)
	began := time.Now()
	s.wait(t, `healthy +attempt 1 .*delivered`)
	s.wait(t, `flaky +attempt 1 .*503`)
	s.wait(t, `flaky +attempt 2 .*503`)
	s.wait(t, `flaky +attempt 3 .*delivered`)
	s.wait(t, `down +attempt 4 .*dead-letters`)
	if took := time.Since(began); took < 2*time.Second || took > 20*time.Second { // waits 1, 2 and 4 s
		t.Errorf("the demonstration took %s", took)
	}
	if text := s.wait(t, ""); regexp.MustCompile(`healthy +attempt 2|flaky +attempt 4|down +attempt 5`).MatchString(text) {
		t.Errorf("too many attempts in:\n%s", text)
	}
	if errs := stop(); errs != "" {
		t.Errorf("standard error has %q", errs)
	}
}

func TestTheLogLevelIsHonoured(t *testing.T) {
	for level, says := range map[string]bool{"debug": true, "error": false} {
		dir := filepath.Join(t.TempDir(), level)
		s, stop := serve(t, map[string]string{"POSTINO_LOG_LEVEL": level}, "--data", dir)
		s.wait(t, `Postino listens on`)
		topic := sns(t, dir, "TopicArn", url.Values{"Action": {"CreateTopic"}, "Name": {"t"}})
		sns(t, dir, "MessageId", url.Values{"Action": {"Publish"}, "TopicArn": {topic}, "Message": {"hello"}})
		if errs := stop(); strings.Contains(errs, "level=DEBUG") != says {
			t.Errorf("at level %s the log is %q", level, errs)
		}
	}
}

func TestAnEmptyDataVariableIsAnUnsetOne(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("POSTINO_DATA", "")
	s, stop := serve(t, nil)
	s.wait(t, `keeps its data in \./data`)
	if _, err := os.Stat(filepath.Join("data", "postino.db")); err != nil {
		t.Error(err)
	}
	stop()
}
