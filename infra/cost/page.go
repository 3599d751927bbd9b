package main

import (
	"fmt"
	"strings"
)

func inside() (units []Unit) {
	for _, u := range Units {
		if u != LogByte && u != EgressByte {
			units = append(units, u)
		}
	}
	return units
}

const million = 1e6

// page is docs/cost.md.
func page(all []Counted, p Prices) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# What it costs on AWS

<!-- Written by make cost from infra/cost/counts.json, which make cost-counts takes anew, and prices.json. -->

Every figure is a count times a list price. The counts are those of the functions'
own handlers on the AWS adapters, taken from the wire: calls, and what each is
billed for (64 KB chunks of queue messages, write units with those of the indexes
and of refused conditions, read units, schedules, bytes). The integration run
takes them anew and fails where they have changed.

Prices: %s, %s, %s.
Lambda's are those of arm64, which the template takes unless told otherwise; the time
of x86_64 costs %.0f %% more. AWS's pages: %s.

Modelled, because no call of the functions shows it: an event source mapping's
receive and delete for each batch, what Scheduler sends by a schedule (a request
each), and the time of an invocation: %d MB for Deliver, %d MB for the
others, %d ms of its own (Publish, which signs, %d), %d ms for each call of
AWS in a row, %d ms for an endpoint that answers and %.0f s for one that hangs.
Jobs of a batch run side by side. Queue requests are counted with the fair-queue
surcharge wherever messages carry a group.

## A million of each

Message of 256 bytes with its envelope and signature, unless the row says more; a
topic with a name of %d letters. A record holds the name twice: with a short one it
begins below 1 KB, and the first retries write up to a quarter less; with a long one
a first attempt that fails for good writes up to a quarter more.
*Batch* is how many jobs came in one invocation: under load batches are full, a
lone message comes alone. The last row ends when the next attempt is due: the job
comes from its schedule a minute or two early and is put back once for the rest.

| | a million | batch | Lambda | SQS | DynamoDB | Scheduler | sum | log | egress | all |
|---|---|---|---|---|---|---|---|---|---|---|
`, p.Region, p.Date, p.Source, 100*(p.Other.X86GBSecond/p.Unit[GBSecond]-1), p.links(), deliverMB, otherMB,
		overhead.Milliseconds(), publishOverhead.Milliseconds(), callTime.Milliseconds(), answerTime.Milliseconds(), hangTime.Seconds(), topicLetters)
	for _, c := range all {
		b.WriteString(row(c, p))
	}
	b.WriteString(notes(all, p))
	b.WriteString(beside(all, p))
	b.WriteString(promises(all, p))
	b.WriteString(idle(p))
	b.WriteString(optional(p))
	b.WriteString(counted(all))
	return b.String()
}

func row(c Counted, p Prices) string {
	dollars := func(units ...Unit) string { return fmt.Sprintf("$%.2f", million*p.Of(c.Usage, units...)) }
	return fmt.Sprintf("| %s | %s | %d | %s | %s | %s | %s | **%s** | %s | %s | %s |\n", c.Title, c.Per, c.Fill,
		dollars(Invoke, GBSecond), dollars(SQSRequest, SQSFairRequest), dollars(WriteUnit, ReadUnit), dollars(Schedule),
		dollars(inside()...), dollars(LogByte), dollars(EgressByte), dollars())
}

func find(all []Counted, name string) Counted {
	for _, c := range all {
		if c.Name == name {
			return c
		}
	}
	return Counted{Title: name + " is missing"}
}

// beside compares with SNS.
func beside(all []Counted, p Prices) string {
	sns := func(fanout float64) float64 { return p.SNS.DeliveryPerMillion + p.SNS.PublishPerMillion/fanout }
	dollars := func(name string) float64 { return million * p.Of(find(all, name).Usage, inside()...) }
	return fmt.Sprintf(`
## Beside SNS

SNS bills $%.2f a million publishes and $%.2f a million HTTP deliveries, retries
included; egress is billed there too, and its delivery-status logs.

| a million first deliveries | Postino, batches of 10 | the same, caches cold | Postino, one by one | SNS |
|---|---|---|---|---|
| fan-out 10, before logs and egress | $%.2f | $%.2f | $%.2f | $%.2f |
| fan-out 1, before logs and egress | $%.2f | $%.2f | $%.2f | $%.2f |

SNS costs nothing while nothing happens and is cheaper for messages that come one
by one, for endpoints that fail much, for large messages, and at fan-out 1 where
caches are cold. Postino is for what SNS
does not let you see, change or own; the sums say what that costs.
`, p.SNS.PublishPerMillion, p.SNS.DeliveryPerMillion,
		dollars("first-10"), dollars("first-10-cold"), dollars("first-10-alone"), sns(10),
		dollars("first-1"), dollars("first-1-cold"), dollars("first-1-alone"), sns(1))
}

func idle(p Prices) string {
	var b strings.Builder
	sum := 0.0
	b.WriteString("\n## A month of nothing\n\n| | a month |\n|---|---|\n")
	for _, m := range p.Month {
		fmt.Fprintf(&b, "| %s | $%.2f |\n", m.What, m.Count*m.Price)
		sum += m.Count * m.Price
	}
	fmt.Fprintf(&b, "| **sum** | **$%.2f** |\n\nThe key is rotated every year: each of the first %d rotations adds $%.2f a month, from then on the sum is $%.2f.\n"+
		"Stored items, queue messages at rest and point-in-time recovery come on top, by the gigabyte.\n",
		sum, p.KeyRotation.Count, p.KeyRotation.Price, sum+float64(p.KeyRotation.Count)*p.KeyRotation.Price)
	return b.String()
}

// optional is what nobody pays who does not want it, and the metrics, which cost
// nothing where nothing happens.
func optional(p Prices) string {
	var b strings.Builder
	b.WriteString("\n## What is optional\n\n| | how many | each | a month |\n|---|---|---|---|\n")
	for _, m := range p.Optional {
		fmt.Fprintf(&b, "| %s | %.0f | $%.2f | $%.2f |\n", m.What, m.Count, m.Price, m.Count*m.Price)
	}
	b.WriteString(`
An alarm is billed by the metrics in it, and each of these has one. Of a metric only
the hours are billed in which it is written. Saved queries cost nothing until they
run, then by the logs they read. [Operations](operations.md) says what each is for.
`)
	return b.String()
}

// counted is the table of what was used, for whoever has other prices.
func counted(all []Counted) string {
	var b strings.Builder
	b.WriteString("\n## The counts\n\nOf one each.\n\n| |")
	for _, u := range Units {
		fmt.Fprintf(&b, " %s |", u)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(Units)) + "\n")
	for _, c := range all {
		fmt.Fprintf(&b, "| `%s`, batch %d |", c.Name, c.Fill)
		for _, u := range Units {
			fmt.Fprintf(&b, " %s |", number(c.Usage[u]))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func number(n float64) string {
	switch {
	case n == 0:
		return "0"
	case n < 0.01:
		return fmt.Sprintf("%.4f", n)
	case n < 100:
		return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", n), "0"), ".")
	default:
		return fmt.Sprintf("%.0f", n)
	}
}
