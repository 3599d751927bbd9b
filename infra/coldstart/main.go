// Command coldstart measures how long the functions of a deployed stack take to
// start: as processes of this machine, against Lambda's runtime API, built as for
// AWS and with the variables they are deployed with. A function that does nothing
// is measured in the same run, and theirs is what they take above it.
//
//	make local-aws && eval "$(infra/local/sam.sh env)" && go run ./infra/coldstart
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"postino/infra/runtimeapi"
	"postino/shared/aws/awscall"
)

const (
	// mostBytes is the promised size of a stripped binary.
	mostBytes = 20 << 20
	// mostInit is the promised time above that of the function that does nothing.
	mostInit = 30 * time.Millisecond
)

// introduction is the page's, above the table.
const introduction = `# Cold start

<!-- Written by make coldstart. -->

How long a function takes before it can do anything, which Lambda lets the first
caller of each new process wait for.

Measured are the functions' own binaries, built as for AWS, started as processes of
one machine with the variables of a deployed stack. A stand-in for Lambda's runtime
API hands them one event. *Init* is from the start of the process until it asks for
its first event: the Go runtime, reading the settings, making the clients, and for
Publish and Deliver the signing key, which is read from the table.
*First invocation* is from handing over the event until its answer, with the first
calls of AWS and the connections for them, here to an emulator on the same machine.

What Lambda adds is not in it: making the sandbox, fetching and unpacking the code, and
a share of a processor that goes with the memory (128 MB for Deliver, 256 MB for the
others) where the process here has a whole one. A function that does nothing but
answer is therefore measured in the same run, in turns, and what counts is how much
longer Postino's take: that part is Postino's own.

` + "```\nmake local-aws   # a stack whose variables the functions get\nmake coldstart\n```" + `

`

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
	markdown := flag.String("markdown", "", "write the table to this file too")
	flag.Parse()
	missed, err := run(context.Background(), *stack, *runs, *markdown)
	if err == nil && missed {
		err = errors.New("a target is missed")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "coldstart:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, stack string, runs int, markdown string) (missed bool, err error) {
	bin, err := os.MkdirTemp("", "postino-coldstart")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(bin) //nolint:errcheck // a temporary folder
	if err := build(bin); err != nil {
		return false, err
	}
	environment, err := deployed(ctx, stack)
	if err != nil {
		return false, err
	}
	var b strings.Builder
	b.WriteString("| function | binary | init | above hello | first invocation | |\n|---|---|---|---|---|---|\n")
	// The two take turns, so that what else the machine does hits both.
	hello := &sample{}
	measured := map[string]*sample{}
	for range runs {
		for _, s := range subjects {
			if err := hello.start(ctx, filepath.Join(bin, "hello"), nil, []byte(`{}`)); err != nil {
				return false, err
			}
			event, err := os.ReadFile(s.event)
			if err != nil {
				return false, err
			}
			if measured[s.name] == nil {
				measured[s.name] = &sample{}
			}
			if err := measured[s.name].start(ctx, filepath.Join(bin, s.name), environment[s.output], event); err != nil {
				return false, fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	base := median(hello.init)
	fmt.Fprintf(&b, "| hello world | %s | %s | | %s | |\n", size(bin, "hello"), ms(base), ms(median(hello.first)))
	for _, s := range subjects {
		m := measured[s.name]
		above, verdict := median(m.init)-base, "met"
		if above > mostInit || length(bin, s.name) > mostBytes {
			verdict, missed = "**missed**", true
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", s.name, size(bin, s.name), ms(median(m.init)), ms(above), ms(median(m.first)), verdict)
	}
	fmt.Fprintf(&b, "\nMedians of %d starts each, on %s. Targets: binary under 20 MB, init under %s above hello world.\n", runs, machine(), ms(mostInit))
	fmt.Print(b.String())
	if markdown != "" {
		err = os.WriteFile(markdown, []byte(introduction+b.String()), 0o644) //nolint:gosec // a page for everybody
	}
	return missed, err
}

// build makes the binaries with the flags of infra/local/stripped.sh.
func build(into string) error {
	args := []string{"build", "-trimpath", "-tags", "lambda.norpc", "-ldflags", "-s", "-o", into, "./infra/coldstart/hello"}
	for _, s := range subjects {
		args = append(args, "./functions/"+s.name)
	}
	c := exec.Command("go", args...)
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
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

// sample is the times of one function.
type sample struct{ init, first []time.Duration }

func (s *sample) start(ctx context.Context, path string, env []string, event []byte) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	f, err := runtimeapi.Start(ctx, path, env)
	if err != nil {
		return err
	}
	defer f.Stop()
	began := time.Now()
	a, err := f.Invoke(ctx, event)
	if err != nil {
		return err
	}
	if a.ErrorType != "" {
		return fmt.Errorf("it answers %s: %s", a.ErrorType, a.Body)
	}
	s.init, s.first = append(s.init, f.Init), append(s.first, time.Since(began))
	return nil
}

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

func length(dir, name string) int64 {
	i, err := os.Stat(filepath.Join(dir, name))
	if err != nil {
		return 1 << 62
	}
	return i.Size()
}

func size(dir, name string) string { return fmt.Sprintf("%.1f MB", float64(length(dir, name))/1e6) }
