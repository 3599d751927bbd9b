package sqsqueue

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"postino/shared/pipeline"
	"postino/shared/push"
)

// Limits of SQS (SQS developer guide, message quotas). They are checked here
// because one bad entry can fail a whole call, and because emulators take more
// than SQS does.
const (
	maxSize       = 1 << 20 // a message, and a batch: bodies and attributes
	maxAttributes = 10
	maxName       = 80
	maxGroup      = 128
	maxAttribute  = 256 // an attribute's name or type
)

// Check says why SQS would not take e, a *pipeline.RefusedError; nil when it
// would.
func Check(e pipeline.Outgoing) error {
	switch {
	case e.Delay < 0 || e.Delay > pipeline.MaxDelay:
		return refuse("a delay is 0 to %v, this one %v", pipeline.MaxDelay, e.Delay)
	case e.Body == "":
		return refuse("a message's body has at least one character")
	case len(e.Attributes) > maxAttributes:
		return refuse("a message has at most %d attributes, this one %d", maxAttributes, len(e.Attributes))
	case !allowed(e.Body):
		return refuse("the message's body has characters that SQS does not take")
	}
	seen := map[string]bool{}
	for _, a := range e.Attributes {
		if err := checkAttribute(a); err != nil {
			return err
		}
		if seen[a.Name] {
			return refuse("attribute %q is there twice", a.Name)
		}
		seen[a.Name] = true
	}
	if n := sizeOf(e); n > maxSize {
		return refuse("a message with its attributes has at most %d bytes, this one %d", maxSize, n)
	}
	return checkGroup(e.Group)
}

// sizeOf is what a message counts towards SQS's size limits. Base64 of binary
// values counts in full, which errs on the safe side.
func sizeOf(e pipeline.Outgoing) int {
	n := len(e.Body)
	for _, a := range e.Attributes {
		n += len(a.Name) + len(a.Type) + len(a.Value)
	}
	return n
}

func checkName(name string) error {
	if strings.HasSuffix(name, ".fifo") {
		return refuse("FIFO queues are not served: %.100q", name)
	}
	if name == "" || len(name) > maxName || strings.ContainsFunc(name, func(r rune) bool { return !alphanumeric(r) && r != '-' && r != '_' }) {
		return refuse("a queue's name has 1 to %d letters, digits, hyphens and underscores: %.100q", maxName, name)
	}
	return nil
}

// checkGroup takes letters, digits and punctuation (SQS API reference,
// MessageGroupId).
func checkGroup(group string) error {
	if len(group) > maxGroup || strings.ContainsFunc(group, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return refuse("a message group's id has at most %d letters, digits and punctuation characters: %.150q", maxGroup, group)
	}
	return nil
}

func checkAttribute(a push.Attribute) error {
	base, _, _ := strings.Cut(a.Type, ".")
	_, notBase64 := base64.StdEncoding.DecodeString(a.Value)
	switch {
	case a.Name == "" || len(a.Name) > maxAttribute,
		strings.ContainsFunc(a.Name, func(r rune) bool { return !alphanumeric(r) && r != '-' && r != '_' && r != '.' }),
		strings.HasPrefix(a.Name, ".") || strings.HasSuffix(a.Name, ".") || strings.Contains(a.Name, ".."):
		return refuse("an attribute's name has 1 to %d letters, digits, hyphens, underscores and single periods inside: %.300q", maxAttribute, a.Name)
	case strings.HasPrefix(strings.ToLower(a.Name), "aws.") || strings.HasPrefix(strings.ToLower(a.Name), "amazon."):
		return refuse("an attribute's name does not begin with AWS. or Amazon.: %q", a.Name)
	case base != "String" && base != "Number" && base != "Binary" || len(a.Type) > maxAttribute || !allowed(a.Type):
		return refuse("attribute %q has type %.300q; SQS knows String, Number and Binary", a.Name, a.Type)
	case a.Value == "":
		return refuse("attribute %q has no value", a.Name)
	case base == "Binary" && notBase64 != nil:
		return refuse("attribute %q is Binary and its value not base64", a.Name)
	case !allowed(a.Value):
		return refuse("attribute %q has characters that SQS does not take", a.Name)
	}
	return nil
}

func alphanumeric(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// allowed reports whether s is UTF-8 of #x9 | #xA | #xD | #x20 to #xD7FF |
// #xE000 to #xFFFD | #x10000 to #x10FFFF (SQS API reference, SendMessage).
func allowed(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == '\uFFFE' || r == '\uFFFF' {
			return false
		}
	}
	return true
}
