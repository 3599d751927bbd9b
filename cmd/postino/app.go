package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mattn/go-isatty"
)

// App is what commands get of the world outside.
type App struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	// Name is the program as it was called, for hints; "" means postino.
	Name string
	Now  func() time.Time
	// Colour allows escape sequences on Out: it is a terminal, and its user has
	// not said NO_COLOR (no-color.org).
	Colour bool

	// target is the flag that says which Postino the command asks, as it was given
	// and with a space before it; "" where none was.
	target string
}

func newApp() *App {
	return &App{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Now: time.Now, Name: os.Args[0],
		Colour: isatty.IsTerminal(os.Stdout.Fd()) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
	}
}

// command is the program's name for a line that can be pasted into a shell.
func (a *App) command() string {
	if a.Name == "" {
		return "postino"
	}
	return shellWord(a.Name)
}

// readAll reads standard input to its end and answers at most limit+1 bytes of it.
// It ends with ctx, which a read from a terminal does not know: what it has asked
// for there is left behind.
func (a *App) readAll(ctx context.Context, limit int64) ([]byte, error) {
	type input struct {
		b   []byte
		err error
	}
	read := make(chan input, 1)
	go func() {
		b, err := io.ReadAll(io.LimitReader(a.In, limit+1))
		read <- input{b, err}
	}()
	select {
	case got := <-read:
		return got.b, got.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// sayf prints one line for people.
func (a *App) sayf(format string, args ...any) {
	_, _ = fmt.Fprintf(a.Out, format+"\n", args...)
}
