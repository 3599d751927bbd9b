package snsapi

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"postino/shared/push"
)

func TestRefusalsAreLoggedAtInfoAndTheRestAtDebug(t *testing.T) {
	b := newBench(t)
	var logged strings.Builder
	b.Log = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b.post("Action", "Publish", "Message", "a private text", "TopicArn", absent)
	b.post("Action", "ListTopics")
	if !strings.Contains(logged.String(), `level=INFO msg="request refused" action=Publish`) || !strings.Contains(logged.String(), `level=DEBUG msg="request served" action=ListTopics`) {
		t.Errorf("logged %s", logged.String())
	}
	if strings.Contains(logged.String(), "private") {
		t.Error("a message's text was logged")
	}
}

func TestAFloodOfRefusalsIsLoggedInPart(t *testing.T) {
	for name, c := range map[string]struct {
		flood func(*bench)
		want  int
	}{
		"refused by the gate": {func(b *bench) {
			b.Gate = &fakeGate{err: push.Errorf(push.CodeInvalidClientToken, "no")}
			b.post("Action", "ListTopics")
		}, refusalBurst},
		"links with made-up tokens": {func(b *bench) {
			b.get("Action", "ConfirmSubscription", "TopicArn", topicT, "Token", "x")
		}, refusalBurst},
		"no requests at all": {func(b *bench) { b.Serve(t.Context(), Request{Method: "PUT", Path: "/"}) }, refusalBurst},
		"signed with a key": {func(b *bench) {
			b.Gate = &fakeGate{key: "POSTINO"}
			b.post("Action", "Publish", "Message", "m", "TopicArn", absent)
		}, 45_000},
	} {
		b := newBench(t)
		var logged strings.Builder
		b.Log = slog.New(slog.NewTextHandler(&logged, nil))
		for range 45_000 {
			c.flood(b)
		}
		if got := strings.Count(logged.String(), "request refused"); got != c.want {
			t.Errorf("%s: %d lines, want %d", name, got, c.want)
		}
		logged.Reset()
		b.clock = b.clock.Add(refusalEvery)
		c.flood(b)
		if c.want == refusalBurst && !strings.Contains(logged.String(), "unlogged=44980") {
			t.Errorf("%s: afterwards %s", name, logged.String())
		}
		b.clock = b.clock.Add(-time.Hour)
		logged.Reset()
		if c.flood(b); !strings.Contains(logged.String(), "request refused") {
			t.Errorf("%s: none once the clock was set back", name)
		}
	}
}
