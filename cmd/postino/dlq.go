package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"postino/shared/operator"
	"postino/shared/push"
)

// DLQCmd groups the commands on dead-letter queues.
type DLQCmd struct {
	List    DLQListCmd    `cmd:"" help:"List the dead-letter queues, or the messages of one."`
	Show    DLQShowCmd    `cmd:"" help:"Show one dead letter: where it comes from, why it died, its body."`
	Redrive DLQRedriveCmd `cmd:"" help:"Send dead letters again, each to its own subscription."`
	Delete  DLQDeleteCmd  `cmd:"" help:"Delete dead letters for good, without asking."`
}

// DLQListCmd is `postino dlq list`.
type DLQListCmd struct {
	Target
	JSONFlag
	Queue string `arg:"" optional:"" help:"A queue's name or ARN; without it, the queues are listed."`
	Limit int    `help:"At most so many messages, up to 1000." default:"50"`
	After string `help:"Begin behind this message; not on AWS, whose queues have no order." placeholder:"ID"`
}

// Run prints queues or messages.
func (c *DLQListCmd) Run(ctx context.Context, app *App) error {
	server, err := c.dial(ctx, app)
	if err != nil {
		return err
	}
	if c.Queue == "" {
		queues, err := server.ListQueues(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			return app.json(queues)
		}
		app.queues(queues)
		return nil
	}
	page, err := server.ListDeadLetters(ctx, c.Queue, c.After, c.Limit)
	if err != nil {
		return err
	}
	if c.JSON {
		return app.json(page)
	}
	app.deadLetters(page)
	return nil
}

func (a *App) queues(queues []operator.QueueInfo) {
	if len(queues) == 0 {
		a.sayf("No dead-letter queues.")
		return
	}
	rows := make([]table.Row, len(queues))
	for i, q := range queues {
		oldest := "-"
		if !q.OldestSent.IsZero() {
			oldest = span(a.Now().Sub(q.OldestSent))
		}
		rows[i] = table.Row{printable(q.Name), q.Visible, q.InFlight, q.Delayed, oldest}
		if q.Problem != "" {
			rows[i] = table.Row{printable(q.Name)}
		}
	}
	a.table(table.Row{"QUEUE", "MESSAGES", "IN FLIGHT", "DELAYED", "OLDEST"}, rows)
	for _, q := range queues {
		switch {
		case q.Problem != "":
			a.sayf("%s cannot be looked into: %s.", printable(q.Name), printable(q.Problem))
		case q.MovesAfter > 0:
			a.sayf("%s has a dead-letter queue of its own, to which a message moves after %s; a look counts as one.", printable(q.Name), count(q.MovesAfter, "receive"))
		}
	}
}

func (a *App) deadLetters(page operator.DeadLetterPage) {
	if len(page.DeadLetters) == 0 {
		if page.Left > 0 {
			a.sayf("No messages can be seen now: somebody is receiving about %d. Look again in a minute.", page.Left)
		} else {
			a.sayf("No messages.")
		}
		return
	}
	rows := make([]table.Row, len(page.DeadLetters))
	for i, d := range page.DeadLetters {
		subscription, attempts, last := "-", "-", "-"
		switch {
		case d.Note != nil:
			subscription, attempts, last = shortSubscription(d.Note.Subscription), fmt.Sprint(d.Note.Attempts), lastOutcome(d)
		case d.Job != nil:
			subscription, attempts = shortSubscription(d.Job.Subscription), fmt.Sprint(d.Job.Attempt-1)
		}
		rows[i] = table.Row{printable(d.ID), when(d.Sent), subscription, attempts, last, d.Bytes}
	}
	a.table(table.Row{"ID", "SENT", "SUBSCRIPTION", "ATTEMPTS", "LAST", "BYTES"}, rows)
	if page.Next != "" {
		a.sayf("There are more: --after %s", printable(page.Next))
	}
	if page.Left > 0 {
		a.sayf("About %d more were not looked at: raise --limit (1000 at most).", page.Left)
	}
}

// lastOutcome is what the note says of the last attempt, in a word.
func lastOutcome(d operator.DeadLetter) string {
	switch n := d.Note; {
	case n.Status != 0:
		return fmt.Sprint(n.Status)
	case n.Fault != "":
		return printable(n.Fault)
	default:
		return "-"
	}
}

// DLQShowCmd is `postino dlq show`.
type DLQShowCmd struct {
	Target
	JSONFlag
	Queue string `arg:"" help:"The queue's name or ARN."`
	ID    string `arg:"" help:"The message's id."`
}

// Run prints the letter.
func (c *DLQShowCmd) Run(ctx context.Context, app *App) error {
	server, err := c.dial(ctx, app)
	if err != nil {
		return err
	}
	d, err := server.ShowDeadLetter(ctx, c.Queue, c.ID)
	if err != nil {
		return err
	}
	if c.JSON {
		return app.json(d)
	}
	app.deadLetter(d)
	return nil
}

func (a *App) deadLetter(d operator.DeadLetter) {
	a.sayf("id            %s", printable(d.ID))
	a.sayf("queue         %s", printable(d.Queue))
	a.sayf("sent          %s (%s)", whenExactly(d.Sent), due(d.Sent, a.Now()))
	a.sayf("received      %s", count(d.Receives, "time"))
	a.provenance(d)
	for _, t := range d.Attributes {
		if d.Note == nil || t.Name != operator.NoteAttribute {
			a.sayf("attribute     %s (%s) = %s", printable(t.Name), printable(t.Type), printable(t.Value))
		}
	}
	a.sayf("body          %s", count(d.Bytes, "byte"))
	a.sayf("\n%s", strings.TrimSuffix(printable(d.Body), "\n"))
}

// provenance explains the attribute "Postino", or the job that the letter is.
func (a *App) provenance(d operator.DeadLetter) {
	if n := d.Note; n != nil {
		a.sayf("subscription  %s", printable(n.Subscription))
		a.sayf("message       %s, published %s", printable(n.MessageID), whenExactly(n.Published))
		a.sayf("attempts      %d", n.Attempts)
		if n.Status != 0 || n.Fault != "" {
			a.sayf("last outcome  %s", outcome(push.Attempt{Status: n.Status, Fault: n.Fault, Detail: n.Detail}))
		}
		a.sayf("dead because  %s", printable(n.Reason))
		if n.Refused != "" {
			a.sayf("here because  the subscription's own dead-letter queue refused it: %s", printable(n.Refused))
		}
		if n.Redrives > 0 {
			a.sayf("sent again    %s", count(n.Redrives, "time"))
		}
		return
	}
	if j := d.Job; j != nil {
		a.sayf("subscription  %s", printable(j.Subscription))
		a.sayf("message       %s", printable(j.MessageID))
		a.sayf("waits for     attempt %d (%s): what failed was on this side, not the endpoint's", j.Attempt, j.Kind)
		return
	}
	a.sayf("origin        unknown: it carries no %q attribute", operator.NoteAttribute)
}
