package telemetry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"postino/shared/pipeline"
	"postino/shared/push"
)

func numbered(n int) pipeline.Event {
	return event(pipeline.EventDelivered, func(e *pipeline.Event) { e.MessageID = fmt.Sprintf("m%06d", n) })
}

func openLog(t testing.TB, dir string, o DeliveryLogOptions) *DeliveryLog {
	l, err := OpenDeliveryLog(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func read(t *testing.T, dir string, f DeliveryFilter, limit int) (ids []string) {
	records, err := ReadDeliveryLog(dir, f, limit)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		ids = append(ids, r.Notification.MessageID)
	}
	return ids
}

func TestEveryEndOfADeliveryIsALineInSNSsShape(t *testing.T) {
	dir := t.TempDir()
	l := openLog(t, dir, DeliveryLogOptions{})
	for _, k := range kinds {
		l.Observe(event(k))
	}
	l.Observe(event(pipeline.EventDead, func(e *pipeline.Event) {
		e.Generation, e.Push, e.Attempt.Status, e.Attempt.Fault = "g1", push.UnsubscribeConfirmation, 0, "tls"
		e.Attempt.Detail = "a \"quoted\" \\ ünïcode\ndetail"
	}))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, DeliveryLogFile))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "deliveries.log", string(got))
}

func anyEvent(t *rapid.T) pipeline.Event {
	text := func(name string) string { return rapid.String().Draw(t, name) }
	at := func(name string) time.Time {
		return time.UnixMilli(rapid.Int64Range(0, 4e12).Draw(t, name)).UTC()
	}
	e := pipeline.Event{
		Kind: rapid.SampledFrom([]pipeline.EventKind{pipeline.EventDelivered, pipeline.EventDead, pipeline.EventDropped}).Draw(t, "kind"),
		Time: at("time"), Subscription: text("sub"), TopicARN: text("topic"), MessageID: text("message"), Generation: text("generation"),
		Push: push.Notification, Endpoint: text("endpoint"), Accepted: at("accepted"), Target: text("target"), Reason: text("reason"), TraceID: text("trace"),
	}
	if rapid.Bool().Draw(t, "attempted") {
		e.Attempt = push.Attempt{Number: rapid.IntRange(1, 200).Draw(t, "n"), Phase: text("phase"), Started: at("started"), Ended: at("ended"),
			Class: push.Class(text("class")), Status: rapid.IntRange(0, 999).Draw(t, "status"), Fault: text("fault"), Detail: text("detail")}
	}
	return e
}

func TestALineReadsBackAsWhatHappened(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := anyEvent(t)
		line, ok := appendRecord(nil, &e)
		if !ok || bytes.IndexByte(line, '\n') != len(line)-1 {
			t.Fatalf("not one line: %q", line)
		}
		var r Record
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&r); err != nil {
			t.Fatal(err)
		}
		// It is what encoding/json makes of a Record, but for HTML escapes.
		var plain bytes.Buffer
		encoder := json.NewEncoder(&plain)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(r); err != nil {
			t.Fatal(err)
		}
		if got := unescapeHTML(string(line)); got != plain.String() {
			t.Fatal(cmp.Diff(plain.String(), got))
		}
		want := push.Delivery{
			Key:     push.DeliveryKey{Subscription: e.Subscription, MessageID: e.MessageID, Generation: e.Generation},
			Attempt: e.Attempt.Number, State: map[pipeline.EventKind]push.State{pipeline.EventDelivered: push.Delivered,
				pipeline.EventDead: push.Dead, pipeline.EventDropped: push.Dropped}[e.Kind],
			Reason: e.Reason, Target: e.Target, CreatedAt: e.Accepted, UpdatedAt: e.Time,
		}
		if e.Attempt.Number > 0 {
			e.Attempt.Reason = e.Reason
			want.Attempts = []push.Attempt{e.Attempt}
		}
		if diff := cmp.Diff(want, r.AsDelivery()); diff != "" {
			t.Fatal(diff)
		}
	})
}

// unescapeHTML undoes what json.Marshal does to three characters.
func unescapeHTML(s string) string {
	return strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(s)
}

func TestRecordsAreInTheFileWithin200Milliseconds(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l := openLog(t, dir, DeliveryLogOptions{})
		time.Sleep(flushEvery / 2) // the bubble's clock
		l.Observe(numbered(1))
		synctest.Wait()
		if got := read(t, dir, DeliveryFilter{}, 10); len(got) != 0 {
			t.Errorf("written unbuffered: %v", got)
		}
		time.Sleep(flushEvery)
		synctest.Wait()
		if got := read(t, dir, DeliveryFilter{}, 10); len(got) != 1 {
			t.Errorf("got %v", got)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestABurstDoesNotWaitForTheClock(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l := openLog(t, dir, DeliveryLogOptions{})
		for n := range 1000 {
			l.Observe(numbered(n))
		}
		synctest.Wait() // no time has passed
		if got := read(t, dir, DeliveryFilter{}, 5000); len(got) == 0 {
			t.Error("nothing written")
		}
		_ = l.Close()
	})
}

