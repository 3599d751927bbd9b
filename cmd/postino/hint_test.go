package main

import (
	"strings"
	"testing"

	"postino/shared/operator"
)

func TestHintsRepeatTheTargetThatWasGiven(t *testing.T) {
	const text = "There is none: `postino dlq list` shows those, `postino pause` and `postino keys add --stack other` too; `postino serve` is no such command"
	for target, want := range map[string]string{
		"":           text,
		" --stack s": "There is none: `postino dlq list --stack s` shows those, `postino pause --stack s` and `postino keys add --stack other` too; `postino serve` is no such command",
	} {
		if got := (&App{target: target}).withTarget(text); got != want {
			t.Errorf("%q: %s", target, got)
		}
	}
	dir := server(t, map[string]any{"POST subscriptions/%60postino%20dlq%60/pause": operator.Subscription{ARN: "`postino dlq`", Changed: true}})
	got := postino(t, "", nil, "pause", "`postino dlq`", "--data", dir)
	if !strings.Contains(got.out, "until `postino resume `postino dlq` --data DIR`.") {
		t.Errorf("what others wrote is changed: %+v", got)
	}
	// Where the directory comes from a variable, the next command finds it so too.
	got = postino(t, "", map[string]string{"POSTINO_DATA": dir}, "pause", "`postino dlq`")
	if strings.Contains(got.out, dir) {
		t.Errorf("got %+v", got)
	}
	var out strings.Builder
	(&App{Out: &out, target: " --data 100%s"}).hintf("`postino resume %s`", "x")
	if out.String() != "`postino resume x --data 100%s`\n" {
		t.Errorf("said %q", out.String())
	}
}
