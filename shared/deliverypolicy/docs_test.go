package deliverypolicy

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The page for users must say what the code does. Its tables are computed here
// and looked for in the page, and its JSON examples are parsed.
const page = "../../docs/delivery-policies.md"

func readPage(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func wantTable(t *testing.T, table string) {
	t.Helper()
	if !strings.Contains(readPage(t), table) {
		t.Errorf("%s lacks this table:\n%s", page, table)
	}
}

// spark draws delays as bars of eight heights.
func spark(s Schedule) string {
	var b strings.Builder
	for retry := 1; retry <= s.Retries(); retry++ {
		d, _ := s.Delay(retry)
		b.WriteRune([]rune("▁▂▃▄▅▆▇█")[d*7/s.Max])
	}
	return b.String()
}

func TestTheDocumentedCurvesAreTheComputedOnes(t *testing.T) {
	table := "| retry | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | sum | shape |\n" +
		"|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|\n"
	for _, c := range []Curve{Linear, Arithmetic, Geometric, Exponential} {
		s := Schedule{Backoff: 10, Min: 5 * time.Second, Max: 260 * time.Second, Curve: c}
		table += "| " + string(c)
		for _, d := range seconds(s, 10) {
			table += fmt.Sprintf(" | %.1f", d)
		}
		table += fmt.Sprintf(" | %.1f | `%s` |\n", s.Total().Seconds(), spark(s))
	}
	wantTable(t, table)
}

func TestTheDocumentedExampleIsTheComputedOne(t *testing.T) {
	p, err := ParseSubscription(jsonBlocks(t)[0], false)
	if err != nil {
		t.Fatal(err)
	}
	s := p.Retry.Schedule()
	table := "| attempt | phase | seconds after the last attempt ended | seconds since the first attempt |\n|--:|---|--:|--:|\n"
	var since time.Duration
	for attempt := 1; attempt <= s.Retries()+1; attempt++ {
		d, phase := s.Delay(attempt - 1)
		since += d
		switch {
		case attempt == 1:
			table += "| 1 | initial | | 0 |\n"
		case attempt == 18:
			table += "| … | post-backoff | 60 | … |\n"
		case attempt < 18 || attempt > s.Retries():
			table += fmt.Sprintf("| %d | %s | %v | %v |\n", attempt, phase, d.Seconds(), since.Seconds())
		}
	}
	wantTable(t, table)
}

func TestTheDocumentedFixedSchedulesAreTheComputedOnes(t *testing.T) {
	table := "| schedule | immediate | pre-backoff | backoff | post-backoff | retries | sum of delays |\n|---|---|---|---|---|--:|--:|\n"
	part := func(count int, how string, args ...any) string {
		if count == 0 {
			return "–"
		}
		return fmt.Sprintf("%d × ", count) + fmt.Sprintf(how, args...)
	}
	for _, f := range []struct {
		name string
		s    Schedule
	}{
		{"SNS default for HTTP(S)", defaultRetry().Schedule()},
		{"SNS, AWS-managed endpoints", AWSManaged()},
		{"SNS, customer-managed endpoints", CustomerManaged()},
		{"MNS BACKOFF_RETRY", MNSBackoffRetry()},
		{"MNS EXPONENTIAL_DECAY_RETRY", MNSExponentialDecay()},
	} {
		s := f.s
		backoff := part(s.Backoff, "%s %v → %v s", s.Curve, s.Min.Seconds(), s.Max.Seconds())
		if s.Min == s.Max {
			backoff = part(s.Backoff, "%v s", s.Min.Seconds())
		}
		if s.Spread > 0 {
			backoff += fmt.Sprintf(" + random 0–%v s", s.Spread.Seconds())
		}
		table += fmt.Sprintf("| %s | %s | %s | %s | %s | %d | %v s |\n", f.name, part(s.Immediate, "0 s"),
			part(s.PreBackoff, "%v s", s.Min.Seconds()), backoff,
			part(s.PostBackoff, "%v s", s.Max.Seconds()), s.Retries(), int(s.Total().Seconds()))
	}
	wantTable(t, table)
}

func jsonBlocks(t *testing.T) []string {
	t.Helper()
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(readPage(t), -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) != 2 {
		t.Fatalf("%s holds %d JSON examples, want one per form", page, len(blocks))
	}
	return blocks
}

func TestTheDocumentedFormsAreAccepted(t *testing.T) {
	blocks := jsonBlocks(t)
	if p, err := ParseSubscription(blocks[0], false); err != nil || p.Retry == nil || p.MaxReceivesPerSecond == 0 || p.ContentType == "" {
		t.Errorf("subscription form: %+v, %v", p, err)
	}
	if p, err := ParseTopic(blocks[1]); err != nil || p.Retry == nil || p.MaxReceivesPerSecond == 0 || p.ContentType == "" {
		t.Errorf("topic form: %+v, %v", p, err)
	}
}
