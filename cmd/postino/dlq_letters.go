package main

import (
	"fmt"
	"slices"
	"time"
)

// Letters are the arguments of the commands that take letters out of a queue.
type Letters struct {
	Queue string   `arg:"" help:"The queue's name or ARN."`
	IDs   []string `arg:"" optional:"" name:"id" help:"The messages that are meant."`
	All   bool     `help:"All messages that the queue has now."`
}

// Validate is called by kong.
func (l Letters) Validate() error {
	if l.All == (len(l.IDs) > 0) {
		return fmt.Errorf("give either message ids or --all")
	}
	if slices.Contains(l.IDs, "") {
		return fmt.Errorf("a message id is empty: is a shell variable unset?")
	}
	return nil
}

// lettersStep is how many letters one request takes out: few enough to end well
// within the client's timeout.
const lettersStep = 200

// step is one request's part of the letters: some of the ids, or where to go on
// through the whole queue.
type step struct {
	ids    []string
	after  string
	before time.Time
}

// steps calls take with one step after another until it has gone through all
// letters or fails; take answers where to go on. On a stack one step goes through
// a whole queue: no connection is waiting for it.
func (l Letters) steps(take func(step) (next step, err error)) error {
	if !l.All {
		for part := range slices.Chunk(l.IDs, lettersStep) {
			if _, err := take(step{ids: part}); err != nil {
				return err
			}
		}
		return nil
	}
	for in := (step{}); ; {
		next, err := take(in)
		if err != nil || next.after == "" {
			return err
		}
		in = next
	}
}

func (a *App) missing(ids []string) {
	for _, id := range ids {
		a.sayf("%s is not there, or is being received by someone else.", printable(id))
	}
}

func (a *App) left(n int) {
	if n > 0 {
		a.sayf("About %d more were not come to: others are receiving them, or they are too many. Run it again in a minute.", n)
	}
}
