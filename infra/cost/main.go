package main

import (
	"fmt"
	"os"
)

// docs is where the page goes, from the project's root.
const docs = "docs/cost.md"

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}

func write() error {
	text, err := current()
	if err != nil {
		return err
	}
	return os.WriteFile(docs, []byte(text), 0o644) //nolint:gosec // a page for everybody
}

// current is the page as counts and prices make it now.
func current() (string, error) {
	p, err := prices()
	if err != nil {
		return "", fmt.Errorf("prices.json: %w", err)
	}
	c, err := counts()
	if err != nil {
		return "", fmt.Errorf("counts.json: %w", err)
	}
	return page(c, p), nil
}
