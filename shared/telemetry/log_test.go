package telemetry

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"postino/shared/pipeline"
	"postino/shared/push"
)

func textLogger(b *bytes.Buffer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// golden compares got with testdata/name; POSTINO_WRITE_GOLDEN=1 rewrites it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	if os.Getenv("POSTINO_WRITE_GOLDEN") != "" {
		if err := os.WriteFile("testdata/"+name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

func TestEveryEventIsOneWideLogLine(t *testing.T) {
	var b bytes.Buffer
	o := Log(textLogger(&b, slog.LevelDebug))
	for _, k := range kinds {
		o.Observe(event(k))
	}
	o.Observe(event(pipeline.EventDropped, func(e *pipeline.Event) { e.Push, e.Generation = push.SubscriptionConfirm, "g1" }))
	golden(t, "log.txt", b.String())
}

func TestAtInformationLevelOnlyWhatNeedsAttentionIsLogged(t *testing.T) {
	var b bytes.Buffer
	o := Log(textLogger(&b, slog.LevelInfo))
	for _, k := range kinds {
		o.Observe(event(k))
	}
	for kind, want := range map[pipeline.EventKind]bool{
		pipeline.EventAccepted: false, pipeline.EventDelivered: false, pipeline.EventWait: false,
		pipeline.EventRetry: true, pipeline.EventDead: true, pipeline.EventDropped: true, pipeline.EventFault: true, pipeline.EventPoison: true,
		pipeline.EventRedriven: true,
	} {
		if got := strings.Contains(b.String(), "msg="+string(kind)+" ") || strings.Contains(b.String(), "msg="+string(kind)+"\n"); got != want {
			t.Errorf("%s logged: %v", kind, got)
		}
	}
}

func TestASuccessCostsNothingWhereItIsNotLogged(t *testing.T) {
	o := Log(slog.New(slog.DiscardHandler))
	if slog.New(slog.DiscardHandler).Enabled(context.Background(), slog.LevelError) {
		t.Fatal("the discarding logger is enabled")
	}
	e := event(pipeline.EventDelivered)
	if n := testing.AllocsPerRun(100, func() { o.Observe(e) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestTextOfOthersCannotForgeALogLine(t *testing.T) {
	var b bytes.Buffer
	Log(textLogger(&b, slog.LevelInfo)).Observe(event(pipeline.EventRetry, func(e *pipeline.Event) {
		e.Attempt.Detail, e.Endpoint, e.Reason = "a\nlevel=ERROR msg=forged", "http://h/\nmsg=forged", "x\r\nmsg=forged"
	}))
	if n := strings.Count(b.String(), "\n"); n != 1 {
		t.Errorf("%d lines: %s", n, b.String())
	}
}
