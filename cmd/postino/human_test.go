package main

import (
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"postino/shared/push"
)

func TestDurationsReadTheWayPeopleSayThem(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0ms", 12 * time.Millisecond: "12ms", 999 * time.Millisecond: "999ms", time.Second: "1s", 4500 * time.Millisecond: "4.5s",
		90 * time.Second: "1m30s", 2 * time.Minute: "2m", 59*time.Minute + 59900*time.Millisecond: "59m59s", time.Hour: "1h",
		2*time.Hour + 5*time.Minute + 59*time.Second: "2h5m", 24 * time.Hour: "1d", 100 * time.Hour: "4d4h", -time.Minute: "-1m",
	} {
		if got := span(d); got != want {
			t.Errorf("%v reads %q, want %q", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "0s", 33333 * time.Millisecond: "33.333s", 20 * time.Second: "20s", time.Minute: "1m", time.Hour: "1h", 3601 * time.Second: "1h0m1s", 3650 * time.Second: "1h0m50s", 25 * time.Hour: "1d1h",
		23*24*time.Hour + 3*time.Hour + 35*time.Minute + 33*time.Second: "23d3h35m33s", 5*time.Minute + 17*time.Millisecond: "5m17ms",
	} {
		if got := exactly(d); got != want {
			t.Errorf("%v is exactly %q, want %q", d, got, want)
		}
	}
}

func TestTextOfOthersCannotSteerTheTerminal(t *testing.T) {
	for in, want := range map[string]string{
		"plain, ünïcode 漢字\n\tok": "plain, ünïcode 漢字\n\tok", "\x1b]0;title\x07": `\u001b]0;title\u0007`, "a\rb": `a\u000db`,
		"rtl \u202e!": `rtl \u202e!`, "\u009bH": `\u009bH`, "bad\xffutf8": "bad\uFFFDutf8",
	} {
		if got := printable(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestOutcomesSayStatusAndDetailOnce(t *testing.T) {
	for want, a := range map[string]push.Attempt{
		"503 Service Unavailable":               {Status: 503},
		"503 Service Unavailable: try later":    {Status: 503, Detail: "try later"},
		"410 Gone":                              {Status: 410, Detail: "410 Gone"},
		"timeout: no answer within 15s":         {Fault: "timeout", Detail: "no answer within 15s"},
		"tls":                                   {Fault: "tls"},
		"success":                               {Class: push.Success},
		"599":                                   {Status: 599},
		"refused: connection refused by the OS": {Fault: "refused", Detail: "refused: connection refused by the OS"},
	} {
		if got := outcome(a); got != want {
			t.Errorf("%+v reads %q, want %q", a, got, want)
		}
	}
}

func TestTheVersionSaysWhatIsKnown(t *testing.T) {
	info := func(version string, settings ...string) *debug.BuildInfo {
		b := &debug.BuildInfo{Main: debug.Module{Version: version}}
		for i := 0; i < len(settings); i += 2 {
			b.Settings = append(b.Settings, debug.BuildSetting{Key: settings[i], Value: settings[i+1]})
		}
		return b
	}
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for want, b := range map[string]*debug.BuildInfo{
		"v1.2.3": info("v1.2.3"), "unreleased": info("(devel)"), "unreleased 0123456789ab": info("", "vcs.revision", commit, "vcs.modified", "false"),
		"unreleased 0123456789ab+changes": info("(devel)", "vcs.revision", commit, "vcs.modified", "true"),
	} {
		if got := versionText(b, true); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := versionText(nil, false); got != "unknown" {
		t.Errorf("got %q", got)
	}
	if got := postino(t, "", nil, "version"); got.code != exitOK || !strings.HasPrefix(got.out, "postino ") || !strings.Contains(got.out, "go1.") {
		t.Errorf("got %+v", got)
	}
}
