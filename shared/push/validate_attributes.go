package push

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxAttributeName is the longest name and the longest type of an attribute, in
// bytes (SNS developer guide, message attributes).
const maxAttributeName = 256

func validateAttributes(attributes []Attribute) error {
	seen := make(map[string]bool, len(attributes))
	for _, a := range attributes {
		if text := nameFault(a.Name); text != "" {
			return Errorf(CodeParameterValueInvalid, "%s", text)
		}
		// A JSON object with a name twice is read differently by every subscriber.
		if seen[a.Name] {
			return Errorf(CodeParameterValueInvalid, "Message attribute name '%s' already exists.", a.Name)
		}
		seen[a.Name] = true
		if text := a.fault(); text != "" {
			return Errorf(CodeParameterValueInvalid, "%s", text)
		}
	}
	return nil
}

// nameFault is SNS's text for a bad attribute name, "" for a good one: letters,
// digits, hyphens, underscores and single inner dots, at most 256 bytes.
func nameFault(name string) string {
	switch {
	case name == "":
		return "The request must contain non-empty message attribute name."
	case len(name) > maxAttributeName:
		return "Length of message attribute name must be less than 256 bytes."
	case name[0] == '.':
		return "Invalid message attribute name starting with character '.' was found."
	case name[len(name)-1] == '.':
		return "Invalid message attribute name ending with character '.' was found."
	}
	for i, r := range name {
		if !nameRune(r) {
			return fmt.Sprintf("Invalid non-alphanumeric character '#x%X' was found in the message attribute name. "+
				"Can only include alphanumeric characters, hyphens, underscores, or dots.", r)
		}
		if r == '.' && name[i-1] == '.' {
			return "Message attribute name can not have successive '.' character."
		}
	}
	return ""
}

func nameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.'
}

// fault is SNS's text for a bad type or value, "" for a good attribute.
func (a Attribute) fault() string {
	base, label, labelled := strings.Cut(a.Type, ".")
	known := base == "String" || base == "Number" || base == "Binary"
	if !known || labelled && label == "" || len(a.Type) > maxAttributeName || strings.ContainsFunc(label, func(r rune) bool { return !nameRune(r) }) {
		return "The message attribute '" + a.Name + "' has an invalid message attribute type, " +
			"the set of supported type prefixes is Binary, Number, and String."
	}
	if a.Value == "" {
		return "The message attribute '" + a.Name + "' must contain non-empty message attribute value " +
			"for message attribute type '" + a.Type + "'."
	}
	switch {
	case base == "Binary":
		if _, err := base64.StdEncoding.DecodeString(a.Value); err != nil {
			return "The message attribute '" + a.Name + "' must hold its binary value in base64."
		}
	case !utf8.ValidString(a.Value):
		return "The message attribute '" + a.Name + "' must be valid UTF-8."
	case base == "Number" && !decimal(a.Value):
		return "Could not cast message attribute '" + a.Name + "' value to number."
	}
	return ""
}

// Binary reports whether the attribute's value is base64.
func (a Attribute) Binary() bool { return a.Type == "Binary" || strings.HasPrefix(a.Type, "Binary.") }

func (a Attribute) size() int {
	n := len(a.Value)
	if a.Binary() {
		n = base64.StdEncoding.DecodedLen(n) - strings.Count(a.Value[max(0, n-2):], "=")
	}
	return len(a.Name) + len(a.Type) + n
}

// decimal reports whether s is a decimal number: sign, digits, fraction and
// exponent, but none of the hexadecimal or named forms that Go would read.
func decimal(s string) bool {
	if s[0] == '+' || s[0] == '-' {
		s = s[1:]
	}
	mantissa, exponent, scientific := s, "", false
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, exponent, scientific = s[:i], s[i+1:], true
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if !digits(whole + fraction) {
		return false
	}
	if !scientific {
		return true
	}
	if exponent != "" && (exponent[0] == '+' || exponent[0] == '-') {
		exponent = exponent[1:]
	}
	return digits(exponent)
}

// digits reports whether s is one or more ASCII digits.
func digits(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}
