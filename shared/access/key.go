// Package access says who may call: access keys, what each may do, and the gate
// that judges a call by the key that signed it. Where keys are kept and how their
// secrets are sealed is for adapters, behind Store and Sealer.
package access

import (
	"strings"
	"time"

	"postino/shared/push"
)

// Key is an access key as it is kept.
type Key struct {
	ID string `json:"id"`
	// Actions are those of SNS that the key may call, as "Publish" or "List*";
	// none means all.
	Actions []string `json:"actions,omitempty"`
	// Topics are those it may call them on, names or ARNs with a "*" at the end or
	// not; none means all, and what names no topic.
	Topics []string `json:"topics,omitempty"`
	// Note is for people.
	Note      string    `json:"note,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	// Sealed is the secret as the Sealer made it.
	Sealed []byte `json:"sealed"`
}

// Allows reports whether the key may call an action on a topic. topicARN is ""
// for actions that name none ("ListTopics"); a key for some topics alone may not
// call those, as in IAM. Actions are compared without regard to case (IAM user
// guide, policy elements, Action).
func (k Key) Allows(action, topicARN string) bool {
	return allowsAction(k.Actions, action) && allowsTopic(k.Topics, topicARN)
}

func allowsAction(patterns []string, action string) bool {
	for _, p := range patterns {
		if matches(strings.ToLower(p), strings.ToLower(action)) {
			return true
		}
	}
	return len(patterns) == 0
}

func allowsTopic(patterns []string, arn string) bool {
	name := arn[strings.LastIndexByte(arn, ':')+1:]
	for _, p := range patterns {
		against := name
		if strings.HasPrefix(p, "arn:") {
			against = arn
		}
		if arn != "" && matches(p, against) {
			return true
		}
	}
	return len(patterns) == 0
}

// matches compares with a pattern that may end in "*".
func matches(pattern, s string) bool {
	if prefix, open := strings.CutSuffix(pattern, "*"); open {
		return strings.HasPrefix(s, prefix)
	}
	return pattern == s
}

// IDPrefix begins every key id, so that one is known as ours at a glance.
const IDPrefix = "POSTINO"

const (
	idLength = 20                                 // as AWS's
	alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567" // base32 (RFC 4648)
)

// validID reports whether s has the form of a key id.
func validID(s string) bool {
	random, ours := strings.CutPrefix(s, IDPrefix)
	return ours && len(s) == idLength && strings.Trim(random, alphabet) == ""
}

// unknownKey is the answer to who calls with an id that is nobody's.
func unknownKey(id string) error {
	return push.Errorf(push.CodeInvalidClientToken, "The security token included in the request is invalid: %s is no key of this installation, or no longer one.", id)
}
