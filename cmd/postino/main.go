// Command postino is the one binary people run: the server, and what they ask
// of it.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(start()) }

// start gives the program a context that SIGINT and SIGTERM end.
func start() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)   // a second signal ends the process at once
	signal.Ignore(syscall.SIGXFSZ) // a file-size limit is a full disk to us: an error, not a death
	defer profile()()
	return run(ctx, newApp(), os.Args[1:])
}
