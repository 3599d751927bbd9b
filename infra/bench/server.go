package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// server is the process under measurement, on a data directory of its own.
type server struct {
	binary, dir, listen string
	log                 string // file with its output
	cmd                 *exec.Cmd
	exited              chan struct{}
	http                *http.Client
}

// readyWithin bounds the start of a server.
const readyWithin = 20 * time.Second

// newServer chooses a free port and a data directory under base.
func newServer(binary, base string) (*server, error) {
	dir, err := os.MkdirTemp(base, "data-")
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	return &server{
		binary: binary, dir: dir, listen: l.Addr().String(), log: dir + ".log",
		http: &http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{}},
	}, nil
}

func (s *server) url() string { return "http://" + s.listen }
func (s *server) pid() int    { return s.cmd.Process.Pid }

// start runs the server and waits until /healthz answers 200. It gives that time.
func (s *server) start(ctx context.Context) (up time.Time, err error) {
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return up, err
	}
	defer log.Close()
	s.cmd = exec.CommandContext(ctx, s.binary, "serve", "--listen", s.listen, "--data", s.dir)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		return up, err
	}
	s.exited = make(chan struct{})
	go func(cmd *exec.Cmd, exited chan struct{}) {
		_ = cmd.Wait() // why it ended stands in its log
		close(exited)
	}(s.cmd, s.exited)
	for began := time.Now(); time.Since(began) < readyWithin; time.Sleep(2 * time.Millisecond) {
		select {
		case <-s.exited:
			return up, errors.New("the server ended at its start; it wrote: " + s.tail())
		default:
		}
		if s.healthy() {
			return time.Now(), nil
		}
	}
	return up, fmt.Errorf("the server does not answer 200 on /healthz within %s; it wrote: %s", readyWithin, s.tail())
}

func (s *server) healthy() bool {
	resp, err := s.http.Get(s.url() + "/healthz")
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // only to reuse the connection
	return resp.StatusCode == http.StatusOK
}

// kill is SIGKILL; it returns once the process is gone.
func (s *server) kill() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	_ = s.cmd.Process.Kill() // an error means that it is gone already
	<-s.exited
}

// close stops the server cleanly and removes its data; by force after half a
// minute, as an attempt under way may take 15 s. The error says that force was
// needed or that the server had died before.
func (s *server) close() error {
	defer os.RemoveAll(s.dir)
	defer s.http.CloseIdleConnections()
	if s.cmd == nil || s.exited == nil {
		return nil
	}
	select {
	case <-s.exited:
		return errors.New("the server had ended by itself; it wrote: " + s.tail())
	default:
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.exited:
		return nil
	case <-time.After(30 * time.Second):
		s.kill()
		return errors.New("the server did not stop within 30 s of SIGTERM")
	}
}

// tail is the end of the server's output, for messages.
func (s *server) tail() string {
	b, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	b = bytes.TrimSpace(b)
	if len(b) == 0 {
		return "nothing (" + filepath.Base(s.log) + " is empty)"
	}
	return string(b[max(0, len(b)-1500):])
}

// scrape reads /metrics; a server without it gives none.
func (s *server) scrape() metrics {
	resp, err := s.http.Get(s.url() + "/metrics")
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil
	}
	m, err := parseMetrics(resp.Body)
	if err != nil {
		return nil
	}
	return m
}

// usage is what the server has used up to now.
type usage struct {
	CPU         time.Duration
	Allocations float64
	HasAllocs   bool
}

func (s *server) usage() (u usage, err error) {
	u.Allocations, u.HasAllocs = s.scrape().allocations()
	u.CPU, err = cpuTime(s.pid())
	return u, err
}
