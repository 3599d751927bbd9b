package sigv4

import (
	"net/url"
	"strings"
)

// EncodingError is a percent-encoding that cannot be read.
type EncodingError struct {
	// Name is the parameter whose value it is in; InName says that it is in the name.
	Name   string
	InName bool
}

func (e *EncodingError) Error() string { return "a broken percent-encoding" }

// EachParameter hands on the parameters of a query string or form in their order,
// until each fails. What is signed and what is served are read by it alike:
// url.ParseQuery would leave out what it cannot read, and with it out of what is
// signed.
func EachParameter(raw string, each func(name, value string) error) error {
	for raw != "" {
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		if pair == "" {
			continue
		}
		k, v, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(k)
		if err != nil {
			return &EncodingError{InName: true}
		}
		value, err := url.QueryUnescape(v)
		if err != nil {
			return &EncodingError{Name: name}
		}
		if err := each(name, value); err != nil {
			return err
		}
	}
	return nil
}

// parseQuery reads a whole query string.
func parseQuery(raw string) (url.Values, error) {
	query := url.Values{}
	err := EachParameter(raw, func(name, value string) error {
		query[name] = append(query[name], value)
		return nil
	})
	if err != nil {
		return nil, incomplete("The query string has %s.", err)
	}
	return query, nil
}
