package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"postino/shared/push"
)

// CLI is the command line; each command has a file of its own.
type CLI struct {
	Serve      ServeCmd      `cmd:"" help:"Run the server, everything in one process."`
	Explain    ExplainCmd    `cmd:"" help:"Validate a delivery policy and print when it makes each attempt."`
	Deliveries DeliveriesCmd `cmd:"" help:"Look at deliveries and their attempts."`
	DLQ        DLQCmd        `cmd:"" name:"dlq" help:"Look at dead letters, send them again or delete them."`
	Publish    PublishCmd    `cmd:"" help:"Publish a message to a topic."`
	SendTest   SendTestCmd   `cmd:"" help:"Send a test message to one subscription alone."`
	Pause      PauseCmd      `cmd:"" help:"Hold a subscription's deliveries back; no attempt is burnt."`
	Resume     ResumeCmd     `cmd:"" help:"Let a paused subscription's deliveries go on."`
	Keys       KeysCmd       `cmd:"" help:"Make, list and revoke the keys that callers sign with."`
	Env        EnvCmd        `cmd:"" help:"Print export lines that point SNS clients of this shell here."`
	Version    VersionCmd    `cmd:"" help:"Print the version."`

	PrintVersion kong.VersionFlag `name:"version" help:"Print the version."`
}

const about = `Topic-to-subscriber push delivery that speaks the Amazon SNS wire protocol.

Commands that look at a running server find it by its data directory. ` + "`postino COMMAND --help`" + ` tells more.`

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// leave is what kong's exit becomes, so that --help ends run and not the process.
type leave int

// run parses args, runs the command and says on app.Err, in one line, what went
// wrong. It answers the exit code.
func run(ctx context.Context, app *App, args []string) (code int) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case leave:
			code = int(p)
		default:
			complain(app, fmt.Sprintf("something broke inside (%v): please report it, with the command you gave", p))
			code = exitFailure
		}
	}()
	parser, err := kong.New(&CLI{}, kong.Name("postino"), kong.Description(about),
		kong.Writers(app.Out, app.Err), kong.Exit(func(code int) { panic(leave(code)) }),
		kong.Vars{"version": versionLine()}, kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(app))
	if err != nil {
		panic(err) // the struct above is wrong
	}
	switch {
	case len(args) == 0:
		args = []string{"--help"}
	case args[0] == "help":
		args = append(slices.Clone(args[1:]), "--help")
	}
	command, err := parser.Parse(args)
	if err != nil {
		complain(app, usage(err))
		return exitUsage
	}
	if err := command.Run(); err != nil {
		if _, silent := errors.AsType[saidAlready](err); !silent {
			complain(app, sentence(err))
		}
		return exitFailure
	}
	return exitOK
}

// usage is what a person is told who held the command line wrong.
func usage(err error) string {
	command, text := "postino", err.Error()
	if p, ok := errors.AsType[*kong.ParseError](err); ok && p.Context != nil && p.Context.Selected() != nil {
		command = p.Context.Selected().FullPath()
		// kong puts the command's own name before what its Validate says.
		text = strings.TrimPrefix(text, strings.TrimPrefix(command, "postino ")+": ")
	}
	if strings.Contains(text, "expected duration") {
		text += ": write it with its unit, as 3s or 1m30s"
	}
	return fmt.Sprintf("%s; `%s --help` tells how", text, command)
}

// saidAlready fails a command that has told its story on Out.
type saidAlready struct{}

func (saidAlready) Error() string { return "said already" }

// sentence is what a person is told of err: an *push.Error's safe text alone,
// since its cause may hold what is not for every eye.
func sentence(err error) string {
	if e, ok := errors.AsType[*push.Error](err); ok {
		return e.Text
	}
	if errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	return err.Error()
}

// complain prints one line, whatever the text holds.
func complain(app *App, text string) {
	_, _ = fmt.Fprintf(app.Err, "postino: %s\n", strings.Join(strings.Fields(printable(app.withTarget(text))), " "))
}
