package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"postino/shared/operator"
	"postino/shared/push"
)

// DeliveriesCmd groups the commands on deliveries.
type DeliveriesCmd struct {
	List DeliveriesListCmd `cmd:"" help:"List deliveries, latest change first."`
	Show DeliveriesShowCmd `cmd:"" help:"Show every attempt of a message's deliveries, what was decided and why."`
}

// DeliveriesListCmd is `postino deliveries list`.
type DeliveriesListCmd struct {
	Target
	JSONFlag
	State        string `help:"Only those in this state: live (attempting or waiting), attempting, waiting, dead, delivered or dropped." placeholder:"STATE"`
	Subscription string `help:"Only this subscription's: its ARN, or TOPIC:ID as lists show it." placeholder:"ARN|ID"`
	Topic        string `help:"Only this topic's: its ARN or name." placeholder:"TOPIC"`
	Limit        int    `help:"At most so many, up to 1000." default:"50"`
}

// Validate is called by kong.
func (c *DeliveriesListCmd) Validate() error {
	if err := (operator.ListRequest{State: c.State}).CheckState(); err != nil {
		return errors.New(sentence(err))
	}
	return nil
}

// Run prints the list.
func (c *DeliveriesListCmd) Run(ctx context.Context, app *App) error {
	server, err := c.dial(ctx, app)
	if err != nil {
		return err
	}
	list, err := server.ListDeliveries(ctx, operator.ListRequest{
		State: c.State, Subscription: c.Subscription, Topic: c.Topic, Limit: c.Limit,
	})
	if err != nil {
		return err
	}
	if c.JSON {
		return app.json(list)
	}
	app.deliveries(list)
	return nil
}

func (a *App) deliveries(list operator.DeliveryList) {
	if len(list.Deliveries) == 0 {
		a.sayf("No deliveries.")
		a.notListed(list)
		return
	}
	rows := make([]table.Row, len(list.Deliveries))
	for i, d := range list.Deliveries {
		last := "-"
		if n := len(d.History); n > 0 {
			last = briefly(d.History[n-1])
		}
		rows[i] = table.Row{when(d.UpdatedAt), a.state(d.State), d.MessageID, shortSubscription(d.Subscription), d.Attempts, last,
			chain(d, sentAgain(d, list.Deliveries), a.next(d))}
	}
	a.table(table.Row{"UPDATED", "STATE", "MESSAGE", "SUBSCRIPTION", "ATTEMPTS", "LAST", "NEXT"}, rows)
	a.notListed(list)
	if list.More {
		a.sayf("There are more: raise --limit, or narrow the list.")
	}
}

// notListed says which deliveries a list leaves out, so that none of them is
// believed not to have happened.
func (a *App) notListed(list operator.DeliveryList) {
	if !list.LogBack.IsZero() {
		a.sayf("The delivery log was read back to %s: of what succeeded at once before, nothing is listed.", when(list.LogBack))
	}
	switch list.LogKeeps {
	case operator.LogShare:
		a.sayf("Of what succeeded at once only the share that is logged is listed: none unless the stack's parameter SuccessSampleRate or the topic's HTTPSuccessFeedbackSampleRate says more.")
	case operator.LogNothing:
		a.sayf("Nothing that succeeded at once is listed: no delivery log is known here. --stack finds a stack's.")
	}
}

// chain says before next which of a message's deliveries to one subscription it
// is, where it is not the only one. again: its dead letter was sent again.
func chain(d operator.Delivery, again bool, next string) string {
	mark := ""
	switch {
	case d.Kind != "":
		mark = "confirmation"
	case d.Generation == operator.TestGeneration:
		mark = "test"
	case d.Generation != "":
		mark = "sent again"
	}
	if d.State == push.Dead && again {
		next += ", sent again from there"
	}
	switch {
	case mark == "":
		return next
	case next == "-":
		return mark
	default:
		return mark + ": " + next
	}
}

// next says in a few words what follows.
func (a *App) next(d operator.Delivery) string {
	switch {
	case d.State == operator.Attempting:
		return fmt.Sprintf("attempt %d is under way", d.Attempts)
	case d.State == operator.Waiting && d.NextAt.IsZero() && d.Kind != "":
		return "given up" // it carries a token, and is never dead-lettered
	case d.State == operator.Waiting && d.NextAt.IsZero():
		return "dead-letter queue"
	case d.Paused:
		return fmt.Sprintf("paused before attempt %d", d.Attempts+1)
	case d.State == operator.Waiting:
		return fmt.Sprintf("attempt %d %s", d.Attempts+1, ahead(d.NextAt, a.Now()))
	case d.State == push.Dead:
		return "went to " + printable(queueOf(d))
	case d.State == push.Dropped && d.Reason != "":
		return printable(d.Reason)
	default:
		return "-"
	}
}

// briefly is an attempt's outcome in a word or two.
func briefly(t push.Attempt) string {
	switch {
	case t.Status != 0:
		return fmt.Sprint(t.Status)
	case t.Fault != "":
		return printable(t.Fault)
	default:
		return string(t.Class)
	}
}

// outcome is an attempt's outcome in full.
func outcome(t push.Attempt) string {
	what := briefly(t)
	if name := http.StatusText(t.Status); name != "" {
		what += " " + name
	}
	if detail := printable(t.Detail); detail != "" && !strings.Contains(detail, what) {
		what += ": " + detail
	} else if detail != "" {
		what = detail
	}
	return what
}

// queueOf is what commands call the dead-letter queue of a dead delivery.
func queueOf(d operator.Delivery) string {
	return cmp.Or(d.Queue, d.Target)
}
