package push

import (
	"encoding/json"
	"unicode"
	"unicode/utf8"
)

// Limits of a publication (SNS API reference, Publish).
const (
	// MaxPublication is the most bytes of message and attributes together, for
	// one publication and for all entries of a batch.
	MaxPublication = 262144
	// MaxSubject is the most characters of a subject: "less than 100".
	MaxSubject = 99
)

// Validate refuses what SNS refuses of a publication to a standard topic, as
// *Error with SNS's code and text. It looks at, in this order: subject, message,
// attributes, size, message structure. The first fault found is answered.
//
// Everything a publisher wrote must be valid UTF-8, because it is delivered in
// JSON: bytes that are not would reach subscribers changed.
func (p Publication) Validate() error {
	if p.Subject != nil && !validSubject(*p.Subject) {
		return Invalid("Subject")
	}
	if p.Message == "" {
		return Invalid("Empty message")
	}
	if !utf8.ValidString(p.Message) {
		return Invalid("Message Reason: must be valid UTF-8")
	}
	if err := validateAttributes(p.Attributes); err != nil {
		return err
	}
	if p.Size() > MaxPublication {
		return Invalid("Message too long")
	}
	return p.validateStructure()
}

// validSubject: UTF-8 text without line breaks or control characters, fewer
// than 100 characters, not empty (SNS API reference, Publish).
func validSubject(s string) bool {
	if s == "" || !utf8.ValidString(s) || utf8.RuneCountInString(s) > MaxSubject {
		return false
	}
	for _, r := range s {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return false
		}
	}
	return true
}

func (p Publication) validateStructure() error {
	switch p.Structure {
	case "":
		return nil
	case "json":
	default:
		return Invalid("MessageStructure")
	}
	texts, err := p.texts()
	if err != nil {
		return &Error{Code: CodeInvalidParameter, Text: "Invalid parameter: Message Structure - JSON message body failed to parse", Cause: err}
	}
	if _, ok := texts[defaultText]; !ok {
		return Invalid("Message Structure - No default entry in JSON message body")
	}
	// An empty text would be an empty raw body, which no dead-letter queue takes.
	for _, key := range []string{defaultText, string(HTTP), string(HTTPS)} {
		if text, ok := texts[key]; ok && text == "" {
			return Invalid("Empty message")
		}
	}
	return nil
}

// defaultText is the key for protocols without a text of their own.
const defaultText = "default"

// texts are the members of a structured message that are strings; SNS ignores
// the others.
func (p Publication) texts() (map[string]string, error) {
	var members map[string]any
	if err := json.Unmarshal([]byte(p.Message), &members); err != nil {
		return nil, err
	}
	texts := make(map[string]string, len(members))
	for key, value := range members {
		if text, ok := value.(string); ok {
			texts[key] = text
		}
	}
	return texts, nil
}

// BodyFor gives the text for subscribers of a protocol: the message itself, or
// with MessageStructure "json" the protocol's own member, else the default one.
// It parses the message each time; ask once per protocol. A publication that
// Validate refuses gets its message back as it is.
func (p Publication) BodyFor(protocol Protocol) string {
	if p.Structure != "json" {
		return p.Message
	}
	texts, err := p.texts()
	if err != nil {
		return p.Message
	}
	if text, ok := texts[string(protocol)]; ok {
		return text
	}
	if text, ok := texts[defaultText]; ok {
		return text
	}
	return p.Message
}

// Size is what counts against MaxPublication, in bytes: the message, and of each
// attribute its name, type and value (of a Binary one the bytes, not their
// base64). The subject does not count.
func (p Publication) Size() int {
	n := len(p.Message)
	for _, a := range p.Attributes {
		n += a.size()
	}
	return n
}
