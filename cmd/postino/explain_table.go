package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"postino/shared/deliverypolicy"
)

// longSchedule is the number of retries beyond which equal delays share a line.
const longSchedule = 12

// stretch is a run of attempts with the same phase and delay.
type stretch struct {
	first, last int
	phase       deliverypolicy.Phase
	delay       time.Duration
	// begins and ends are the times of the first and the last of them since the
	// initial attempt, delays alone.
	begins, ends time.Duration
}

// stretches walks the schedule; joined makes one of neighbours that are alike.
func stretches(s deliverypolicy.Schedule, joined bool) []stretch {
	var out []stretch
	var since time.Duration
	for retry := 0; retry <= s.Retries(); retry++ {
		delay, phase := s.Delay(retry)
		since += delay
		if n := len(out); joined && n > 0 && out[n-1].phase == phase && out[n-1].delay == delay {
			out[n-1].last, out[n-1].ends = retry+1, since
			continue
		}
		out = append(out, stretch{retry + 1, retry + 1, phase, delay, since, since})
	}
	return out
}

func (a *App) explained(e explained, all bool) {
	s := e.Schedule
	a.sayf("form          %s", e.Form)
	if e.Stored != "" {
		a.sayf("stored as     %s", e.Stored)
		a.sayf("in force      %s", e.Effective)
		a.sayf("content type  %s", e.ContentType)
	}
	if e.PerSecond > 0 {
		a.sayf("throttle      %d a second on average; waiting for it burns no attempt", e.PerSecond)
	}
	if e.Overrides {
		a.sayf("overrides     subscriptions' own policies are not used")
	}
	a.sayf("")
	var rows []table.Row
	for _, r := range stretches(s, !all && s.Retries() > longSchedule) {
		n, since := fmt.Sprint(r.first), exactly(r.begins)
		if r.last > r.first {
			n = fmt.Sprintf("%d to %d", r.first, r.last)
			if r.ends > r.begins {
				since += " to " + exactly(r.ends)
			}
		}
		rows = append(rows, table.Row{n, r.phase, delayText(s, r), since})
	}
	a.table(table.Row{"ATTEMPT", "PHASE", "DELAY", "SINCE FIRST"}, rows)
	a.total(s)
}

func (a *App) total(s deliverypolicy.Schedule) {
	if s.Retries() == 0 {
		a.sayf("\nTotal: no retry.")
		return
	}
	retries, jitter := fmt.Sprintf("%d retries", s.Retries()), "up to 10 % of each delay is added at random"
	if s.Retries() == 1 {
		retries = "1 retry"
	}
	if s.Spread > 0 {
		jitter = fmt.Sprintf("up to %s is added to each delay at random", exactly(s.Spread))
	}
	a.sayf("\nTotal: %s over %s.", retries, exactly(s.Total()))
	a.sayf("Times count delays only: each attempt may itself take up to 15 s, and %s.", jitter)
}

// delayText shows what is random about a delay where the schedule says so.
func delayText(s deliverypolicy.Schedule, r stretch) string {
	if r.phase == deliverypolicy.Initial {
		return "-"
	}
	if s.Spread > 0 && r.delay > 0 {
		return fmt.Sprintf("%s to %s", exactly(r.delay), exactly(r.delay+s.Spread))
	}
	return exactly(r.delay)
}

// exactly writes a duration without rounding: 33.333s, 2m25s, 1h0m50s.
func exactly(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	s := ""
	for _, unit := range []struct {
		name string
		of   time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}} {
		if n := d / unit.of; n > 0 || s != "" && d > 0 {
			s += fmt.Sprint(int64(n)) + unit.name
			d %= unit.of
		}
	}
	if d > 0 {
		s += d.String()
	}
	return s
}

// explanation is an explained policy for machines. Delays are in seconds and
// without jitter, times count from the first attempt.
type explanation struct {
	Form            string          `json:"form"`
	DeliveryPolicy  json.RawMessage `json:"deliveryPolicy,omitempty"`
	Effective       json.RawMessage `json:"effectiveDeliveryPolicy,omitempty"`
	ContentType     string          `json:"contentType,omitempty"`
	MaxPerSecond    int             `json:"maxReceivesPerSecond,omitempty"`
	Overrides       bool            `json:"disableSubscriptionOverrides,omitempty"`
	Attempts        []plannedWire   `json:"attempts"`
	Retries         int             `json:"retries"`
	TotalSeconds    float64         `json:"totalSeconds"`
	SpreadSeconds   float64         `json:"spreadSeconds,omitempty"`
	JitterAtMost    float64         `json:"jitterAtMost,omitempty"`
	AttemptTimeoutS float64         `json:"attemptTimeoutSeconds"`
}

type plannedWire struct {
	Attempt      int                  `json:"attempt"`
	Phase        deliverypolicy.Phase `json:"phase"`
	DelaySeconds float64              `json:"delaySeconds"`
	SinceSeconds float64              `json:"sinceFirstSeconds"`
}

func (e explained) wire() explanation {
	w := explanation{
		Form: e.Form, DeliveryPolicy: json.RawMessage(e.Stored), Effective: json.RawMessage(e.Effective),
		ContentType: e.ContentType, MaxPerSecond: e.PerSecond, Overrides: e.Overrides,
		Retries: e.Schedule.Retries(), TotalSeconds: e.Schedule.Total().Seconds(),
		SpreadSeconds: e.Schedule.Spread.Seconds(), AttemptTimeoutS: 15,
	}
	if e.Schedule.Spread == 0 {
		w.JitterAtMost = 0.1
	}
	for _, r := range stretches(e.Schedule, false) {
		w.Attempts = append(w.Attempts, plannedWire{r.first, r.phase, r.delay.Seconds(), r.begins.Seconds()})
	}
	return w
}
