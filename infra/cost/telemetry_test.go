package main

import (
	"fmt"
	"strings"
	"testing"
)

// docs/telemetry.md says in short what the rows of docs/cost.md have of log bytes.
// A row has its publishes too: at fan-out 1 one a delivery, at 10 a tenth of one.
func TestTheLogBytesOfTheTelemetryPageAreThoseCounted(t *testing.T) {
	p, all := measured(t)
	bytes := func(name string) float64 { return find(all, name).Usage[LogByte] }
	publish := (bytes("first-1") - bytes("first-10")) / (1 - 1.0/10)
	alone := bytes("first-1-alone") - publish
	page := file(t, "../docs/telemetry.md")
	for _, c := range []struct {
		what  string
		bytes float64
	}{
		{"a publish", publish},
		{"a delivery in a batch of ten that succeed", bytes("first-1") - publish},
		{"a delivery in a batch of its own", alone},
		{"a failed attempt adds", bytes("retry-alone") - alone},
		{"a status record adds", bytes("dead") - bytes("retry")},
	} {
		row := fmt.Sprintf("| %s | %.2f KB | $%.2f |\n", c.what, c.bytes/1000, million*c.bytes*p.Unit[LogByte])
		if !strings.Contains(page, row) {
			t.Errorf("docs/telemetry.md has no row %s", row)
		}
	}
}
