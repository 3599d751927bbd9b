package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// awsRow is what a scenario came to.
type awsRow struct {
	Name          string
	FanOut, Batch int
	Wait          time.Duration
	// Messages accepted, in so many calls, and the deliveries they are.
	Messages, PublishCalls, Deliveries int64
	// Duplicates are deliveries that came again after a 200, Refused attempts
	// that the endpoint answered 503.
	Duplicates, Refused int64
	// Publish is the latency of the calls, First from the call to the arrival.
	Publish, First quantiles
	// Rate is deliveries a second from the first call to the last arrival.
	Rate float64
	// Retries is how late they came, seen from the receiver, jitter included.
	Retries lateness
	Seen    observed
	// Calls of AWS by function and action.
	Calls  map[string]map[string]int
	Checks []awsCheck
}

// awsReport is a run against a stack.
type awsReport struct {
	Quick   bool
	Machine machine
	Clients int
	// QueueDelay is the stack's QueueDelaySeconds.
	QueueDelay int
	Rows       []awsRow
	Broken     []string
}

// disagrees reports whether some call is not what docs/cost.md says.
func (r *awsReport) disagrees() bool {
	for _, row := range r.Rows {
		for _, c := range row.Checks {
			if !c.Agree {
				return true
			}
		}
	}
	return false
}

// page is the report in Markdown.
func (r *awsReport) page() string { return pageOf(r.markdown) }

const awsIntroduction = `# Load on the deployed stack

<!-- Written by make bench-aws. -->

**No speed on this page is AWS's.** The stack of template.yaml is deployed, by the
SAM CLI, to an AWS emulator on one machine: a single Python process that is gateway,
queues, table and scheduler at once and runs each function as a process beside
itself. Latencies and rates below are that process's; AWS's own are not known from
here. What carries over are the counts: how often functions are invoked, how full
batches are, which calls they make for a delivery, what comes twice, and that nothing
is lost or early. How fast Postino's own code is says [performance](performance.md).

` + "```\nmake bench-aws\n```" + `

deploys the stack on a port of its own, runs the scenarios, rewrites this page and
stops everything, in two to four minutes. Client and receiver are those of
` + "`make bench`" + `. The client publishes through the Function URL with the AWS SDK for
Go, signed and with one try a call; messages have 256 bytes and are delivered in
SNS's JSON envelope, signed. It fails when something is lost or early, and when the
calls are not those of [cost](cost.md).
`

func (r *awsReport) markdown(p printer) {
	p(awsIntroduction)
	if r.Quick {
		p("**A quick run: it shows that everything works, its figures mean little.**\n")
	}
	m := r.Machine
	p("Measured %s on %d CPUs, shared by emulator, functions, client and receiver; %s, %s; load before: %s. %d publishers in a closed loop, QueueDelaySeconds=%d.\n",
		m.Started.Format("2006-01-02 15:04 UTC"), m.CPUs, m.Go, m.OS, orDash(m.LoadBefore), r.Clients, r.QueueDelay)
	if len(r.Broken) > 0 {
		p("## Lost or broken\n")
		for _, b := range r.Broken {
			p("- %s", b)
		}
		p("")
	}
	r.invocations(p)
	r.calls(p)
	r.retries(p)
	r.speed(p)
}

