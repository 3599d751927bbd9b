package main

import (
	"regexp"
	"strings"
)

// targeted are the commands of ours that a text may tell to use and that ask a
// Postino, between backquotes.
var targeted = regexp.MustCompile("`postino (?:deliveries|dlq|publish|send-test|pause|resume|env|keys)\\b[^`]*`")

// withTarget makes the commands that text names ask what this command asked: it
// repeats the flag that was given.
func (a *App) withTarget(text string) string {
	if a.target == "" {
		return text
	}
	return targeted.ReplaceAllStringFunc(text, func(command string) string {
		for _, flag := range []string{" --data", " --stack", " --table"} {
			if strings.Contains(command, flag) {
				return command
			}
		}
		return strings.TrimSuffix(command, "`") + a.target + "`"
	})
}

// hintf is sayf for a line that names commands.
func (a *App) hintf(format string, args ...any) {
	escaped := App{target: strings.ReplaceAll(a.target, "%", "%%")}
	a.sayf(escaped.withTarget(format), args...)
}
