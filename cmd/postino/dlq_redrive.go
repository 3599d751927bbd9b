package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"postino/shared/operator"
)

// DLQRedriveCmd is `postino dlq redrive`.
type DLQRedriveCmd struct {
	Target
	JSONFlag
	Queue string   `arg:"" help:"The queue's name or ARN."`
	IDs   []string `arg:"" optional:"" name:"id" help:"The messages to send again."`
	All   bool     `help:"Send all the queue's messages again."`
	Force bool     `help:"Also those that were sent again as often as allowed."`
}

// Validate is called by kong.
func (c *DLQRedriveCmd) Validate() error {
	if c.All == (len(c.IDs) > 0) {
		return fmt.Errorf("give either message ids or --all")
	}
	if slices.Contains(c.IDs, "") {
		return fmt.Errorf("a message id is empty: is a shell variable unset?")
	}
	return nil
}

// redriveStep is how many letters one request sends again: few enough to end
// well within the client's timeout.
const redriveStep = 200

// Run redrives, and fails when a letter stayed.
func (c *DLQRedriveCmd) Run(ctx context.Context, app *App) error {
	server, err := c.dial(ctx, app)
	if err != nil {
		return err
	}
	done, err := c.redrive(ctx, server)
	switch {
	case err != nil && done.Redriven+len(done.Kept) == 0:
	case c.JSON:
		if told := app.json(done); err == nil {
			err = told
		}
	default:
		app.redriven(done)
	}
	if err == nil && len(done.Kept)+len(done.Missing)+done.Left > 0 {
		return saidAlready{}
	}
	return err
}

// redrive goes step by step and adds up; on an error it answers what was done. On
// a stack one step goes through all: no connection is waiting for it.
func (c *DLQRedriveCmd) redrive(ctx context.Context, server *operator.Client) (sum operator.RedriveResult, err error) {
	r := operator.RedriveRequest{All: c.All, Max: redriveStep, Force: c.Force}
	for ids := c.IDs; ; {
		if !c.All {
			n := min(len(ids), redriveStep)
			r.IDs, ids = ids[:n], ids[n:]
		}
		step, err := server.Redrive(ctx, c.Queue, r)
		if err != nil {
			return sum, err
		}
		sum.Redriven += step.Redriven
		sum.Left += step.Left
		sum.Kept = append(sum.Kept, step.Kept...)
		sum.Missing = append(sum.Missing, step.Missing...)
		if step.Stopped != "" {
			sum.Stopped = step.Stopped
			return sum, errors.New(step.Stopped)
		}
		if r.After, r.Before = step.After, step.Before; r.After == "" && len(ids) == 0 || c.All && r.After == "" {
			return sum, nil
		}
	}
}

func (a *App) redriven(done operator.RedriveResult) {
	for _, k := range done.Kept {
		a.sayf("%s stays: %s.", printable(k.ID), printable(k.Reason))
	}
	for _, id := range done.Missing {
		a.sayf("%s is not there, or is being received by someone else.", printable(id))
	}
	a.sayf("Sent %s again.", count(done.Redriven, "message"))
	if done.Left > 0 {
		a.sayf("About %d more were not come to: others are receiving them, or they are too many. Run it again in a minute.", done.Left)
	}
}
