package main

import (
	"context"
	"errors"

	"postino/shared/operator"
)

// DLQRedriveCmd is `postino dlq redrive`.
type DLQRedriveCmd struct {
	Target
	JSONFlag
	Letters
	Force bool `help:"Also those that were sent again as often as $POSTINO_MAX_REDRIVES allows, 1 unless set, and those whose subscription names another queue."`
}

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

// redrive goes step by step and adds up; on an error it answers what was done.
func (c *DLQRedriveCmd) redrive(ctx context.Context, server *operator.Client) (sum operator.RedriveResult, err error) {
	err = c.steps(func(in step) (step, error) {
		done, err := server.Redrive(ctx, c.Queue, operator.RedriveRequest{
			IDs: in.ids, All: c.All, Max: lettersStep, After: in.after, Before: in.before, Force: c.Force})
		sum.Redriven += done.Redriven
		sum.Left += done.Left
		sum.Kept = append(sum.Kept, done.Kept...)
		sum.Missing = append(sum.Missing, done.Missing...)
		if sum.Stopped = done.Stopped; err == nil && sum.Stopped != "" {
			err = errors.New(sum.Stopped)
		}
		return step{after: done.After, before: done.Before}, err
	})
	return sum, err
}

func (a *App) redriven(done operator.RedriveResult) {
	for _, k := range done.Kept {
		a.sayf("%s stays: %s.", printable(k.ID), printable(k.Reason))
	}
	a.missing(done.Missing)
	a.sayf("Sent %s again.", count(done.Redriven, "message"))
	a.left(done.Left)
}
