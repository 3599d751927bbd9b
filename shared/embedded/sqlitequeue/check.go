package sqlitequeue

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"postino/shared/pipeline"
	"postino/shared/push"
)

// Limits of SQS (SQS developer guide, message quotas).
const (
	maxSize       = 1 << 20 // body and attributes together
	maxAttributes = 10
	maxName       = 80
	maxGroup      = 128
	maxAttribute  = 256 // an attribute's name or type
)

func refuse(format string, args ...any) error {
	return &pipeline.RefusedError{Reason: fmt.Sprintf(format, args...)}
}

// queueName takes a plain name or an SQS ARN, whose region and account mean
// nothing here.
func queueName(s string) (string, error) {
	name := s
	if strings.HasPrefix(s, "arn:") {
		arn, err := push.ParseARN(s)
		if err != nil || arn.Service != "sqs" {
			return "", refuse("%.200q is not the ARN of an SQS queue", s)
		}
		name = arn.Resource
	}
	if strings.HasSuffix(name, ".fifo") {
		return "", refuse("FIFO queues are not served: %.100q", name)
	}
	if name == "" || len(name) > maxName {
		return "", refuse("a queue's name has 1 to %d characters, this one %d", maxName, len(name))
	}
	for i := range len(name) {
		if c := name[i]; !alphanumeric(c) && c != '-' && c != '_' {
			return "", refuse("a queue's name holds letters, digits, hyphens and underscores: %.100q", name)
		}
	}
	return name, nil
}

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// check says why SQS would not take e, nil when it would.
func check(e pipeline.Outgoing) error {
	if e.Delay < 0 || e.Delay > pipeline.MaxDelay {
		return refuse("a delay is 0 to %v, this one %v", pipeline.MaxDelay, e.Delay)
	}
	if e.Body == "" {
		return refuse("a message's body has at least one character")
	}
	size := len(e.Body)
	if len(e.Attributes) > maxAttributes {
		return refuse("a message has at most %d attributes, this one %d", maxAttributes, len(e.Attributes))
	}
	for i, a := range e.Attributes {
		if err := checkAttribute(a); err != nil {
			return err
		}
		for _, b := range e.Attributes[:i] {
			if a.Name == b.Name {
				return refuse("attribute %q is there twice", a.Name)
			}
		}
		size += len(a.Name) + len(a.Type) + len(a.Value)
	}
	if size > maxSize {
		return refuse("a message with its attributes has at most %d bytes, this one %d", maxSize, size)
	}
	if !allowed(e.Body) {
		return refuse("the message's body has characters that SQS does not take")
	}
	return checkGroup(e.Group)
}

func checkGroup(group string) error {
	if len(group) > maxGroup {
		return refuse("a message group's id has at most %d characters, this one %d", maxGroup, len(group))
	}
	for i := range len(group) {
		if c := group[i]; c <= ' ' || c > '~' {
			return refuse("a message group's id holds letters, digits and punctuation: %q", group)
		}
	}
	return nil
}

func checkAttribute(a push.Attribute) error {
	switch {
	case a.Name == "" || len(a.Name) > maxAttribute:
		return refuse("an attribute's name has 1 to %d characters, this one %d", maxAttribute, len(a.Name))
	case strings.HasPrefix(a.Name, ".") || strings.HasSuffix(a.Name, ".") || strings.Contains(a.Name, ".."):
		return refuse("an attribute's name neither starts nor ends with a period nor has two in a row: %q", a.Name)
	case a.Value == "":
		return refuse("attribute %q has no value", a.Name)
	case len(a.Type) > maxAttribute || !allowed(a.Type) || !allowed(a.Value):
		return refuse("attribute %q has characters that SQS does not take", a.Name)
	}
	for i := range len(a.Name) {
		if c := a.Name[i]; !alphanumeric(c) && c != '-' && c != '_' && c != '.' {
			return refuse("an attribute's name holds letters, digits, hyphens, underscores and periods: %q", a.Name)
		}
	}
	if base, _, _ := strings.Cut(a.Type, "."); base != "String" && base != "Number" && base != "Binary" {
		return refuse("attribute %q has type %q; SQS knows String, Number and Binary", a.Name, a.Type)
	}
	return nil
}

// allowed reports whether s is UTF-8 of #x9 | #xA | #xD | #x20 to #xD7FF |
// #xE000 to #xFFFD | #x10000 to #x10FFFF (SQS API reference, SendMessage).
func allowed(s string) bool {
	for i := 0; i < len(s); {
		if n := plain(s[i:]); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1, r == '\uFFFE', r == '\uFFFF':
			return false
		case r < ' ' && r != '\t' && r != '\n' && r != '\r':
			return false
		}
		i += n
	}
	return true
}

// plain is how many bytes at the start of s are ASCII above the controls, in
// steps of eight: jobs are long and have little else.
func plain(s string) (n int) {
	const high, space = 0x8080808080808080, 0x2020202020202020
	for ; len(s) >= 8; s = s[8:] {
		w := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		if (w|(w-space))&high != 0 { // a byte with its top bit, or one below space
			return n
		}
		n += 8
	}
	return n
}
