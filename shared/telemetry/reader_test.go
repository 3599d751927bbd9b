package telemetry

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"postino/shared/pipeline"
	"postino/shared/push"
)

func TestReadingNarrowsByEveryFilterAndTheirConjunction(t *testing.T) {
	dir := t.TempDir()
	l := openLog(t, dir, DeliveryLogOptions{})
	topic := func(n string) string { return "arn:aws:sns:eu-west-1:123456789012:" + n }
	put := func(kind pipeline.EventKind, topicName, sub, id string) {
		l.Observe(event(kind, func(e *pipeline.Event) {
			e.TopicARN, e.Subscription, e.MessageID = topic(topicName), topic(topicName)+":"+sub, id
			e.Reason = "mentions " + topic("a") + ":s1 and m1" // a mention is no match
		}))
	}
	put(pipeline.EventDelivered, "a", "s1", "m1")
	put(pipeline.EventDead, "a", "s2", "m1")
	put(pipeline.EventDropped, "b", "s3", "m2")
	put(pipeline.EventDelivered, "b", "s3", "m3")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		f     DeliveryFilter
		limit int
		want  []string
	}{
		"everything":   {DeliveryFilter{}, 10, []string{"m3", "m2", "m1", "m1"}},
		"limit":        {DeliveryFilter{}, 2, []string{"m3", "m2"}},
		"limit of 0":   {DeliveryFilter{}, 0, nil},
		"message":      {DeliveryFilter{MessageID: "m1"}, 10, []string{"m1", "m1"}},
		"subscription": {DeliveryFilter{Subscription: topic("a") + ":s1"}, 10, []string{"m1"}},
		"topic":        {DeliveryFilter{TopicARN: topic("b")}, 10, []string{"m3", "m2"}},
		"state":        {DeliveryFilter{States: []push.State{push.Dead, push.Dropped}}, 10, []string{"m2", "m1"}},
		"all of them":  {DeliveryFilter{TopicARN: topic("b"), MessageID: "m3", States: []push.State{push.Delivered}}, 10, []string{"m3"}},
		"nothing":      {DeliveryFilter{MessageID: "m9"}, 10, nil},
	} {
		if diff := cmp.Diff(c.want, read(t, dir, c.f, c.limit)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestNoLogIsAnEmptyOne(t *testing.T) {
	if got, err := ReadDeliveryLog(t.TempDir(), DeliveryFilter{}, 10); err != nil || got != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func TestLinesBackwardsAreTheLinesForwardsReversed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	rapid.Check(t, func(t *rapid.T) {
		// Lengths around the block's size are the interesting ones.
		lines := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			n := rapid.OneOf(rapid.IntRange(1, 40), rapid.IntRange(65_530, 65_540), rapid.IntRange(100_000, 200_000)).Draw(t, "length")
			return strings.Repeat(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "letter"), n)
		}), 0, 8).Draw(t, "lines")
		text := strings.Join(lines, "\n")
		if len(lines) > 0 && rapid.Bool().Draw(t, "ends with a newline") {
			text += "\n"
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		var got []string
		if err := linesBackwards(f, func(line []byte) bool { got = append(got, string(line)); return true }); err != nil {
			t.Fatal(err)
		}
		slices.Reverse(got)
		if len(got) != len(lines) || !slices.Equal(got, lines) && len(lines) > 0 {
			t.Fatalf("got %d lines of %d", len(got), len(lines))
		}
	})
}

func TestADamagedFileHidesOnlyItsDamagedPart(t *testing.T) {
	dir := t.TempDir()
	good := func(n int) []byte {
		line, _ := appendRecord(nil, new(numbered(n)))
		return line
	}
	damage := bytes.Repeat([]byte{0}, 5<<20)
	all := slices.Concat(good(1), damage, []byte("\n"), good(2), []byte("{}\n[]\nnull\n\n"), good(3))
	if err := os.WriteFile(filepath.Join(dir, DeliveryLogFile), all, 0o600); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"m000003", "m000002", "m000001"}, read(t, dir, DeliveryFilter{}, 10)); diff != "" {
		t.Error(diff)
	}
}

func TestARotationWhileReadingShowsNoFileTwice(t *testing.T) {
	dir := t.TempDir()
	current := filepath.Join(dir, DeliveryLogFile)
	line, _ := appendRecord(nil, new(numbered(1)))
	if err := os.WriteFile(current, line, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(current, current+".1"); err != nil { // what a reader caught in between sees
		t.Fatal(err)
	}
	if got := read(t, dir, DeliveryFilter{}, 10); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

func FuzzLogFilesAreReadWithoutHarm(f *testing.F) {
	line, _ := appendRecord(nil, new(numbered(1)))
	f.Add(line)
	f.Add([]byte("{\"status\":\"SUCCESS\"}\n" + fmt.Sprint(line)))
	f.Fuzz(func(t *testing.T, content []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, DeliveryLogFile), append(content, append([]byte("\n"), line...)...), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadDeliveryLog(dir, DeliveryFilter{}, 1)
		if err != nil || len(got) != 1 || got[0].Notification.MessageID != "m000001" {
			t.Errorf("%v, %v", got, err)
		}
		if _, err := ReadDeliveryLog(dir, DeliveryFilter{}, 1000); err != nil {
			t.Error(err)
		}
	})
}
