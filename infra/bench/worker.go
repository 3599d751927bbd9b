package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// A worker is this program run as receiver or client. It reads one JSON command
// at a time from standard input, answers each with one JSON line, and ends when
// its input does, so that it never outlives the program that started it.
type worker struct {
	role string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
}

type command struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

type answer struct {
	Error  string          `json:"error,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// handler does one command.
type handler func(ctx context.Context, args json.RawMessage) (any, error)

// handle makes a handler of a function with typed arguments and result.
func handle[A, R any](f func(context.Context, A) (R, error)) handler {
	return func(ctx context.Context, raw json.RawMessage) (any, error) {
		var args A
		if len(raw) > 0 {
			if err := json.Unmarshal(raw, &args); err != nil {
				return nil, err
			}
		}
		return f(ctx, args)
	}
}

// serveCommands answers commands until in ends.
func serveCommands(ctx context.Context, in io.Reader, out io.Writer, handlers map[string]handler) error {
	dec, enc := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var c command
		if err := dec.Decode(&c); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		var a answer
		h, ok := handlers[c.Name]
		if !ok {
			a.Error = "no such command"
		} else if result, err := h(ctx, c.Args); err != nil {
			a.Error = err.Error()
		} else if a.Result, err = json.Marshal(result); err != nil {
			return err
		}
		if err := enc.Encode(a); err != nil {
			return err
		}
	}
}

// startWorker runs this program in the given role until ctx ends or stop is
// called.
func startWorker(ctx context.Context, role string) (*worker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &worker{role: role, cmd: exec.CommandContext(ctx, self, role)}
	w.cmd.Stderr = os.Stderr
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.out = json.NewDecoder(stdout)
	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s does not start: %w", role, err)
	}
	return w, nil
}

// call sends one command and waits for its answer, which it reads into result
// unless that is nil. One call at a time.
func (w *worker) call(name string, args, result any) error {
	raw, err := json.Marshal(args)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(w.in).Encode(command{Name: name, Args: raw}); err != nil {
		return fmt.Errorf("%s does not take %q: %w", w.role, name, err)
	}
	var a answer
	if err := w.out.Decode(&a); err != nil {
		return fmt.Errorf("%s ended during %q: %w", w.role, name, err)
	}
	if a.Error != "" {
		return fmt.Errorf("%s: %s: %s", w.role, name, a.Error)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(a.Result, result)
}

// stop ends the worker and waits for it.
func (w *worker) stop() {
	w.in.Close()
	_ = w.cmd.Wait() // its exit code says nothing that call has not said
}
