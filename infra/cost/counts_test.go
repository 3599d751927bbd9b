//go:build integration

package main

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write counts.json")

// TestTheCountsAreThoseOfThePage runs every scenario anew.
func TestTheCountsAreThoseOfThePage(t *testing.T) {
	if n := len(topicARN[strings.LastIndexByte(topicARN, ':')+1:]); n != topicLetters {
		t.Fatalf("the topic's name has %d letters, the page says %d", n, topicLetters)
	}
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
	for _, d := range differences(kept, now) {
		t.Errorf("%s: if that is meant, run make cost-counts", d)
	}
}
