package sigv4

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"postino/shared/push"
)

// Bounds of what is read of strangers; SDKs stay far below them.
const (
	maxAuthorization = 8 << 10
	maxHeaders       = 100
)

// Parse finds the signature of r. Its errors are MissingAuthenticationToken where
// there is none, IncompleteSignature for one that cannot be read or leaves out
// what must be signed, and SignatureDoesNotMatch for one that is meant for
// something else.
func Parse(r Request) (*Signature, error) {
	query, err := parseQuery(r.RawQuery)
	if err != nil {
		return nil, err
	}
	authorization := r.Header.Values("Authorization")
	inHeader := len(authorization) > 0 && strings.HasPrefix(authorization[0], "AWS4-")
	inQuery := query.Has("X-Amz-Signature") || query.Has("X-Amz-Algorithm")
	s := &Signature{request: r, inQuery: inQuery}
	switch {
	case inHeader && inQuery || len(authorization) > 1:
		return nil, incomplete("The request is signed more than once: sign it in the Authorization header or in the query string.")
	case inHeader:
		err = s.fromHeader(authorization[0])
	case inQuery:
		err = s.fromQuery(query)
	default:
		return nil, push.Errorf(push.CodeMissingToken, "Request is missing Authentication Token: sign it with a key of this installation (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY).")
	}
	if err != nil {
		return nil, err
	}
	query.Del("X-Amz-Signature")
	s.canonical = query.Encode()
	return s, s.complete(query)
}

// parameters are the parts of a signature, wherever they stood.
type parameters struct{ credential, headers, signature, date string }

func (s *Signature) fromHeader(value string) error {
	if len(value) > maxAuthorization {
		return incomplete("The Authorization header is longer than %d bytes.", maxAuthorization)
	}
	name, rest, _ := strings.Cut(value, " ")
	if name != algorithm {
		return unsupported(name)
	}
	p := parameters{date: s.request.Header.Get("X-Amz-Date")}
	if p.date == "" {
		if t, err := http.ParseTime(s.request.Header.Get("Date")); err == nil {
			p.date = t.UTC().Format(timeForm)
		}
	}
	into := map[string]*string{"Credential": &p.credential, "SignedHeaders": &p.headers, "Signature": &p.signature}
	for part := range strings.SplitSeq(rest, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		field := into[name]
		if !ok || field == nil || *field != "" || value == "" {
			return incomplete("The Authorization header must be: %s Credential=…, SignedHeaders=…, Signature=…", algorithm)
		}
		*field = value
	}
	return s.take(p, "Authorization header")
}

func (s *Signature) fromQuery(query url.Values) error {
	for _, name := range []string{"X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-SignedHeaders", "X-Amz-Signature"} {
		if len(query[name]) > 1 {
			return incomplete("The query string gives %s more than once.", name)
		}
	}
	if name := query.Get("X-Amz-Algorithm"); name != algorithm {
		return unsupported(name)
	}
	if v := query.Get("X-Amz-Expires"); v != "" {
		seconds, err := strconv.Atoi(v)
		if err != nil || strconv.Itoa(seconds) != v || seconds < 1 || seconds > int(maxExpires/time.Second) {
			return incomplete("X-Amz-Expires must be a number of seconds from 1 to %d.", int(maxExpires/time.Second))
		}
		s.Expires = time.Duration(seconds) * time.Second
	}
	return s.take(parameters{query.Get("X-Amz-Credential"), query.Get("X-Amz-SignedHeaders"), query.Get("X-Amz-Signature"), query.Get("X-Amz-Date")}, "query string")
}

func unsupported(name string) error {
	if name == "" || len(name) > 64 {
		return incomplete("The signature names no algorithm: only %s is supported.", algorithm)
	}
	return incomplete("Unsupported AWS 'algorithm': '%s', only %s is supported.", name, algorithm)
}

// take judges the parts that stood in where.
func (s *Signature) take(p parameters, where string) (err error) {
	for _, part := range []struct{ name, value string }{{"a Credential", p.credential}, {"SignedHeaders", p.headers}, {"a Signature", p.signature}} {
		if part.value == "" {
			return incomplete("The signature in the %s has no %s.", where, strings.TrimPrefix(part.name, "a "))
		}
	}
	if s.Date, err = time.Parse(timeForm, p.date); err != nil || s.Date.Format(timeForm) != p.date {
		return incomplete("The signature needs a date: X-Amz-Date in the form YYYYMMDDTHHMMSSZ, or a Date header.")
	}
	s.headers = strings.Split(p.headers, ";")
	if len(s.headers) > maxHeaders || !slices.IsSorted(s.headers) || slices.ContainsFunc(s.headers, noHeaderName) || len(slices.Compact(slices.Clone(s.headers))) < len(s.headers) {
		return incomplete("SignedHeaders must be names of headers in lower case, sorted, each once, parted by semicolons.")
	}
	s.value = p.signature
	return s.scope(p.credential)
}

func noHeaderName(s string) bool {
	return s == "" || strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~' || r >= 'A' && r <= 'Z' || strings.ContainsRune(`,:;="`, r)
	})
}

// scope reads KEY-ID/DATE/REGION/SERVICE/aws4_request.
func (s *Signature) scope(credential string) error {
	part := strings.Split(credential, "/")
	if len(part) != 5 || !word(part[0], 128) || !word(strings.ReplaceAll(part[2], "-", "_"), 64) {
		return incomplete("The Credential must have five elements: KEY-ID/DATE/REGION/%s/%s.", service, terminator)
	}
	s.KeyID, s.Region = part[0], part[2]
	switch {
	case part[4] != terminator:
		return mismatch("Credential should be scoped with a valid terminator: '%s'.", terminator)
	case part[3] != service:
		return mismatch("Credential should be scoped to correct service: '%s'.", service)
	case part[1] != s.Date.Format(dateForm):
		return mismatch("Date in Credential scope does not match %s from the request's date.", s.Date.Format(dateForm))
	}
	return nil
}

// word reports whether s is 1 to most letters, digits and underscores.
func word(s string, most int) bool {
	return s != "" && len(s) <= most && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r == '_')
	})
}
