package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

// "bench aws" puts load on a deployed stack: it publishes through the Function
// URL with the SNS SDK and counts what the functions then do. The stack is on
// emulated AWS, whose speed says nothing about AWS's; the counts are what it is
// for. Anything that is not on loopback is refused.
func runAWS(ctx context.Context, args []string, out, log io.Writer) int {
	flags := flag.NewFlagSet("bench aws", flag.ContinueOnError)
	flags.SetOutput(log)
	stack := flags.String("stack", "postino", "the deployed `stack`")
	calls := flags.String("calls", "", "the emulator's record of every call, a `file` (infra/local/ministack.sh every-call)")
	costs := flags.String("costs", "infra/cost/counts.json", "the counts of docs/cost.md, a `file`")
	quick := flags.Bool("quick", false, "a smoke run with a few messages")
	markdown := flags.String("markdown", "", "also write the report to this `file`, unless something is lost, broken or not what it costs")
	figures := flags.String("figures", "", "likewise what it is made of, as JSON")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 || *calls == "" {
		fmt.Fprintln(log, "bench aws: --calls names the record of calls, and nothing stands behind the flags")
		return 2
	}
	r, err := measureAWS(ctx, awsOptions{*stack, *calls, *costs, *quick}, log)
	if err == nil {
		_, err = io.WriteString(out, r.page())
	}
	if err == nil && len(r.Broken) == 0 && !r.disagrees() {
		if err = keep(r.page(), *markdown, r, *figures); err == nil {
			return 0
		}
	}
	if err != nil {
		fmt.Fprintf(log, "bench aws: %v\n", err)
	}
	return 1
}

type awsOptions struct {
	stack, calls, costs string
	quick               bool
}

// awsSuite is one run against a stack.
type awsSuite struct {
	*suite
	stack *awsStack
	costs costs
	calls callRecord
}

const (
	// awsLimit bounds a run, which takes about a minute and a half.
	awsLimit = 4 * time.Minute
	// awsClients publish at once: few, since the emulator is one process.
	awsClients = 4
)

func measureAWS(ctx context.Context, o awsOptions, log io.Writer) (*awsReport, error) {
	ctx, cancel := context.WithTimeout(ctx, awsLimit)
	defer cancel()
	p := plan{Quick: o.quick, Clients: awsClients, Stall: 45 * time.Second}
	s := &awsSuite{suite: &suite{ctx: ctx, plan: p, log: log, report: newReport(p)}, calls: callRecord{path: o.calls}}
	var err error
	if s.costs, err = readCosts(o.costs); err != nil {
		return nil, err
	}
	if s.stack, err = findAWSStack(ctx, o.stack, os.Getenv); err != nil {
		return nil, err
	}
	defer s.stopWorkers()
	if err := s.startWorkers(); err != nil {
		return nil, err
	}
	r := &awsReport{Quick: o.quick, Clients: awsClients, QueueDelay: s.stack.queueDelay, Machine: describeProcessors()}
	for _, sc := range scenarios(o.quick) {
		row, err := s.run(sc)
		if err != nil {
			s.broken("%s: %v", sc.name, err)
			continue
		}
		r.Rows = append(r.Rows, row)
	}
	pr, err := s.progress()
	for _, f := range pr.Faults {
		s.broken("%s", f)
	}
	r.Broken = s.report.Broken
	return r, err
}

// run goes through one scenario: a topic of its own, a batch that warms up what
// is kept in memory, the load, and what the functions did meanwhile.
func (s *awsSuite) run(sc scenario) (awsRow, error) {
	row := awsRow{Name: sc.name, FanOut: sc.fanOut, Batch: sc.batch, Wait: sc.wait}
	began := time.Now()
	topic, err := s.subscribed(sc)
	if err != nil {
		return row, err
	}
	if _, _, err := s.load(sc, topic, "warming up "+sc.name, int64(sc.batch)); err != nil {
		return row, err
	}
	// What the warming up was logs after it has been delivered: let that pass.
	if _, err := s.quiet(began); err != nil {
		return row, err
	}
	from, err := s.calls.offset()
	if err != nil {
		return row, err
	}
	since := time.Now()
	o, p, err := s.load(sc, topic, sc.name, sc.messages)
	if err != nil {
		return row, err
	}
	row.Messages, row.Duplicates, row.Refused = o.Accepted.count(), p.Duplicates, p.Refused
	row.Deliveries = row.Messages * int64(sc.fanOut)
	row.PublishCalls, row.Publish = o.Tried/int64(sc.batch), o.Latency
	row.Rate = perSecond(p.Unique, o.Started, p.Last)
	err = errors.Join(
		s.receiver.call("latency", nothing{}, &row.First),
		s.receiver.call("lateness", nothing{}, &row.Retries),
	)
	if err != nil {
		return row, err
	}
	if row.Seen, err = s.quiet(since); err != nil {
		return row, err
	}
	if row.Calls, err = s.calls.since(from, s.stack.functions); err != nil {
		return row, err
	}
	row.Checks = s.costs.check(sc, row)
	if row.Retries.EarliestUS < 0 {
		s.broken("%s: a retry came %.3f ms before its delay was over", sc.name, -float64(row.Retries.EarliestUS)/1000)
	}
	s.say("%s: %d deliveries, %d duplicates, %d publish and %d deliver invocations, %s", sc.name,
		row.Deliveries, row.Duplicates, row.Seen.Invocations["publish"], row.Seen.Invocations["deliver"], time.Since(began).Round(100*time.Millisecond))
	return row, nil
}

// load publishes n messages and waits until all have arrived.
func (s *awsSuite) load(sc scenario, topic, what string, n int64) (outcome, progress, error) {
	run, err := s.begin(sc.fanOut, sc.wait)
	if err != nil {
		return outcome{}, progress{}, err
	}
	o := <-s.inBackground("sdk", sdkArgs{Endpoint: s.stack.endpoint, Region: s.stack.region, Key: s.stack.key, Topic: topic, Run: run, load: load{
		Clients: awsClients, Batch: sc.batch, For: time.Minute, Count: n,
	}})
	p, err := s.settled(what, o, sc.fanOut, 1)
	return o, p, err
}

// subscribed makes a topic with the scenario's subscriptions.
func (s *awsSuite) subscribed(sc scenario) (topic string, err error) {
	if topic, err = s.stack.createTopic(s.ctx, fmt.Sprintf("bench-%08x-%d", s.stack.nonce, s.runs)); err != nil {
		return "", err
	}
	return topic, s.confirmed(sc.fanOut, func() string { return "see the log group of the stack's deliver function" }, func() error {
		for i := range sc.fanOut {
			if err := s.stack.subscribe(s.ctx, topic, fmt.Sprintf("%s/%s/%d", s.at.URL, sc.lane, i), sc.policy); err != nil {
				return err
			}
		}
		return nil
	})
}
