//go:build integration

package main

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write counts.json")

// TestTheCountsAreThoseOfThePage runs every scenario anew. Bytes may differ by a
// few in a hundred, by ids and times of other lengths; everything else is exact
// unless the emulator splits a batch.
func TestTheCountsAreThoseOfThePage(t *testing.T) {
	var now []Counted
	for _, s := range scenarios {
		now = append(now, s(t))
	}
	if *update {
		b, err := json.MarshalIndent(now, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("counts.json", append(b, '\n'), 0o644); err != nil { //nolint:gosec // a page's source
			t.Fatal(err)
		}
		return
	}
	kept, err := counts()
	if err != nil {
		t.Fatal(err)
	}
	if len(kept) != len(now) {
		t.Fatalf("%d scenarios, counts.json has %d: run with -update", len(now), len(kept))
	}
	for i, k := range kept {
		for _, u := range Units {
			if was, is := k.Usage[u], now[i].Usage[u]; math.Abs(was-is) > 0.05*math.Max(was, is) {
				t.Errorf("%s: %v %s, counts.json says %v: if that is meant, run with -update", k.Name, is, u, was)
			}
		}
	}
}
