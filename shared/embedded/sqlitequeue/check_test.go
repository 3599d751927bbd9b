package sqlitequeue

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"postino/shared/pipeline"
)

// slowAllowed is the rule as SQS states it, rune by rune.
func slowAllowed(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		ok := r == 0x9 || r == 0xA || r == 0xD || r >= 0x20 && r <= 0xD7FF || r >= 0xE000 && r <= 0xFFFD || r >= 0x10000 && r <= 0x10FFFF
		if !ok {
			return false
		}
	}
	return true
}

func TestCharactersAreJudgedAsSQSDoes(t *testing.T) {
	for b := range 256 { // every byte at every place of a word
		for at := range 17 {
			s := []byte(strings.Repeat("a", 17))
			s[at] = byte(b)
			if got, want := allowed(string(s)), slowAllowed(string(s)); got != want {
				t.Errorf("byte %#x at %d: %v, want %v", b, at, got, want)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.RuneFrom([]rune("ab\x00\x1f \t\n\r\x7f\u0080\ud7ff\ue000\ufffd\ufffe\uffff\U00010000")))).Draw(t, "s")
		if got, want := allowed(s), slowAllowed(s); got != want {
			t.Fatalf("%q: %v, want %v", s, got, want)
		}
	})
}

func TestQueueNamesAreNamesOrARNs(t *testing.T) {
	for in, want := range map[string]string{
		"jobs":                                   "jobs",
		"Jobs_2-x":                               "Jobs_2-x",
		"arn:aws:sqs:eu-west-1:123456789012:dlq": "dlq",
		"arn:aws-cn:sqs::x:dlq":                  "dlq",
		strings.Repeat("q", 80):                  strings.Repeat("q", 80),
	} {
		if got, err := queueName(in); got != want || err != nil {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
	for _, in := range []string{
		"", "a b", "a/b", "a.b", "jobs.fifo", "arn:aws:sqs:r:a:jobs.fifo", "arn:aws:sns:r:a:topic", "arn:aws:sqs", "arn:aws:sqs:r:a:", "arn:aws:sqs:r:a:x:y",
		strings.Repeat("q", 81), "\u00fc",
	} {
		if _, ok := pipeline.Refused(func() error { _, err := queueName(in); return err }()); !ok {
			t.Errorf("%q was taken for a queue's name", in)
		}
	}
}
