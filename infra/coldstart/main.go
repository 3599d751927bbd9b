// Command coldstart measures how long the functions of a deployed stack take to
// start: as processes of this machine, against Lambda's runtime API, built as for
// AWS and with the variables they are deployed with. A function that does nothing
// is measured in the same run, and theirs is what they take above it.
//
//	make local-aws && eval "$(infra/local/sam.sh env)" && go run ./infra/coldstart
//
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

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"postino/infra/coldstart/figures"
	"postino/infra/runtimeapi"
	"postino/shared/aws/awscall"
)

// subjects are the functions with the event each gets first.
var subjects = []struct{ name, output, event string }{
	{"publish", "PublishFunctionName", "events/publish-function-url.json"},
	{"fanout", "FanoutFunctionName", "events/fanout-sqs.json"},
	{"deliver", "DeliverFunctionName", "events/deliver-sqs.json"},
	{"redrive", "RedriveFunctionName", "events/redrive-sqs.json"},
}

func main() {
	stack := flag.String("stack", "postino", "the deployed stack whose variables the functions get")
	runs := flag.Int("runs", 21, "starts of each function")
	pageAlone := flag.Bool("page", false, "write docs/cold-start.md of the figures that are there")
	flag.Parse()
	err := run(context.Background(), *stack, *runs, *pageAlone)
	if err != nil {
		fmt.Fprintln(os.Stderr, "coldstart:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, stack string, runs int, pageAlone bool) error {
	var missed error
	if !pageAlone {
		processes, err := measure(ctx, stack, runs)
		if err != nil {
			return err
		}
		if err := processes.Write("infra/coldstart/processes.json"); err != nil {
			return err
		}
		fmt.Print(processes.Table())
		if names := processes.Missed(); len(names) > 0 {
			missed = errors.New("these miss a target: " + strings.Join(names, ", "))
		}
	}
	page, err := page("infra/coldstart")
	if err != nil {
		return err
	}
	return errors.Join(missed, os.WriteFile("docs/cold-start.md", []byte(page), 0o644)) //nolint:gosec // a page for everybody
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
	environment, err := deployed(ctx, stack)
	if err != nil {
		return f, err
	}
	f = figures.Figures{Machine: figures.Machine(), Functions: []figures.Function{{Name: figures.Hello}}}
	binaries, events, variables := []string{"hello"}, [][]byte{[]byte(`{}`)}, [][]string{nil}
	for _, s := range subjects {
		event, err := os.ReadFile(s.event)
		if err != nil {
			return f, err
		}
		f.Functions = append(f.Functions, figures.Function{Name: s.name})
		binaries, events, variables = append(binaries, s.name), append(events, event), append(variables, environment[s.output])
	}
	for i := range f.Functions {
		info, err := os.Stat(filepath.Join(bin, binaries[i]))
		if err != nil {
			return f, err
		}
		f.Functions[i].Bytes = info.Size()
	}
	for range runs {
		for i := range f.Functions {
			if err := start(ctx, &f.Functions[i], filepath.Join(bin, binaries[i]), variables[i], events[i]); err != nil {
				return f, fmt.Errorf("%s: %w", binaries[i], err)
			}
		}
	}
	return f, nil
}

// start starts a function once and adds its times.
func start(ctx context.Context, f *figures.Function, path string, env []string, event []byte) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	running, err := runtimeapi.Start(ctx, path, env)
	if err != nil {
		return err
	}
	defer running.Stop()
	began := time.Now()
	a, err := running.Invoke(ctx, event)
	if err != nil {
		return err
	}
	if a.ErrorType != "" {
		return fmt.Errorf("it answers %s: %s", a.ErrorType, a.Body)
	}
	f.Init, f.First = append(f.Init, milliseconds(running.Init)), append(f.First, milliseconds(time.Since(began)))
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

// deployed gives the variables of each function, by the output that names it.
func deployed(ctx context.Context, stack string) (map[string][]string, error) {
	settings, err := awscall.Load(ctx)
	if err != nil {
		return nil, err
	}
	out, err := cloudformation.NewFromConfig(settings).DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &stack})
	if err != nil || len(out.Stacks) != 1 {
		return nil, fmt.Errorf("the stack %s cannot be found: %w; deploy it with make local-aws", stack, err)
	}
	variables := map[string][]string{}
	for _, o := range out.Stacks[0].Outputs {
		if !strings.HasSuffix(*o.OutputKey, "FunctionName") {
			continue
		}
		f, err := lambda.NewFromConfig(settings).GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: o.OutputValue})
		if err != nil {
			return nil, err
		}
		for name, value := range f.Environment.Variables {
			variables[*o.OutputKey] = append(variables[*o.OutputKey], name+"="+value)
		}
	}
	return variables, nil
}
