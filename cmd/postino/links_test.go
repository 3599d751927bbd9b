package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestEveryRelativeLinkOfTheDocumentsLeadsSomewhere(t *testing.T) {
	const root = "../.."
	documents := []string{filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md")}
	for _, pattern := range []string{"docs/*.md", "samples/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files and error %v", pattern, len(found), err)
		}
		documents = append(documents, found...)
	}
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	seen := 0
	for _, document := range documents {
		b, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(b), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			seen++
			if _, err := os.Stat(filepath.Join(filepath.Dir(document), target)); err != nil {
				t.Errorf("%s links %s, which is not there", document, target)
			}
		}
	}
	if seen == 0 {
		t.Error("no link was found")
	}
}
