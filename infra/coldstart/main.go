// Command coldstart measures how long the functions of a deployed stack take to
// start: as processes of this machine, against Lambda's runtime API, built as for
// AWS and with the variables they are deployed with. A function that does nothing
// is measured in the same run, and theirs is what they take above it.
//
//	make local-aws && eval "$(infra/local/sam.sh env)" && go run ./infra/coldstart
//
// What a function gets first is work, package first says which.
// It keeps the figures in infra/coldstart/processes.json and writes docs/cold-start.md
// of them and of containers.json, which infra/samlocal writes; with -page it writes
// the page alone.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"postino/infra/coldstart/figures"
	"postino/infra/coldstart/first"
	"postino/infra/runtimeapi"
)

// subjects are the functions with the outputs that name them.
var subjects = []struct{ name, output string }{
	{"publish", "PublishFunctionName"},
	{"fanout", "FanoutFunctionName"},
	{"deliver", "DeliverFunctionName"},
	{"redrive", "RedriveFunctionName"},
}

// settle is for what the stack still does after a push: it is to disturb no start.
const settle = 100 * time.Millisecond

func main() {
	var o options
	flag.StringVar(&o.stack, "stack", "postino", "the deployed stack whose variables the functions get")
	flag.IntVar(&o.runs, "runs", 21, "starts of each function")
	flag.StringVar(&o.into, "into", "", "a folder that gets the figures and the page, instead of the repository")
	flag.BoolVar(&o.pageAlone, "page", false, "write docs/cold-start.md of the figures that are there")
	flag.Parse()
	err := run(context.Background(), o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "coldstart:", err)
		os.Exit(1)
	}
}

type options struct {
	stack     string
	runs      int
	into      string
	pageAlone bool
}

// run must be called in the repository's root.
func run(ctx context.Context, o options) error {
	file, pageFile := "infra/coldstart/processes.json", "docs/cold-start.md"
	if o.into != "" {
		file, pageFile = filepath.Join(o.into, filepath.Base(file)), filepath.Join(o.into, filepath.Base(pageFile))
	}
	var missed error
	if !o.pageAlone {
		processes, err := measure(ctx, o.stack, o.runs)
		if err != nil {
			return err
		}
		if err := processes.Write(file); err != nil {
			return err
		}
		fmt.Print(processes.Table())
		if names := processes.Missed(); len(names) > 0 {
			missed = errors.New("these miss a target: " + strings.Join(names, ", "))
		}
	}
	page, err := page(file, "infra/coldstart/containers.json")
	if err != nil {
		return err
	}
	return errors.Join(missed, os.WriteFile(pageFile, []byte(page), 0o644)) //nolint:gosec // a page for everybody
}

// measure starts hello and each function in turns, so that what else the machine
// does hits all of them.
func measure(ctx context.Context, stack string, runs int) (f figures.Figures, err error) {
	bin, err := os.MkdirTemp("", "postino-coldstart")
	if err != nil {
		return f, err
	}
	defer os.RemoveAll(bin) //nolint:errcheck // a temporary folder
	if err := build(bin); err != nil {
		return f, err
	}
	d, err := find(ctx, stack)
	if err != nil {
		return f, err
	}
	topic, err := first.Subscribe(ctx, d.settings, d.outputs, d.key, "127.0.0.1")
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, topic.Close()) }()
	all := []function{{path: filepath.Join(bin, "hello")}}
	f = figures.Figures{Machine: figures.Machine(), Functions: []figures.Function{{Name: figures.Hello}}}
	for _, s := range subjects {
		all = append(all, function{path: filepath.Join(bin, s.name), env: d.variables[s.output], topic: topic})
		f.Functions = append(f.Functions, figures.Function{Name: s.name})
	}
	for i, one := range all {
		info, err := os.Stat(one.path)
		if err != nil {
			return f, err
		}
		f.Functions[i].Bytes = info.Size()
	}
	for range runs {
		for i, one := range all {
			if err := one.start(ctx, &f.Functions[i]); err != nil {
				return f, fmt.Errorf("%s: %w", f.Functions[i].Name, err)
			}
			time.Sleep(settle)
		}
	}
	return f, nil
}

// function is one to be started, env its variables.
type function struct {
	path string
	env  []string
	// topic has its events, nil for hello, which takes anything.
	topic *first.Topic
}

// start starts a function once and adds its times to f.
func (one function) start(ctx context.Context, f *figures.Function) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	running, err := runtimeapi.Start(ctx, one.path, one.env)
	if err != nil {
		return err
	}
	defer running.Stop()
	var took time.Duration
	invoke := func(event []byte) ([]byte, error) {
		began := time.Now()
		a, err := running.Invoke(ctx, event)
		took = time.Since(began)
		if err == nil && a.ErrorType != "" {
			err = fmt.Errorf("it answers %s: %s", a.ErrorType, a.Body)
		}
		return a.Body, err
	}
	if one.topic == nil {
		_, err = invoke([]byte(`{}`))
	} else {
		err = one.topic.Give(ctx, f.Name, invoke)
	}
	if err != nil {
		return err
	}
	f.Init, f.First = append(f.Init, milliseconds(running.Init)), append(f.First, milliseconds(took))
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// build makes the binaries as a deployment does.
func build(into string) error {
	args := []string{"-c", `. infra/local/stripped.sh; stripped go build "$@"`, "build", "-o", into, "./infra/coldstart/hello"}
	for _, s := range subjects {
		args = append(args, "./functions/"+s.name)
	}
	if out, err := exec.Command("bash", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, out)
	}
	return nil
}
