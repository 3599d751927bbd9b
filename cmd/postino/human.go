package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"postino/shared/push"
)

// span writes a duration the way people say it: 12ms, 4.5s, 1m30s, 2h5m, 23d4h.
func span(d time.Duration) string {
	if d < 0 {
		return "-" + span(-d)
	}
	switch {
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < time.Minute:
		return strconv.FormatFloat(float64(d.Round(100*time.Millisecond))/1e9, 'f', -1, 64) + "s"
	case d < time.Hour:
		return twoUnits(d, time.Minute, "m", time.Second, "s")
	case d < 24*time.Hour:
		return twoUnits(d, time.Hour, "h", time.Minute, "m")
	default:
		return twoUnits(d, 24*time.Hour, "d", time.Hour, "h")
	}
}

func twoUnits(d, big time.Duration, bigName string, small time.Duration, smallName string) string {
	d = d.Truncate(small)
	s := strconv.FormatInt(int64(d/big), 10) + bigName
	if rest := d % big / small; rest > 0 {
		s += strconv.FormatInt(int64(rest), 10) + smallName
	}
	return s
}

// when writes a time in UTC (RFC 3339, whole seconds), "-" for none.
func when(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// whenExactly is when with milliseconds.
func whenExactly(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// due writes how far t lies ahead, or how long ago it passed.
func due(t, now time.Time) string {
	if now.Sub(t).Abs() < time.Millisecond {
		return "now"
	}
	if t.Before(now) {
		return span(now.Sub(t)) + " ago"
	}
	return "in " + span(t.Sub(now))
}

// ahead is due for what has not happened yet: what should have is overdue.
func ahead(t, now time.Time) string {
	if late := now.Sub(t); late >= time.Millisecond {
		return "overdue by " + span(late)
	}
	return due(t, now)
}

// count writes n with its noun: "1 message", "3 messages".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// shortSubscription is what a table has room for: the topic's name and the
// first eight characters of the subscription's id, which commands understand.
func shortSubscription(arn string) string {
	a, err := push.ParseARN(arn)
	if err != nil {
		return printable(arn)
	}
	id := a.SubscriptionID()
	return printable(a.Name() + ":" + id[:min(8, len(id))])
}

// printable shows what publishers and endpoints wrote without letting them
// steer the terminal: control characters but newline and tab are spelt out.
func printable(s string) string {
	plain := func(r rune) bool { return r == '\n' || r == '\t' || unicode.IsPrint(r) }
	if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if plain(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
