package httpsend

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/icholy/digest"

	"postino/shared/envelope"
)

// newRequest builds the POST. The header map is copied, its values are shared.
func newRequest(ctx context.Context, t *target, r envelope.Request, auth []string) *http.Request {
	header := make(http.Header, len(r.Header)+1)
	for name, values := range r.Header {
		header[name] = values
	}
	if auth != nil {
		header["Authorization"] = auth
	}
	request := &http.Request{
		Method: http.MethodPost, URL: t.url, Host: t.url.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		ContentLength: int64(len(r.Body)), Body: http.NoBody,
	}
	if len(r.Body) > 0 {
		request.Body = bodyOf(r.Body)
		// Lets the transport take another connection when it finds the one it
		// chose closed before a byte was written.
		request.GetBody = func() (io.ReadCloser, error) { return bodyOf(r.Body), nil }
	}
	return request.WithContext(ctx)
}

func bodyOf(b []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(b)) }

// badHeader names the first header that cannot be sent as it is: a name that is
// no token, or a value with a control character. Nothing is ever repaired here,
// so that nobody's text can become a header of its own.
func badHeader(h http.Header) (name string, bad bool) {
	for name, values := range h {
		if !isToken(name) {
			return fmt.Sprintf("%.40q", name), true
		}
		for _, v := range values {
			for i := range len(v) {
				if c := v[i]; c < ' ' && c != '\t' || c == 0x7f {
					return name, true
				}
			}
		}
	}
	return "", false
}

// isToken reports whether s is a field name (RFC 9110, section 5.1).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		alnum := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !alnum && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

// answerDigest gives the Authorization header for a Digest challenge, nil where
// there is none that can be answered.
func answerDigest(challenge http.Header, t *target, body []byte) []string {
	c, err := digest.FindChallenge(challenge)
	if err != nil {
		return nil
	}
	password, _ := t.user.Password()
	credentials, err := digest.Digest(c, digest.Options{
		Method: http.MethodPost, URI: t.url.RequestURI(), Count: 1,
		Username: t.user.Username(), Password: password,
		GetBody: func() (io.ReadCloser, error) { return bodyOf(body), nil },
	})
	if err != nil {
		return nil
	}
	return []string{credentials.String()}
}
