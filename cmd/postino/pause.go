package main

import "context"

// PauseCmd is `postino pause`.
type PauseCmd struct {
	DataDir
	Subscription string `arg:"" help:"The subscription's ARN, or the beginning of the id that ends it."`
}

// Run pauses.
func (c *PauseCmd) Run(ctx context.Context, app *App) error {
	server, err := c.dial()
	if err != nil {
		return err
	}
	s, err := server.Pause(ctx, c.Subscription)
	if err != nil {
		return err
	}
	if !s.Changed {
		app.sayf("%s was paused already.", printable(s.ARN))
		return nil
	}
	app.sayf("Paused: deliveries to %s wait and burn no attempt until `postino resume %s`.", printable(s.Endpoint), printable(s.ARN))
	return nil
}

// ResumeCmd is `postino resume`.
type ResumeCmd struct {
	DataDir
	Subscription string `arg:"" help:"The subscription's ARN, or the beginning of the id that ends it."`
}

// Run resumes.
func (c *ResumeCmd) Run(ctx context.Context, app *App) error {
	server, err := c.dial()
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
