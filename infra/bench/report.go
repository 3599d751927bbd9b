package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// report is everything a run measured.
type report struct {
	// Quick: a smoke run, whose figures mean little.
	Quick      bool
	Machine    machine
	Targets    []target
	Throughput []throughputRow
	// RSA is the CPU time of one RSA-2048 signature, µs, a figure per round.
	RSA       series
	Latency   []latencyRow
	Retry     *retryRow
	Waiting   *waitingRow
	Crashes   []crashRow
	Isolation *isolationRow
	// Broken says what was lost or broken.
	Broken []string
	Plan   plan
}

func newReport(p plan) *report { return &report{Quick: p.Quick, Plan: p} }

// page is the report in Markdown.
func (r *report) page() string { return pageOf(r.markdown) }

type printer func(format string, args ...any)

// pageOf gathers what a report prints line by line.
func pageOf(markdown func(printer)) string {
	var page strings.Builder
	markdown(func(format string, args ...any) { fmt.Fprintf(&page, format+"\n", args...) })
	return page.String()
}

// keep writes a page and the figures that it is made of, where files are named.
func keep(page, pageFile string, figures any, figuresFile string) error {
	var err error
	if pageFile != "" {
		err = os.WriteFile(pageFile, []byte(page), 0o644) //nolint:gosec // a page for everybody
	}
	if figuresFile != "" {
		b, failed := json.MarshalIndent(figures, "", "\t")
		if failed == nil {
			failed = os.WriteFile(figuresFile, append(b, '\n'), 0o644) //nolint:gosec // like the page
		}
		err = errors.Join(err, failed)
	}
	return err
}

func (r *report) markdown(p printer) {
	m := r.Machine
	p("# Benchmark of %s\n", m.Started.Format("2006-01-02 15:04 UTC"))
	if r.Quick {
		p("A quick run: it shows that everything works, its figures mean little.\n")
	}
	p("%d CPUs, shared by client, server and receiver; %s, %s; other programs kept %s of them busy (load before: %s). Data on %s, where 4 KiB and an fsync take %d µs. "+
		"Messages of %d bytes, %d clients, single runs of %s after %s of warm-up, %d rounds (medians).\n",
		m.CPUs, m.Go, m.OS, m.Others, orDash(m.LoadBefore), orDash(m.FileSystem), m.FsyncP50US,
		messageLen, r.Plan.Clients, r.Plan.Window, r.Plan.Warm, r.Plan.Rounds)
	if m.FileSystem == "tmpfs" || m.FileSystem == "ramfs" {
		p("**The data is in memory: nothing here is durable. Name a folder on a disk with --dir.**\n")
	}
	if len(r.Broken) > 0 {
		p("## Lost or broken\n")
		for _, b := range r.Broken {
			p("- %s", b)
		}
		p("")
	}
	r.markdownTargets(p)
	r.markdownThroughput(p)
	r.markdownLatency(p)
	r.markdownRest(p)
}

func (r *report) markdownTargets(p printer) {
	if len(r.Targets) == 0 {
		return
	}
	p("## Targets\n\n| what | measured | target | |\n|---|---:|---:|---|")
	for _, t := range r.Targets {
		sign := "≤"
		if t.AtLeast {
			sign = "≥"
		}
		got := t.Got.String()
		if float64(t.Got) > 1e12 {
			got = "never"
		}
		p("| %s | %s %s | %s %s %s | %s |", t.Name, got, t.Unit, sign, t.Limit, t.Unit, t.Verdict)
	}
	p("")
}

