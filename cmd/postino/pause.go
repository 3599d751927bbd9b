package main

import (
	"context"

	"github.com/jedib0t/go-pretty/v6/table"

	"postino/shared/operator"
)

// PauseCmd is `postino pause`.
type PauseCmd struct {
	Target
	Subscription string `arg:"" optional:"" help:"The subscription's ARN, or TOPIC:ID as lists show it; without it, those that are paused are listed."`
}

// Run pauses, or lists what is paused.
func (c *PauseCmd) Run(ctx context.Context, app *App) error {
	server, err := c.dial(ctx, app)
	if err != nil {
		return err
	}
	if c.Subscription == "" {
		return app.paused(ctx, server)
	}
	s, err := server.Pause(ctx, c.Subscription)
	if err != nil {
		return err
	}
	if !s.Changed {
		app.sayf("%s was paused already.", printable(s.ARN))
		return nil
	}
	app.hintf("Paused: deliveries to %s wait and burn no attempt until `postino resume %s`.", printable(s.Endpoint), printable(s.ARN))
	return nil
}

func (a *App) paused(ctx context.Context, server *operator.Client) error {
	paused, err := server.ListPaused(ctx)
	if err != nil {
		return err
	}
	if len(paused) == 0 {
		a.sayf("No subscription is paused.")
		return nil
	}
	rows := make([]table.Row, len(paused))
	for i, s := range paused {
		rows[i] = table.Row{printable(s.ARN), printable(s.Endpoint)}
	}
	a.table(table.Row{"PAUSED", "ENDPOINT"}, rows)
	return nil
}

// ResumeCmd is `postino resume`.
type ResumeCmd struct {
	Target
	Subscription string `arg:"" help:"The subscription's ARN, or TOPIC:ID as lists show it."`
}

// Run resumes.
func (c *ResumeCmd) Run(ctx context.Context, app *App) error {
	server, err := c.dial(ctx, app)
	if err != nil {
		return err
	}
	s, err := server.Resume(ctx, c.Subscription)
	if err != nil {
		return err
	}
	if !s.Changed {
		app.sayf("%s was not paused.", printable(s.ARN))
		return nil
	}
	app.sayf("Resumed: what waited for %s goes on within a minute.", printable(s.Endpoint))
	return nil
}
