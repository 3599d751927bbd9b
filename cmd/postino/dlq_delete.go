package main

import (
	"context"
	"errors"
	"fmt"

	"postino/shared/operator"
)

// DLQDeleteCmd is `postino dlq delete`.
type DLQDeleteCmd struct {
	Target
	JSONFlag
	Letters
}

// Run deletes, and fails when a letter was not come to.
func (c *DLQDeleteCmd) Run(ctx context.Context, app *App) error {
	server, err := c.dial(ctx, app)
	if err != nil {
		return err
	}
	done, err := c.delete(ctx, server)
	switch {
	case err != nil && done.Deleted+done.Perhaps == 0:
	case c.JSON:
		if told := app.json(done); err == nil {
			err = told
		}
	default:
		app.missing(done.Missing)
		more := ""
		if done.Perhaps > 0 {
			more = fmt.Sprintf(", and perhaps %d more", done.Perhaps)
		}
		app.sayf("Deleted %s%s.", count(done.Deleted, "message"), more)
		app.left(done.Left)
	}
	if err == nil && len(done.Missing)+done.Left > 0 {
		return saidAlready{}
	}
	return err
}

// delete goes step by step and adds up; on an error it answers what was done.
func (c *DLQDeleteCmd) delete(ctx context.Context, server *operator.Client) (sum operator.DeleteResult, err error) {
	err = c.steps(func(in step) (step, error) {
		done, err := server.DeleteDeadLetters(ctx, c.Queue, operator.DeleteRequest{
			IDs: in.ids, All: c.All, Max: lettersStep, After: in.after, Before: in.before})
		sum.Deleted += done.Deleted
		sum.Perhaps += done.Perhaps
		sum.Left += done.Left
		sum.Missing = append(sum.Missing, done.Missing...)
		if sum.Stopped = done.Stopped; err == nil && sum.Stopped != "" {
			err = errors.New(sum.Stopped)
		}
		return step{after: done.After, before: done.Before}, err
	})
	return sum, err
}
