package snsapi

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"postino/shared/push"
	"postino/shared/sigv4"
)

// Bounds of a request, of its body and of its query string. The largest legal
// message is 262,144 bytes, which percent-encoding can triple; what it carries
// besides is small.
const (
	maxBody   = 1 << 20
	maxParams = 10_000
)

// params are a request's parameters by name. Names nobody asks for are ignored,
// as AWS does.
type params map[string]string

// decode reads the query string and, of a POST, the form in the body.
func decode(r Request) (params, error) {
	if len(r.Body) > maxBody || len(r.RawQuery) > maxBody {
		return nil, push.Errorf(push.CodeRequestTooLarge, "The request is larger than %d bytes.", maxBody)
	}
	p := params{}
	if err := p.add(r.RawQuery); err != nil {
		return nil, err
	}
	if r.Method == http.MethodPost {
		if err := p.add(string(r.Body)); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// add reads one query string. A name given twice with different values is
// refused: whoever checked the request before us may have read the other one.
func (p params) add(query string) error {
	err := sigv4.EachParameter(query, func(name, value string) error {
		if !utf8.ValidString(name) || !utf8.ValidString(value) {
			return push.Invalid("%s is not UTF-8", clip(name))
		}
		if have, twice := p[name]; twice && have != value {
			return push.Invalid("%s is given twice with different values", clip(name))
		}
		p[name] = value
		if len(p) > maxParams {
			return malformed("there are more than " + strconv.Itoa(maxParams) + " parameters")
		}
		return nil
	})
	switch broken, ok := errors.AsType[*sigv4.EncodingError](err); {
	case !ok:
		return err
	case broken.InName:
		return malformed("a parameter's name has " + broken.Error())
	default:
		return malformed(clip(broken.Name) + " has " + broken.Error())
	}
}

func malformed(why string) error {
	return push.Errorf(codeMalformedQuery, "The query string cannot be read: %s.", why)
}

// list gives the members below prefix ("Tags.member", "Attributes.entry") in the
// order of their numbers, which may have gaps; memory goes by the parameters
// that are there, not by how large a number is. A member that is a plain value
// has it under "".
func (p params) list(prefix string) ([]params, error) {
	members := map[uint64]params{}
	for name, value := range p {
		rest, ok := strings.CutPrefix(name, prefix+".")
		if !ok {
			continue
		}
		number, field, _ := strings.Cut(rest, ".")
		n, err := strconv.ParseUint(number, 10, 64)
		if err != nil || number[0] == '0' {
			return nil, push.Invalid("%s must be numbered from 1", prefix)
		}
		if members[n] == nil {
			members[n] = params{}
		}
		members[n][field] = value
	}
	out := make([]params, 0, len(members))
	for _, n := range slices.Sorted(maps.Keys(members)) {
		out = append(out, members[n])
	}
	return out, nil
}

// attributes reads the map Attributes; a key given twice is refused.
func (p params) attributes() (map[string]string, error) {
	entries, err := p.list("Attributes.entry")
	if err != nil {
		return nil, err
	}
	out := make(map[string]string, len(entries))
	for _, e := range entries {
		if _, twice := out[e["key"]]; twice {
			return nil, push.Invalid("Attributes Reason: %s is given twice", clip(e["key"]))
		}
		out[e["key"]] = e["value"]
	}
	return out, nil
}

// required gives a parameter that must not be empty.
func (p params) required(name string) (string, error) {
	if p[name] == "" {
		return "", push.Invalid("%s Reason: no value for required parameter", name)
	}
	return p[name], nil
}

// flag reads a boolean parameter; absent is false.
func (p params) flag(name string) (bool, error) {
	switch strings.ToLower(p[name]) {
	case "true":
		return true, nil
	case "", "false":
		return false, nil
	}
	return false, push.Invalid("%s: Invalid value [%s]. Must be true or false.", name, clip(p[name]))
}

// clip shortens what a caller wrote for use in an error's text.
func clip(s string) string { return push.ClipTo(s, 300) }