func (r *report) markdownThroughput(p printer) {
	if len(r.Throughput) == 0 {
		return
	}
	p("## Throughput\n\nClosed loop; rates at the receiver, each round's deliveries over the straight POSTs just before.\n")
	p("| fan-out | publish | form | straight/s | deliveries/s | ratio (rounds) | to the last/s | most waiting | CPU µs/delivery | CPU µs/message | allocations/delivery | publish p50 / p99 ms | duplicates |")
	p("|---:|---|---|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|")
	for _, t := range r.Throughput {
		var p50, p99 []float64
		for _, q := range t.Publish {
			p50, p99 = append(p50, q.P50()), append(p99, q.P99())
		}
		p("| %d | %s | %s | %s | %s | **%s** (%s) | %s | %d | %s | %s | %s | %s / %s | %d |",
			t.FanOut, t.call(), t.form(), figure(median(t.Straight)), figure(median(t.Deliveries)),
			figure(median(t.Ratios)), list(t.Ratios), figure(median(t.ThroughDrain)), t.Backlog,
			figure(median(t.CPUPerDelivery)), figure(median(t.CPUPerMessage)), figure(median(t.AllocsPerDelivery)),
			figure(median(p50)), figure(median(p99)), t.Duplicates)
	}
	p("\n\"To the last\" counts from the first publish until everything accepted has arrived. CPU and allocations are the server's, accepting and delivering.")
	if len(r.RSA) > 0 {
		p("One RSA-2048 signature takes %s µs of CPU here.", figure(median(r.RSA)))
	}
	p("")
}

func (r *report) markdownLatency(p printer) {
	if len(r.Latency) == 0 {
		return
	}
	p("## Latency\n\nOpen loop, single publishes, raw delivery; from the time a message was scheduled to be sent.\n")
	p("| load | fan-out | messages/s | publish p50 / p99 ms | first delivery p50 / p99 / max ms | client's own lateness p99 ms |")
	p("|---|---:|---:|---:|---:|---:|")
	for _, l := range r.Latency {
		p("| %s | %d | %s | %s / %s | %s / %s / %s | %s |", l.Load, l.FanOut, figure(l.Rate),
			figure(l.Publish.P50()), figure(l.Publish.P99()),
			figure(l.First.P50()), figure(l.First.P99()), figure(l.First.ms(l.First.MaxUS)), figure(l.Late.P99()))
	}
	p("")
}

func (r *report) markdownRest(p printer) {
	if rt := r.Retry; rt != nil {
		p("## Retries\n\n%d retries after a fixed %s: at the receiver %s ms late at least, p50 %s, p99 %s, which includes jitter of up to %s ms; "+
			"by the server's histogram p50 %s, p99 %s ms.\n", rt.Receiver.Count, retryDelay, rt.Earliest,
			figure(rt.Receiver.P50()), figure(rt.Receiver.P99()), figure(rt.Jitter), rt.ServerP50, rt.ServerP99)
	}
	if w := r.Waiting; w != nil {
		p("## Memory\n\n%d of %d jobs waiting for a retry, published and failed once within %s: %s resident, %s at the peak (%s with none).\n",
			w.Waiting, w.Wanted, w.Took.Round(100*time.Millisecond), megabytes(w.Full.Resident), megabytes(w.Full.Peak), megabytes(w.Empty.Resident))
	}
	if len(r.Crashes) > 0 {
		p("## kill -9\n\n| accepted | lost deliveries | restart ms | first attempts in flight | pushed again, ms after up | duplicates | retries in flight | pushed again, ms after up | duplicates |")
		p("|---:|---:|---:|---:|---|---:|---:|---|---:|")
		for _, c := range r.Crashes {
			p("| %d | %d | %s | %d | %s to %s | %d | %d | %s to %s | %d |", c.Accepted, c.Lost, c.Restart,
				c.First.InFlight, c.First.Begin, c.First.End, c.First.Duplicates,
				c.Retried.InFlight, c.Retried.Begin, c.Retried.End, c.Retried.Duplicates)
		}
		p("")
	}
	if i := r.Isolation; i != nil {
		p("## Isolation\n\n%d good subscriptions at %s messages/s over %d topics, alone and beside %d that hang and %d that refuse.\n",
			i.Good, figure(i.Rate), r.Plan.IsolationTopics, i.Hanging, i.Refusing)
		p("| | deliveries/s to the good | first delivery p50 / p99 / max ms | publish p99 ms |\n|---|---:|---:|---:|")
		for _, row := range []struct {
			name string
			l    latencyRow
		}{{"alone", i.Control}, {"beside the bad ones", i.With}} {
			p("| %s | %s | %s / %s / %s | %s |", row.name, figure(row.l.Through),
				figure(row.l.First.P50()), figure(row.l.First.P99()), figure(row.l.First.ms(row.l.First.MaxUS)), figure(row.l.Publish.P99()))
		}
		p("\nKept %s of the rate; p99 is %s times the control's.", figure(i.Kept()), figure(i.Slower()))
	}
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}
