package main

import (
	"fmt"
	"strings"
)

// target is what a scenario should cost at most, in dollars a million.
type target struct {
	scenario string
	most     float64
	// all counts log bytes and egress too.
	all bool
	// hoped is not promised: the page says whether it is met and why it is not
	// promised, and no test insists.
	hoped bool
}

var targets = []target{
	{scenario: "first-10", most: 0.45},
	{scenario: "first-10", most: 0.60, all: true},
	{scenario: "first-10-cold", most: 0.45},
	{scenario: "first-10-cold", most: 0.60, all: true, hoped: true},
	{scenario: "first-failed", most: 5},
	{scenario: "first-failed-scheduled", most: 5},
	{scenario: "retry", most: 5},
	{scenario: "retry-late", most: 5},
	{scenario: "first-dead", most: 5, hoped: true},
	{scenario: "dead", most: 5, hoped: true},
	{scenario: "hang", most: 6},
	{scenario: "hang-late", most: 6},
}

func promises(all []Counted, p Prices) string {
	var b strings.Builder
	b.WriteString("\n## Targets\n\n| a million | at most | now |\n|---|---|---|\n")
	for _, t := range targets {
		c := find(all, t.scenario)
		units, what := inside(), "before logs and egress"
		if t.all {
			units, what = Units, "all in"
		}
		now, verdict := million*p.Of(c.Usage, units...), "met"
		if now > t.most {
			verdict = "**missed**"
		}
		if t.hoped {
			verdict += ", not promised"
		}
		fmt.Fprintf(&b, "| %s, batches of %d, %s | $%.2f | $%.2f, %s |\n", c.Title, c.Fill, what, t.most, now, verdict)
	}
	before := func(name string) float64 { return million * p.Of(find(all, name).Usage, inside()...) }
	full := func(name string) float64 { return million * p.Of(find(all, name).Usage) }
	fmt.Fprintf(&b, `
The targets are for full batches. Caches are warm where nothing else is said.

What a failed attempt may cost is promised where another follows. Where it ends the
delivery it is not, because the record is written once more and moves in both indexes
from what lives to what is dead: once a delivery, however many attempts there were.

A hanging endpoint is billed for its whole timeout. The $6 are before logs and egress:
all in it is $%.2f. Where each attempt comes by itself nobody shares the wait: $%.2f,
all in $%.2f. About $%.0f were expected for that, which is what %.0f s cost at %d MB;
Deliver has %d MB, because it waits most of the time.
`, full("hang-late"), before("hang-alone"), full("hang-alone"),
		million*p.Unit[GBSecond]*hangTime.Seconds()*otherMB/1024, hangTime.Seconds(), otherMB, deliverMB)
	return b.String()
}
