package access

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"postino/shared/push"
)

// Grant is what a new key shall be good for; its members are Key's.
type Grant struct {
	Actions []string `json:"actions,omitempty"`
	Topics  []string `json:"topics,omitempty"`
	Note    string   `json:"note,omitempty"`
}

// Bounds of a grant, so that a key stays an item that costs one read.
const (
	maxActions = 50
	maxTopics  = 100
	maxNote    = 256
)

// Scope is what grants are judged by.
type Scope struct {
	// Actions are the names of all that there are.
	Actions []string
	// Region and Account are the ones in topic ARNs.
	Region, Account string
}

// check judges g and writes it in one way: actions as SNS spells them and without
// "sns:", nothing twice, and a list that allows all as none.
func (s Scope) check(g Grant) (Grant, error) {
	out := Grant{Note: strings.TrimSpace(g.Note)}
	if len(g.Actions) > maxActions || len(g.Topics) > maxTopics {
		return out, push.Errorf(push.CodeInvalidParameter, "A key has at most %d actions and %d topics: shorten them with *", maxActions, maxTopics)
	}
	if utf8.RuneCountInString(out.Note) > maxNote || !utf8.ValidString(out.Note) || strings.ContainsFunc(out.Note, unicode.IsControl) {
		return out, push.Errorf(push.CodeInvalidParameter, "The note must be text of at most %d characters on one line", maxNote)
	}
	for _, a := range g.Actions {
		known, err := s.action(a)
		if err != nil {
			return out, err
		}
		out.Actions = append(out.Actions, known)
	}
	for _, t := range g.Topics {
		if err := s.topic(t); err != nil {
			return out, err
		}
		out.Topics = append(out.Topics, t)
	}
	out.Actions, out.Topics = tidy(out.Actions), tidy(out.Topics)
	return out, nil
}

func tidy(patterns []string) []string {
	if slices.Contains(patterns, "*") {
		return nil
	}
	slices.Sort(patterns)
	return slices.Compact(patterns)
}

// action finds the action, or those, that a means. One that allows nothing is a
// slip of the pen.
func (s Scope) action(a string) (string, error) {
	bare := a
	if len(a) > 4 && strings.EqualFold(a[:4], "sns:") {
		bare = a[4:]
	}
	prefix, open := strings.CutSuffix(bare, "*")
	for _, known := range s.Actions {
		switch {
		case !open && strings.EqualFold(known, bare):
			return known, nil
		case open && len(prefix) <= len(known) && strings.EqualFold(known[:len(prefix)], prefix):
			return known[:len(prefix)] + "*", nil
		}
	}
	return "", push.Errorf(push.CodeInvalidParameter, "%q is no action of SNS: give one like Publish, several like List*, or leave actions out for all", push.Clip(a))
}

const nameLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

// topic judges a topic's name or ARN, or the beginning of one with a *.
func (s Scope) topic(t string) error {
	name := strings.TrimSuffix(t, "*")
	if strings.HasPrefix(t, "arn:") {
		own := fmt.Sprintf("arn:%s:sns:%s:%s:", push.Partition(s.Region), s.Region, s.Account)
		rest, ours := strings.CutPrefix(name, own)
		if !ours {
			return push.Errorf(push.CodeInvalidParameter, "%q is no topic of this installation, whose ARNs begin with %s: give such an ARN, or the topic's name", push.Clip(t), own)
		}
		name = rest
	}
	bare := strings.TrimSuffix(name, ".fifo")
	if t == "" || len(name) > 256 || strings.Trim(bare, nameLetters) != "" || name == "" && !strings.HasSuffix(t, "*") {
		return push.Errorf(push.CodeInvalidParameter, "%q is no topic: give a name or an ARN, with a * at its end for all that begin so", push.Clip(t))
	}
	return nil
}
