//go:build samlocal

package samlocal

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"postino/infra/coldstart/figures"
)

var (
	keep  = flag.String("figures", "", "the file that gets the times of cold starts")
	colds = flag.Int("colds", 7, "cold starts of each function")
)

// What the runtime emulator says with SAM_CLI_RIE_DEV=1.
var (
	initTook   = regexp.MustCompile(`INIT REPORT\(durationMs: ([0-9.]+)\)`)
	invokeTook = regexp.MustCompile(`INVOKE RTDONE\(status: success, produced bytes: \d+, duration: ([0-9.]+)ms\)`)
)

func TestAContainersColdStartIsHardlyLongerThanThatOfAFunctionThatDoesNothing(t *testing.T) {
	t.Setenv("SAM_CLI_RIE_DEV", "1")
	l := built(t)
	l.hello()
	subjects := []struct{ name, event string }{
		{"Hello", "publish-direct.json"}, {"Publish", "publish-function-url.json"},
		{"Fanout", "fanout-sqs.json"}, {"Deliver", "deliver-sqs.json"}, {"Redrive", "redrive-sqs.json"},
	}
	f := figures.Figures{Machine: figures.Machine(), Functions: make([]figures.Function, len(subjects))}
	for range *colds { // in turns, so that what else the machine does hits all
		for i, s := range subjects {
			event, err := filepath.Abs(filepath.Join("../../events", s.event))
			if err != nil {
				t.Fatal(err)
			}
			initial, first := l.coldly(s.name, event)
			one := &f.Functions[i]
			one.Name = strings.ToLower(s.name)
			one.Init, one.First = append(one.Init, initial), append(one.First, first)
		}
	}
	f.Functions[0].Name = figures.Hello
	t.Logf("\n%s", f.Table())
	if missed := f.Missed(); len(missed) > 0 {
		t.Errorf("%q start more than %d ms later than a function that does nothing", missed, figures.MostInit)
	}
	if *keep != "" {
		if err := f.Write(*keep); err != nil {
			t.Fatal(err)
		}
	}
}

// hello adds the function that does nothing to the template.
func (l *local) hello() {
	l.t.Helper()
	folder := l.t.TempDir()
	c := exec.CommandContext(l.t.Context(), "bash", "-c", `. ../local/stripped.sh; stripped go build -o "$0" ../coldstart/hello`, filepath.Join(folder, "bootstrap"))
	if out, err := c.CombinedOutput(); err != nil {
		l.t.Fatalf("%v: %s", err, out)
	}
	name := l.flags[1]
	b, err := os.ReadFile(name)
	if err != nil {
		l.t.Fatal(err)
	}
	more := "\nResources:\n  HelloFunction:\n    Type: AWS::Serverless::Function\n    Properties:\n      CodeUri: " + folder + "\n"
	if err := os.WriteFile(name, bytes.Replace(b, []byte("\nResources:\n"), []byte(more), 1), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// coldly invokes a function in a new container and gives what the runtime emulator
// tells of it, in milliseconds. sam listens to a container only after it has started
// it and may miss the first lines: then another one is started.
func (l *local) coldly(function, event string) (initial, first float64) {
	l.t.Helper()
	var log string
	for range 5 {
		_, log = l.invoke(function, event)
		i, f := initTook.FindStringSubmatch(log), invokeTook.FindStringSubmatch(log)
		if i == nil || f == nil {
			continue
		}
		initial, err := strconv.ParseFloat(i[1], 64)
		if err != nil {
			l.t.Fatal(err)
		}
		if first, err = strconv.ParseFloat(f[1], 64); err != nil {
			l.t.Fatal(err)
		}
		return initial, first
	}
	l.t.Fatalf("%s's times are not told: %s", function, log)
	return 0, 0
}