func (r *awsReport) invocations(p printer) {
	p("## Invocations and batches\n\nOf a flaky endpoint every tenth message is refused once. *Fill* is records per invocation, of ten at most, from the functions' own log lines; " +
		"*put back* are jobs that wait for a slot, or for the rest of a wait whose schedule aims early.\n")
	p("| scenario | messages | deliveries | duplicates | publish | deliver, first attempts | fill | deliver, retries | fill | invocations per delivery | refused | put back | our own faults |")
	p("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
	for _, w := range r.Rows {
		first, again, all := w.Seen.Lanes["attempt"], w.Seen.Lanes["retry"], 0
		for _, n := range w.Seen.Invocations {
			all += n
		}
		p("| %s | %d | %d | %d | %d | %d | %s | %d | %s | %s | %d | %d | %d |", w.Name, w.Messages, w.Deliveries, w.Duplicates,
			w.Seen.Invocations["publish"], first.Batches, first.fill(), again.Batches, again.fill(),
			figure(float64(all)/float64(w.Deliveries)), w.Refused, first.Waited+again.Waited,
			first.Faults+again.Faults+first.Returned+again.Returned)
	}
	p("\nBatches are as full as the emulator's pollers find the queue. AWS's gather less readily: its pollers are several, and without a batching " +
		"window an invocation takes what one receive gives, so that a trickle comes one by one on both.\n")
}

func (r *awsReport) calls(p printer) {
	p("## Calls of AWS per delivery\n\nBy the emulator's record of every call that a function makes. *By cost.md* is what the counts of [cost](cost.md) come to for the same messages; " +
		"sends, writes and schedules must be the same number, but for the refused write that the first throttle slot after an idle time takes. " +
		"Reads may be more by what fills caches, which that page counts as rows of their own: " +
		"each process of Deliver reads a subscription and its topic again when they are five seconds old, and the emulator has up to 70 of those processes for a few messages. " +
		"The receive and the delete of each batch are the event source mapping's and in no record.\n")
	p("| scenario | call | made | per delivery | by cost.md | beyond it | |\n|---|---|---:|---:|---:|---:|---|")
	for _, w := range r.Rows {
		for _, c := range w.Checks {
			beyond, verdict := "", "agrees"
			if c.Beyond > 0.5 {
				beyond = fmt.Sprintf("%.0f", c.Beyond)
			}
			if !c.Agree {
				verdict = "**differs**"
			}
			p("| %s | %s | %.0f | %s | %s | %s | %s |", w.Name, c.Action, c.Got, perDelivery(c.Got, w), perDelivery(c.Want, w), beyond, verdict)
		}
	}
	var other []string
	sum := map[string]int{}
	for _, w := range r.Rows {
		for _, calls := range w.Calls {
			for action, n := range calls {
				if started[action] {
					sum[action] += n
				}
			}
		}
	}
	for _, action := range slices.Sorted(maps.Keys(started)) {
		other = append(other, fmt.Sprintf("%s %d", action, sum[action]))
	}
	p("\nOnce a process or a change of a topic, in all scenarios together: %s.\n", strings.Join(other, ", "))
	p("A wait by a schedule ends early, and the job is put back once for the rest: one send and one record of a batch more, as in cost.md's row of a scheduled retry. " +
		"The sends above have it counted in.\n")
}

func perDelivery(n float64, w awsRow) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", n/float64(w.Deliveries)), "0"), ".")
}

func (r *awsReport) retries(p printer) {
	p("## Lateness of retries\n\nNever early is a promise and checked. *At the receiver* counts from the answer of the attempt before plus the delay, so that it includes the jitter " +
		"(a tenth of the delay at most); *by the functions* from the due time, jitter known. Queues delay by whole seconds. The emulator's scheduler looks twice a second, AWS's within a minute.\n")
	p("| waits by | delay | retries | at the receiver: least / p50 / p99 ms | by the functions: p50 / p99 ms |\n|---|---:|---:|---:|---:|")
	for _, w := range r.Rows {
		if w.Retries.Count == 0 {
			continue
		}
		by := "queue"
		if w.Wait > time.Duration(r.QueueDelay)*time.Second {
			by = "schedule"
		}
		p("| %s | %s | %d | %.0f / %s / %s | %s / %s |", by, w.Wait, w.Retries.Count, float64(w.Retries.EarliestUS)/1000,
			figure(w.Retries.P50()), figure(w.Retries.P99()), quantileOf(w.Seen.LatenessMS, 0.5), quantileOf(w.Seen.LatenessMS, 0.99))
	}
	p("")
}

func (r *awsReport) speed(p printer) {
	p("## Speed, the emulator's\n\nThe columns of `make bench` that mean something here: its ratios to a straight rate and its CPU times would be the emulator's, which shares the machine with the functions.\n\n| scenario | publish p50 / p99 ms | first delivery p50 / p99 ms | deliveries/s |\n|---|---:|---:|---:|")
	for _, w := range r.Rows {
		if w.Retries.Count > 0 {
			continue // an arrival after a refusal is no first one
		}
		p("| %s | %s / %s | %s / %s | %s |", w.Name, figure(w.Publish.P50()), figure(w.Publish.P99()), figure(w.First.P50()), figure(w.First.P99()), figure(w.Rate))
	}
	p("\nFirst delivery counts from the start of the publish call.")
}

// quantileOf is the value that a share q of sorted values does not exceed.
func quantileOf(sorted []float64, q float64) figure {
	if len(sorted) == 0 {
		return unknown
	}
	return figure(sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)])
}
