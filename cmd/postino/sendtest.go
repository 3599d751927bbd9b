package main

import (
	"context"
	"fmt"
	"time"

	"postino/shared/operator"
	"postino/shared/push"
)

// SendTestCmd is `postino send-test`.
type SendTestCmd struct {
	DataDir
	JSONFlag
	Subscription string        `arg:"" help:"The subscription's ARN, or TOPIC:ID as lists show it."`
	Wait         time.Duration `help:"How long to wait for the first attempt's outcome; 0 does not wait." default:"20s"`
}

// Run sends, waits, and fails when the first attempt did.
func (c *SendTestCmd) Run(ctx context.Context, app *App) error {
	server, err := c.dial()
	if err != nil {
		return err
	}
	sent, err := server.SendTest(ctx, c.Subscription)
	if err != nil {
		return err
	}
	if !c.JSON {
		app.sayf("Sent test message %s to %s.", printable(sent.MessageID), printable(sent.Endpoint))
	}
	if sent.Paused || c.Wait <= 0 {
		if c.JSON {
			return app.json(sent)
		}
		if sent.Paused {
			app.sayf("The subscription is paused: it waits for `postino resume %s`.", printable(sent.Subscription))
		}
		return nil
	}
	d, err := c.await(ctx, server, sent)
	if err != nil {
		return err
	}
	if c.JSON {
		err = app.json(d)
	} else {
		app.sayf("")
		app.timeline(d, false)
	}
	if err == nil && d.State != push.Delivered {
		return saidAlready{}
	}
	return err
}

// pollEvery is how often the outcome is asked for: the delivery log is written
// every 200 ms or sooner.
const pollEvery = 100 * time.Millisecond

// await asks until an attempt has ended.
func (c *SendTestCmd) await(ctx context.Context, server *operator.Client, sent operator.TestMessage) (operator.Delivery, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.Wait, fmt.Errorf(
		"no attempt has ended within %s: `postino deliveries show %s` tells later", c.Wait, sent.MessageID))
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		found, err := server.ShowDelivery(ctx, sent.Subscription+"/"+sent.MessageID)
		switch {
		case err == nil && len(found) > 0:
			return found[0], nil
		case err != nil && !push.IsNotFound(err):
			return operator.Delivery{}, err
		}
		select {
		case <-ctx.Done():
			return operator.Delivery{}, context.Cause(ctx)
		case <-tick.C:
		}
	}
}
