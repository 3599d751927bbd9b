// Package runtimeapi is the part of AWS Lambda that a bootstrap talks to, so that
// the functions run on this machine as they are deployed: one process asks for
// events over HTTP and answers them (AWS Lambda developer guide, "Using the Lambda
// runtime API"). It is a stand-in for Lambda itself, which runs only on AWS.
package runtimeapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Answer is what a function made of an event.
type Answer struct {
	Body []byte
	// ErrorType is set where the handler returned an error: its type, or "unreadable".
	ErrorType string
}

// Function is a running bootstrap.
type Function struct {
	listener net.Listener
	cmd      *exec.Cmd
	// Init is the time from the start of the process to its first question.
	Init time.Duration

	events  chan []byte
	answers chan Answer
	ready   chan struct{}
	exited  chan struct{}
	log     *lockedLog
}

// lockedLog keeps what the process prints.
type lockedLog struct {
	mu sync.Mutex
	b  []byte
}

func (l *lockedLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b = append(l.b, b...)
	return len(b), nil
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.b)
}

// Start runs the bootstrap at path with the variables env, "NAME=value" each, and
// those of this process. It waits until the function asks for its first event. The
// error is that it cannot be run, that it ended before or that ctx did, with what the
// function has printed; nothing is left running then.
func Start(ctx context.Context, path string, env []string) (*Function, error) {
	f := &Function{events: make(chan []byte), answers: make(chan Answer, 1), ready: make(chan struct{}), exited: make(chan struct{}), log: &lockedLog{}}
	var err error
	if f.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	go func() { _ = (&http.Server{Handler: f.handler(), ReadHeaderTimeout: time.Minute}).Serve(f.listener) }()
	f.cmd = exec.Command(path)
	f.cmd.Env = append(append(os.Environ(), env...), "AWS_LAMBDA_RUNTIME_API="+f.listener.Addr().String())
	f.cmd.Stdout, f.cmd.Stderr = f.log, f.log
	began := time.Now()
	if err := f.cmd.Start(); err != nil {
		_ = f.listener.Close()
		return nil, err
	}
	go func() { _ = f.cmd.Wait(); close(f.exited) }()
	select {
	case <-f.ready:
		f.Init = time.Since(began)
		return f, nil
	case <-f.exited:
		err = errors.New("the function ended before it asked for an event: " + f.Log())
	case <-ctx.Done():
		err = fmt.Errorf("the function asks for no event: %w: %s", ctx.Err(), f.Log())
	}
	f.Stop()
	return nil, err
}

func (f *Function) handler() http.Handler {
	const base = "/2018-06-01/runtime/invocation/"
	mux := http.NewServeMux()
	var once sync.Once
	n := 0
	mux.HandleFunc("GET "+base+"next", func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() { close(f.ready) })
		select {
		case event := <-f.events:
			n++
			w.Header().Set("Lambda-Runtime-Aws-Request-Id", fmt.Sprintf("8476a536-e9f4-11e8-9739-%012d", n))
			w.Header().Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(time.Now().Add(time.Minute).UnixMilli()))
			w.Header().Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:123456789012:function:f")
			_, _ = w.Write(event)
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("POST "+base+"{id}/{what}", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		a := Answer{Body: body}
		if r.PathValue("what") == "error" {
			var e struct{ ErrorType string }
			if json.Unmarshal(body, &e) != nil || err != nil {
				e.ErrorType = "unreadable"
			}
			a.ErrorType = e.ErrorType
		}
		f.answers <- a
		w.WriteHeader(http.StatusAccepted)
	})
	return mux
}

// Invoke hands over an event and waits for the answer. What the handler returns as an
// error is an answer too, with its ErrorType, and no err: that is for a function that
// has ended, or for the end of ctx, with what the function has printed.
func (f *Function) Invoke(ctx context.Context, event []byte) (Answer, error) {
	select {
	case f.events <- event:
	case <-f.exited:
		return Answer{}, errors.New("the function has ended: " + f.Log())
	case <-ctx.Done():
		return Answer{}, errors.New("the function asks for no event: " + f.Log())
	}
	select {
	case a := <-f.answers:
		return a, nil
	case <-f.exited:
		return Answer{}, errors.New("the function ended over its event: " + f.Log())
	case <-ctx.Done():
		return Answer{}, errors.New("the function does not answer: " + f.Log())
	}
}

// Log is what the function has printed so far.
func (f *Function) Log() string { return strings.TrimSpace(f.log.String()) }

// Stop kills the process, as Lambda may at any time between invocations.
func (f *Function) Stop() {
	_ = f.cmd.Process.Kill()
	<-f.exited
	_ = f.listener.Close()
}
