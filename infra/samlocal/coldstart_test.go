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
	"postino/infra/coldstart/first"
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
	topic, err := first.Subscribe(t.Context(), l.config, l.outputs, l.key(), address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := topic.Close(); err != nil {
			t.Error(err)
		}
	})
	subjects := []string{"Hello", "Publish", "Fanout", "Deliver", "Redrive"}
	f := figures.Figures{Machine: figures.Machine(), Functions: make([]figures.Function, len(subjects))}
	for range *colds { // in turns, so that what else the machine does hits all
		for i, name := range subjects {
			initial, took := l.coldly(name, topic)
			one := &f.Functions[i]
			one.Name = strings.ToLower(name)
			one.Init, one.First = append(one.Init, initial), append(one.First, took)
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
	b, err := os.ReadFile(l.file)
	if err != nil {
		l.t.Fatal(err)
	}
	marker := []byte("\nResources:\n")
	if bytes.Count(b, marker) != 1 {
		l.t.Fatalf("%s has no place for a function more", l.file)
	}
	more := "  HelloFunction:\n    Type: AWS::Serverless::Function\n    Properties:\n      CodeUri: " + folder + "\n"
	if err := os.WriteFile(l.file, bytes.Replace(b, marker, append(marker, more...), 1), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// coldly has a function do its first work in a new container and gives what the
// runtime emulator tells of it, in milliseconds. sam listens to a container only after
// it has started it and may miss the first lines: then another one is started.
func (l *local) coldly(function string, topic *first.Topic) (initial, took float64) {
	l.t.Helper()
	var log string
	for range 5 {
		invoke := func(event []byte) (answer []byte, err error) {
			answer, log = l.invoke(function, l.event(event))
			return answer, nil
		}
		var err error
		if function == "Hello" { // which takes anything
			_, err = invoke([]byte(`{}`))
		} else {
			err = topic.Give(l.t.Context(), strings.ToLower(function), invoke)
		}
		if err != nil {
			l.t.Fatalf("%s: %v\n%s", function, err, log)
		}
		i, f := initTook.FindStringSubmatch(log), invokeTook.FindStringSubmatch(log)
		if i == nil || f == nil {
			continue
		}
		if initial, err = strconv.ParseFloat(i[1], 64); err != nil {
			l.t.Fatal(err)
		}
		if took, err = strconv.ParseFloat(f[1], 64); err != nil {
			l.t.Fatal(err)
		}
		return initial, took
	}
	l.t.Fatalf("%s's times are not told: %s", function, log)
	return 0, 0
}
