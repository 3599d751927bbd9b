package operator

import (
	"net/http"
	"net/url"
	"strings"

	"postino/shared/push"
)

// segments splits a request's path behind Prefix.
func segments(r *http.Request) ([]string, error) {
	rest, ok := strings.CutPrefix(r.URL.EscapedPath(), Prefix)
	if !ok {
		return nil, push.Errorf(push.CodeNotFound, "The operator's API lives under %s", Prefix)
	}
	s := strings.Split(rest, "/")
	for i := range s {
		var err error
		if s[i], err = url.PathUnescape(s[i]); err != nil {
			return nil, push.Errorf(push.CodeInvalidParameter, "The path is not escaped well")
		}
	}
	return s, nil
}

// path is the opposite of segments. Dots are escaped where they would stand for
// a directory, since what serves the path may resolve them.
func path(segments []string) string {
	p := make([]string, len(segments))
	for i, s := range segments {
		p[i] = url.PathEscape(s)
		if s == "." || s == ".." {
			p[i] = strings.ReplaceAll(s, ".", "%2E")
		}
	}
	return Prefix + strings.Join(p, "/")
}
