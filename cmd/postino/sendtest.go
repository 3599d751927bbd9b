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
	Target
	JSONFlag
	Subscription string        `arg:"" help:"The subscription's ARN, or TOPIC:ID as lists show it."`
	Wait         time.Duration `help:"How long to wait for the first attempt's outcome; 0 does not wait." default:"20s"`
}

// Run sends, waits, and fails when the first attempt did.
func (c *SendTestCmd) Run(ctx context.Context, app *App) error {
	server, err := c.dial(ctx, app)
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
			app.hintf("The subscription is paused: it waits for `postino resume %s`.", printable(sent.Subscription))
		}
		return nil
	}
	d, err := c.await(ctx, server, sent, app.Now().Add(-clocksDiffer))
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

// unendedError says that nothing is known of a test message yet.
type unendedError struct {
	wait    time.Duration
	message string
}

func (e *unendedError) Error() string {
	return fmt.Sprintf("no attempt has ended within %s: `postino deliveries show %s` tells later", e.wait, e.message)
}

// The outcome is asked for soon, since the delivery log is written every 200 ms or
// sooner, and then less and less often.
const (
	pollFirst = 100 * time.Millisecond
	pollLast  = time.Second
	// answerGrace lets the last question be answered. A deadline of its own would
	// cut it short, and its store would seem not to answer.
	answerGrace = 15 * time.Second
)

// clocksDiffer is more than this machine's clock is ahead of the server's.
const clocksDiffer = 5 * time.Minute

// await asks until an attempt has ended; an *unendedError says that none has.
func (c *SendTestCmd) await(ctx context.Context, server *operator.Client, sent operator.TestMessage, since time.Time) (operator.Delivery, error) {
	over := time.After(c.Wait)
	ctx, cancel := context.WithTimeout(ctx, c.Wait+answerGrace)
	defer cancel()
	var last *operator.Delivery
	for every := pollFirst; ; every = min(every*5/4, pollLast) {
		found, err := server.ShowDelivery(ctx, sent.Subscription+"/"+sent.MessageID, since)
		switch {
		case err == nil && len(found) > 0:
			// On its way to a dead-letter queue it is there in a moment.
			if last = &found[0]; last.State != operator.Waiting || !last.NextAt.IsZero() {
				return *last, nil
			}
		case err != nil && !push.IsNotFound(err):
			return operator.Delivery{}, err
		}
		select {
		case <-ctx.Done():
			return operator.Delivery{}, ctx.Err()
		case <-over:
			if last != nil {
				return *last, nil
			}
			return operator.Delivery{}, &unendedError{c.Wait, sent.MessageID}
		case <-time.After(every):
		}
	}
}
