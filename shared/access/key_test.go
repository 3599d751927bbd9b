package access

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"postino/shared/push"
)

func TestWhatAKeyAllows(t *testing.T) {
	for _, c := range []struct {
		actions, topics string
		action, topic   string
		want            bool
	}{
		{"", "", "Publish", orders, true},
		{"", "", "ListTopics", "", true},
		{"Publish", "", "Publish", orders, true},
		{"publish", "", "PUBLISH", orders, true},
		{"Publish", "", "PublishBatch", orders, false},
		{"Publish*", "", "PublishBatch", orders, true},
		{"List*", "", "ListTopics", "", true},
		{"List*", "", "Publish", orders, false},
		{"", "orders", "Publish", orders, true},
		{"", "orders", "Publish", orders + "2", false},
		{"", "orders", "ListTopics", "", false},
		{"", "orders*", "Publish", orders + "2", true},
		{"", "ord*", "Publish", invoices, false},
		{"", orders, "Publish", orders, true},
		{"", orders, "Publish", invoices, false},
		{"", orders + "*", "Publish", orders + "2", true},
		{"", "arn:aws:sns:us-east-1:000000000000:*", "Publish", invoices, true},
		{"", "arn:aws:sns:us-east-1:000000000000:*", "ListTopics", "", false},
		{"", "Orders", "Publish", orders, false},
		{"", "orders,invoices", "Publish", invoices, true},
		{"Publish", "invoices", "Publish", orders, false},
		{"ListTopics", "invoices", "Publish", invoices, false},
		{"", "orders", "Publish", "no ARN", false},
		{"", "a*", "Publish", "arn:aws:sns:us-east-1:000000000000:", false},
	} {
		k := Key{Actions: list(c.actions), Topics: list(c.topics)}
		if got := k.Allows(c.action, c.topic); got != c.want {
			t.Errorf("a key for %q on %q: %s on %q is %v", c.actions, c.topics, c.action, c.topic, got)
		}
	}
}

func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

func TestAGrantIsWrittenInOneWayOrRefused(t *testing.T) {
	long := strings.Repeat("x", 257)
	for _, c := range []struct {
		actions, topics, note string
		says                  string // "" accepts
		kept                  string
	}{
		{"", "", "", "", "[] [] "},
		{"publish,sns:LISTTOPICS", "orders", " for the shop ", "", "[ListTopics Publish] [orders] for the shop"},
		{"Publish,publish", "b,a,b", "", "", "[Publish] [a b] "},
		{"sns:list*", orders + "*", "", "", "[List*] [" + orders + "*] "},
		{"Publish,*", "orders,*", "", "", "[] [] "},
		{"sns:*", "", "", "", "[] [] "},
		{"", "orders.fifo", "", "", "[] [orders.fifo] "},
		{"Publsh", "", "", `"Publsh" is no action of SNS`, ""},
		{"Publ", "", "", `"Publ" is no action of SNS`, ""},
		{"Make*", "", "", `"Make*" is no action of SNS`, ""},
		{"sns:", "", "", `"sns:" is no action of SNS`, ""},
		{"sqs:Publish", "", "", `"sqs:Publish" is no action of SNS`, ""},
		{"*Topics", "", "", `"*Topics" is no action of SNS`, ""},
		{"", "a b", "", `"a b" is no topic`, ""},
		{"", "*a", "", `"*a" is no topic`, ""},
		{"", "a.b", "", `"a.b" is no topic`, ""},
		{"", long, "", "is no topic", ""},
		{"", "arn:aws:sns:us-east-1:000000000000:", "", "is no topic", ""},
		{"", "arn:aws:sns:eu-west-1:000000000000:a", "", "is no topic of this installation, whose ARNs begin with arn:aws:sns:us-east-1:000000000000:", ""},
		{"", "arn:aws:sns:us-east-1:111111111111:a", "", "is no topic of this installation", ""},
		{"", orders + ":11111111-2222-4333-8444-555555555555", "", "is no topic", ""},
		{"", "", long, "at most 256 characters", ""},
		{"", "", "two\nlines", "on one line", ""},
		{"", "", "\xff", "must be text", ""},
	} {
		g, err := newWorld().Scope.check(Grant{Actions: list(c.actions), Topics: list(c.topics), Note: c.note})
		if c.says != "" {
			wantCode(t, c.actions+" "+c.topics+" "+c.note, err, push.CodeInvalidParameter, c.says)
		} else if kept := fmt.Sprint(g.Actions, " ", g.Topics, " ", g.Note); err != nil || kept != c.kept {
			t.Errorf("%q on %q is kept as %q (%v), want %q", c.actions, c.topics, kept, err, c.kept)
		}
	}
	many := slices.Repeat([]string{"a"}, 101)
	_, err := newWorld().Scope.check(Grant{Topics: many})
	wantCode(t, "101 topics", err, push.CodeInvalidParameter, "at most 50 actions and 100 topics")
	_, err = newWorld().Scope.check(Grant{Topics: []string{""}})
	wantCode(t, "an empty topic", err, push.CodeInvalidParameter, "is no topic")
	_, err = newWorld().Scope.check(Grant{Actions: []string{""}})
	wantCode(t, "an empty action", err, push.CodeInvalidParameter, "is no action")
}

// TestALimitedKeyNeverReachesWhatItsPatternsDoNotName compares with patterns read
// as what they mean.
func TestALimitedKeyNeverReachesWhatItsPatternsDoNotName(t *testing.T) {
	name := rapid.StringMatching(`[ab]{1,3}`)
	rapid.Check(t, func(r *rapid.T) {
		var g Grant
		for range rapid.IntRange(1, 3).Draw(r, "topics") {
			topic := name.Draw(r, "topic")
			if rapid.Bool().Draw(r, "whole") {
				topic = "arn:aws:sns:us-east-1:000000000000:" + topic
			}
			if rapid.Bool().Draw(r, "open") {
				topic += "*"
			}
			g.Topics = append(g.Topics, topic)
		}
		kept, err := newWorld().Scope.check(g)
		if err != nil {
			r.Fatal(err)
		}
		asked := "arn:aws:sns:us-east-1:000000000000:" + name.Draw(r, "asked")
		want := slices.ContainsFunc(g.Topics, func(p string) bool {
			if !strings.HasPrefix(p, "arn:") {
				p = "arn:aws:sns:us-east-1:000000000000:" + p
			}
			return regexp.MustCompile("^" + strings.ReplaceAll(p, "*", ".*") + "$").MatchString(asked)
		})
		if got := (Key{Topics: kept.Topics}).Allows("Publish", asked); got != want {
			r.Fatalf("a key for %v allows %s: %v", g.Topics, asked, got)
		}
	})
}
