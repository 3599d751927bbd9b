package redrivepolicy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode"
)

// deadLetterTarget reads the document's one member. It is read by hand because
// encoding/json matches names regardless of case and lets the last of two equal
// members win.
func deadLetterTarget(doc string) (string, error) {
	var raw json.RawMessage
	err := json.Unmarshal([]byte(doc), &raw)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return "", fmt.Errorf("failed to parse JSON. %s at byte %d", syntax.Error(), syntax.Offset)
	}
	if err != nil {
		return "", fmt.Errorf("failed to parse JSON. %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		return "", errors.New("must be a JSON object")
	}
	var target *string
	given := false
	for dec.More() {
		name, err := dec.Token()
		switch {
		case err != nil:
			return "", fmt.Errorf("failed to parse JSON. %w", err)
		case name != "deadLetterTargetArn":
			return "", fmt.Errorf("invalid JSON. Attribute %s is unknown.", printable(fmt.Sprint(name))) //nolint:staticcheck // SNS's own text
		case given:
			return "", errors.New("invalid JSON. Attribute deadLetterTargetArn is given twice.") //nolint:staticcheck // in the form of SNS's text
		}
		given = true
		if err := dec.Decode(&target); err != nil {
			return "", errors.New("deadLetterTargetArn must be a string")
		}
	}
	if target == nil {
		return "", errors.New("deadLetterTargetArn must be specified")
	}
	return *target, nil
}

// printable cuts a name that came from the caller and replaces what a terminal
// or an XML answer could not show.
func printable(name string) string {
	const longest = 80
	shown := []rune(name)
	if len(shown) > longest {
		shown = append(shown[:longest], '…')
	}
	for i, r := range shown {
		if !unicode.IsPrint(r) {
			shown[i] = unicode.ReplacementChar
		}
	}
	return string(shown)
}
