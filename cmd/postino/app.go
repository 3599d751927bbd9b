package main

import (
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

// sayf prints one line for people.
func (a *App) sayf(format string, args ...any) {
	_, _ = fmt.Fprintf(a.Out, format+"\n", args...)
}
