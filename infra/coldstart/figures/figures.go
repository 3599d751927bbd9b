// Package figures is what measuring cold starts gives: in memory, as the files that
// docs/cold-start.md is made of, and as the tables on it.
package figures

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// The promises: less bytes than these of a stripped binary, and no more milliseconds
// of init above those of a function that does nothing.
const (
	MostBytes = 20_000_000
	MostInit  = 30
)

// Hello is the name of the function that does nothing.
const Hello = "hello world"

// Figures are one run's.
type Figures struct {
	Machine   string
	Functions []Function
}

// Function has the times of each start, in milliseconds.
type Function struct {
	Name string
	// Bytes is the size of the binary, 0 where it was not looked at.
	Bytes int64 `json:",omitempty"`
	// Init is from the start of the process until it asks for its first event,
	// First from handing that over until the answer.
	Init, First []float64
}

// Read takes what Write has written. Its errors are the file system's, and
// encoding/json's for a file with something else in it.
func Read(file string) (f Figures, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(b, &f)
}

// Write leaves f in a file. Its errors are the file system's, and encoding/json's for
// times that are no numbers.
func (f Figures) Write(file string) error {
	b, err := json.MarshalIndent(f, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(b, '\n'), 0o644) //nolint:gosec // a file for everybody
}

// Missed names the functions that do not keep a promise.
func (f Figures) Missed() (names []string) {
	for _, one := range f.Functions {
		if one.Bytes >= MostBytes || f.above(one) > MostInit {
			names = append(names, one.Name)
		}
	}
	return names
}

// Table has the medians of f in Markdown.
func (f Figures) Table() string {
	var b strings.Builder
	sizes := slices.ContainsFunc(f.Functions, func(one Function) bool { return one.Bytes > 0 })
	row := func(name, size, init, above, first, verdict string) {
		b.WriteString("| " + name + " |")
		if sizes {
			b.WriteString(" " + size + " |")
		}
		fmt.Fprintf(&b, " %s | %s | %s | %s |\n", init, above, first, verdict)
	}
	row("function", "binary", "init", "above hello", "first invocation", "")
	row("---", "---", "---", "---", "---", "---")
	missed, starts := f.Missed(), 0
	for _, one := range f.Functions {
		above, verdict := ms(f.above(one)), "met"
		if slices.Contains(missed, one.Name) {
			verdict = "**missed**"
		}
		if one.Name == Hello {
			above, verdict = "", ""
		} else {
			starts = len(one.Init)
		}
		row(one.Name, fmt.Sprintf("%.1f MB", float64(one.Bytes)/1e6), ms(median(one.Init)), above, ms(median(one.First)), verdict)
	}
	fmt.Fprintf(&b, "\nMedians of %d starts each, on %s. Targets: ", starts, f.Machine)
	if sizes {
		fmt.Fprintf(&b, "a binary of less than %d MB, ", MostBytes/1_000_000)
	}
	fmt.Fprintf(&b, "an init of at most %d ms above hello world.\n", MostInit)
	return b.String()
}

// above is the median init of one beyond that of the function that does nothing.
func (f Figures) above(one Function) float64 {
	for _, hello := range f.Functions {
		if hello.Name == Hello {
			return median(one.Init) - median(hello.Init)
		}
	}
	return median(one.Init)
}

// median is the middle of times, the greater of two.
func median(times []float64) float64 {
	if len(times) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(times))[len(times)/2]
}

func ms(of float64) string { return fmt.Sprintf("%.1f ms", of) }
