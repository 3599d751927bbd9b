package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"postino/shared/operator"
	"postino/shared/push"
)

// DeliveriesShowCmd is `postino deliveries show`.
type DeliveriesShowCmd struct {
	Target
	JSONFlag
	What string `arg:"" name:"message-id|key" help:"A message id, for its deliveries to all subscriptions; or SUBSCRIPTION/MESSAGE-ID for one of them. Eight characters of an id do."`
}

// Run prints the timelines.
func (c *DeliveriesShowCmd) Run(ctx context.Context, app *App) error {
	server, err := c.dial(ctx, app)
	if err != nil {
		return err
	}
	found, err := server.ShowDelivery(ctx, c.What, time.Time{})
	if err != nil {
		return err
	}
	if c.JSON {
		return app.json(found)
	}
	for i, d := range found {
		if i > 0 {
			app.sayf("")
		}
		app.timeline(d, sentAgain(d, found))
	}
	return nil
}

// sentAgain reports whether a later chain of the same delivery is among all.
func sentAgain(d operator.Delivery, all []operator.Delivery) bool {
	return slices.ContainsFunc(all, func(o operator.Delivery) bool {
		return o.Subscription == d.Subscription && o.MessageID == d.MessageID && o.Generation != "" && o.Generation != d.Generation &&
			o.UpdatedAt.After(d.UpdatedAt)
	})
}

// timeline prints one delivery: what it is, every attempt, what comes next.
// again: its dead letter was sent again.
func (a *App) timeline(d operator.Delivery, again bool) {
	a.sayf("message       %s", printable(d.MessageID))
	a.sayf("subscription  %s", printable(d.Subscription))
	if d.Kind != "" {
		a.sayf("kind          %s", printable(string(d.Kind)))
	}
	switch d.Generation {
	case "":
	case operator.TestGeneration:
		a.sayf("generation    %s (sent by postino send-test)", d.Generation)
	default:
		a.sayf("generation    %s (sent again from a dead-letter queue)", printable(d.Generation))
	}
	a.sayf("state         %s", a.state(d.State))
	if d.Reason != "" {
		a.sayf("because       %s", printable(d.Reason))
	}
	switch {
	case d.State == operator.Attempting:
		a.sayf("next          attempt %d is under way; if its worker died, another takes over %s (%s)", d.Attempts, whenExactly(d.LeaseEnd), due(d.LeaseEnd, a.Now()))
	case d.State == operator.Waiting && d.NextAt.IsZero() && d.Kind != "":
		a.sayf("next          it is given up: a confirmation is never dead-lettered")
	case d.State == operator.Waiting && d.NextAt.IsZero():
		a.sayf("next          it is on its way to a dead-letter queue")
	case d.Paused:
		a.hintf("next          attempt %d (%s), once `postino resume %s` lets it go on", d.Attempts+1, d.NextPhase, printable(d.Subscription))
	case d.State == operator.Waiting:
		a.sayf("next          attempt %d (%s) is due %s (%s)", d.Attempts+1, d.NextPhase, whenExactly(d.NextAt), ahead(d.NextAt, a.Now()))
	case d.State == push.Dead && again:
		a.sayf("dead letter   went to %s and was sent again from there: see below", printable(queueOf(d)))
	case d.State == push.Dead:
		a.hintf("dead letter   went to %s: `postino dlq list %[1]s`", printable(queueOf(d)))
	}
	a.sayf("")
	switch {
	case d.Attempts == 0:
		a.sayf("No attempt was made.")
	case len(d.History) == 0:
		a.sayf("%s, of which no record is kept.", count(d.Attempts, "attempt"))
	default:
		a.attempts(d)
	}
}

func (a *App) attempts(d operator.Delivery) {
	first := d.History[0].Number
	if first > 1 {
		a.sayf("(attempts 1 to %d are no longer remembered)", first-1)
	}
	rows := make([]table.Row, len(d.History))
	for i, t := range d.History {
		took := "-"
		if !t.Started.IsZero() && !t.Ended.IsZero() {
			if took = span(t.Ended.Sub(t.Started)); took == "0ms" {
				took = "<1ms"
			}
		}
		decided := printable(t.Reason)
		if decided == "" {
			decided = "-"
		}
		rows[i] = table.Row{fmt.Sprint(t.Number), t.Phase, whenExactly(t.Started), took, outcome(t), decided}
	}
	a.table(table.Row{"#", "PHASE", "STARTED", "TOOK", "OUTCOME", "DECIDED"}, rows)
}
