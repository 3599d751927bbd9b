package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"postino/cmd/postino/internal/host"
	"postino/shared/config"
	"postino/shared/pipeline"
	"postino/shared/telemetry"
)

// ServeCmd is `postino serve`.
type ServeCmd struct {
	DataDir
	Listen string `help:"Address to listen on; one that others reach needs a key first (postino keys add)." default:"127.0.0.1:4575" placeholder:"HOST:PORT"`
	Demo   bool   `help:"Start three sample subscribers and publish to them, showing each attempt."`
}

// Help is shown below the flags.
func (ServeCmd) Help() string {
	return "Everything is kept in the data directory. Environment variables (POSTINO_…) set the rest;\ndocs/configuration.md lists them. Ctrl-C or SIGTERM stops cleanly."
}

// Run serves until ctx ends.
func (c *ServeCmd) Run(ctx context.Context, app *App) error {
	settings, err := config.Load(app.Getenv)
	if err != nil {
		return err
	}
	settings.Data = c.Data
	log := slog.New(slog.NewTextHandler(app.Err, &slog.HandlerOptions{Level: settings.LogLevel}))
	var observer pipeline.Observer
	var hooks net.Listener
	if c.Demo {
		if hooks, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return fmt.Errorf("the sample subscribers cannot listen on 127.0.0.1: %w", err)
		}
		defer hooks.Close() //nolint:errcheck // nothing is written
		observer = demoView{to: telemetry.NewTerminal(app.Out, app.Colour), hooks: "http://" + hooks.Addr().String()}
		log = slog.New(slog.NewTextHandler(app.Err, &slog.HandlerOptions{Level: slog.LevelError}))
	}
	h, err := host.Open(ctx, host.Options{Listen: c.Listen, Config: settings, Log: log, Observer: observer})
	if err != nil {
		return err
	}
	callers, err := h.Callers(ctx)
	if err != nil || c.Demo && callers != host.Anybody {
		_ = h.Close()
		if err == nil {
			err = fmt.Errorf("--demo calls without a key, and %s", map[host.Callers]string{
				host.KeyHolders: fmt.Sprintf("there are keys in %s: choose another directory with --data, or see them with `%[2]s keys list%[3]s` and remove each with `%[2]s keys revoke ID%[3]s`", c.Data, app.command(), c.flag()),
				host.Nobody:     "POSTINO_PUBLIC_URL lets others in, so that every call must be signed: unset it",
			}[callers])
		}
		return err
	}
	app.sayf("Postino listens on %s and keeps its data in %s", h.URL(), c.Data)
	switch callers {
	case host.KeyHolders:
		app.sayf("Calls must be signed with one of its keys.")
	case host.Nobody:
		app.sayf("Calls must be signed, and there is no key yet: make one with %s keys add%s", app.command(), c.flag())
	}
	if c.Demo {
		demo := startDemo(ctx, hooks, h.URL(), settings.Region, settings.Account, c.flag(), app)
		defer demo.stop()
	} else {
		app.sayf("Point AWS clients at it with: eval \"$(%s env%s)\"", app.command(), c.flag())
	}
	began := time.Now()
	err = h.Run(ctx)
	if err == nil {
		app.sayf("Stopped cleanly after %s; nothing accepted is lost.", time.Since(began).Round(time.Second))
	}
	return err
}