func TestClosingWritesEverythingAndReopeningAppends(t *testing.T) {
	dir := t.TempDir()
	for run := range 3 {
		l := openLog(t, dir, DeliveryLogOptions{})
		for n := range 10 {
			l.Observe(numbered(run*10 + n))
		}
		for range 2 {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
		l.Observe(numbered(999)) // too late, and harmless
	}
	got := read(t, dir, DeliveryFilter{}, 100)
	if len(got) != 30 || got[0] != "m000029" || got[29] != "m000000" {
		t.Errorf("got %v", got)
	}
}

func TestFilesAreRotatedBySizeAndTheOldestGo(t *testing.T) {
	dir := t.TempDir()
	const perRun = 10
	line, _ := appendRecord(nil, new(numbered(0)))
	for run := range 9 { // each close flushes one run; two runs fit a file
		l := openLog(t, dir, DeliveryLogOptions{MaxSize: int64(len(line) * perRun * 2), Keep: 2})
		for n := range perRun {
			l.Observe(numbered(run*perRun + n))
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	entries, _ := os.ReadDir(dir)
	var files []string
	for _, e := range entries {
		info, _ := e.Info()
		files = append(files, fmt.Sprintf("%s %d", e.Name(), info.Size()/int64(len(line))))
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", e.Name(), info.Mode())
		}
	}
	if diff := cmp.Diff([]string{"deliveries.log 10", "deliveries.log.1 20", "deliveries.log.2 20"}, files); diff != "" {
		t.Error(diff)
	}
	got := read(t, dir, DeliveryFilter{}, 1000)
	if len(got) != 50 || got[0] != "m000089" || got[49] != "m000040" {
		t.Errorf("%d records, %s to %s", len(got), got[0], got[len(got)-1])
	}
	for i := 1; i < len(got); i++ {
		if got[i] >= got[i-1] {
			t.Fatalf("%s comes before %s", got[i-1], got[i])
		}
	}
}

func TestALineThatACrashCutOffIsSkippedAndSpoilsNoOther(t *testing.T) {
	dir := t.TempDir()
	write := func(n int) {
		l := openLog(t, dir, DeliveryLogOptions{})
		l.Observe(numbered(n))
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, DeliveryLogFile)
	write(1)
	write(2)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()-7); err != nil {
		t.Fatal(err)
	}
	if got := read(t, dir, DeliveryFilter{}, 10); len(got) != 1 || got[0] != "m000001" {
		t.Errorf("before the restart: %v", got)
	}
	write(3)
	if got := read(t, dir, DeliveryFilter{}, 10); len(got) != 2 || got[0] != "m000003" || got[1] != "m000001" {
		t.Errorf("after the restart: %v", got)
	}
}

func TestADirectoryThatCannotBeWrittenIsRefusedAtOpening(t *testing.T) {
	if _, err := OpenDeliveryLog(filepath.Join(t.TempDir(), "missing"), DeliveryLogOptions{}); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
}

func TestConcurrentEventsAreAllWritten(t *testing.T) {
	dir := t.TempDir()
	l := openLog(t, dir, DeliveryLogOptions{MaxSize: 1 << 20, Keep: 100})
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for n := range 2000 {
				l.Observe(numbered(w*2000 + n))
			}
		})
	}
	for range 5 { // reading while it is written and rotated
		if _, err := ReadDeliveryLog(dir, DeliveryFilter{}, 1000); err != nil {
			t.Error(err)
		}
	}
	all.Wait()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, id := range read(t, dir, DeliveryFilter{}, 100_000) {
		seen[id] = true
	}
	if len(seen) != 16_000 {
		t.Errorf("%d records of 16000", len(seen))
	}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkDeliveryLog(b *testing.B) {
	l := openLog(b, b.TempDir(), DeliveryLogOptions{})
	e := event(pipeline.EventDelivered)
	b.ReportAllocs()
	began := cpuTime()
	for b.Loop() {
		l.Observe(e)
	}
	b.StopTimer()
	b.ReportMetric(float64((cpuTime()-began).Nanoseconds())/float64(b.N), "cpu-ns/op") // the writer's share included
	b.ReportMetric(float64(l.Dropped())/float64(b.N), "dropped/op")
	if err := l.Close(); err != nil {
		b.Error(err)
	}
}

func BenchmarkRecord(b *testing.B) {
	e := event(pipeline.EventDelivered)
	line := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		line, _ = appendRecord(line[:0], &e)
	}
}
