package deliverypolicy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// The documents are walked by hand rather than unmarshalled into structs,
// because encoding/json matches names regardless of case, lets the last of two
// equal members win and knows no field paths.
//
// A member that is null counts as absent at every level, for SNS itself prints
// nulls for what is unset.

// document checks that doc is one JSON value and nothing else.
func document(doc string) (json.RawMessage, error) {
	var raw json.RawMessage
	err := json.Unmarshal([]byte(doc), &raw)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return nil, fmt.Errorf("failed to parse JSON. %s at byte %d", syntax.Error(), syntax.Offset)
	}
	if err != nil {
		return nil, fmt.Errorf("failed to parse JSON. %w", err)
	}
	return raw, nil
}

// eachMember calls read for every member of a JSON object, in order, with the
// member's full path. It stops at read's first error, and refuses a name that
// comes twice. read must refuse unknown names, which bounds the names seen.
// Errors name path; "" stands for the document itself.
func eachMember(path string, raw json.RawMessage, read func(path, name string, value json.RawMessage) error) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		return errors.New(strings.TrimLeft(path+" must be a JSON object", " "))
	}
	var seen []string
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return fmt.Errorf("failed to parse JSON. %w", err)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return fmt.Errorf("failed to parse JSON. %w", err)
		}
		name, _ := token.(string) // a key is always a string
		full := strings.TrimLeft(path+"."+name, ".")
		if slices.Contains(seen, name) {
			return fmt.Errorf("Duplicate JSON member: %s", full) //nolint:staticcheck // in the form of SNS's text
		}
		seen = append(seen, name)
		if err := read(full, name, bytes.TrimSpace(value)); err != nil {
			return err
		}
	}
	return nil
}

// unexpected refuses a member that has no place where it stands. The text is
// SNS's; the name comes from the caller, so it is cut and made printable.
func unexpected(path string) error {
	const longest = 80
	shown := []rune(path)
	if len(shown) > longest {
		shown = append(shown[:longest], '…')
	}
	for i, r := range shown {
		if !unicode.IsPrint(r) {
			shown[i] = unicode.ReplacementChar
		}
	}
	return fmt.Errorf("Unexpected JSON member: %s", string(shown)) //nolint:staticcheck // SNS's own text
}

func null(raw json.RawMessage) bool { return string(raw) == "null" }

// integer reads a whole number in plain digits, nil for null. 3.0 and 1e2 are
// refused: no SDK writes them, and a half-understood number is worse than none.
// A number beyond int becomes the nearest int, for the range checks to refuse.
func integer(path string, raw json.RawMessage) (*int, error) {
	if null(raw) {
		return nil, nil
	}
	n, err := strconv.ParseInt(string(raw), 10, strconv.IntSize)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil, fmt.Errorf("%s must be an integer", path)
	}
	whole := int(n)
	return &whole, nil
}

// text reads a string, "" for null.
func text(path string, raw json.RawMessage) (string, error) {
	if !null(raw) && raw[0] != '"' {
		return "", fmt.Errorf("%s must be a string", path)
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err
}

// boolean reads true or false, false for null.
func boolean(path string, raw json.RawMessage) (bool, error) {
	switch string(raw) {
	case "true":
		return true, nil
	case "false", "null":
		return false, nil
	}
	return false, fmt.Errorf("%s must be true or false", path)
}
