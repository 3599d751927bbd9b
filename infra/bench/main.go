package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(start()) }

func start() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return dispatch(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

// dispatch runs the role that args names, the suite when they name none, and
// gives the exit code: 0, 1 when something was lost or broken, 2 for bad usage.
func dispatch(ctx context.Context, args []string, in io.Reader, out, log io.Writer) int {
	var err error
	switch {
	case len(args) > 0 && args[0] == "receiver":
		err = runReceiver(ctx, in, out)
	case len(args) > 0 && args[0] == "client":
		err = runClient(ctx, in, out)
	case len(args) > 0 && args[0] == "aws":
		return runAWS(ctx, args[1:], out, log)
	default:
		return runSuite(ctx, args, out, log)
	}
	if err != nil {
		fmt.Fprintf(log, "bench: %s: %v\n", args[0], err)
		return 1
	}
	return 0
}

// runSuite reads the flags, measures and writes the report.
func runSuite(ctx context.Context, args []string, out, log io.Writer) int {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(log)
	server := flags.String("server", "bin/postino", "the server `binary` to measure")
	quick := flags.Bool("quick", false, "a smoke run: seconds instead of minutes, its figures mean little")
	dir := flags.String("dir", "", "where data directories are made (`folder` on a real disk; default: the system's temporary folder)")
	only := flags.String("only", "", "comma-separated `phases` to run: throughput, latency, retry, waiting, crash, isolation")
	markdown := flags.String("markdown", "", "also write the report to this `file`, unless something is lost or broken")
	figures := flags.String("figures", "", "likewise what it is made of, as JSON")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(log, "bench: %q is neither a flag nor a role (aws, receiver, client)\n", flags.Arg(0))
		return 2
	}
	p := fullPlan()
	if *quick {
		p = quickPlan()
	}
	if err := p.choose(*only); err != nil {
		fmt.Fprintf(log, "bench: %v\n", err)
		return 2
	}
	r, err := measure(ctx, p, *server, *dir, log)
	if err != nil {
		fmt.Fprintf(log, "bench: %v\n", err)
		return 1
	}
	page := r.page()
	_, err = io.WriteString(out, page)
	if len(r.Broken) > 0 {
		return 1
	}
	if err := errors.Join(err, keep(page, *markdown, r, *figures)); err != nil {
		fmt.Fprintf(log, "bench: %v\n", err)
		return 1
	}
	return 0
}
