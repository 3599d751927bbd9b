package sigv4

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/smithy-go/aws-http-auth/credentials"
	"github.com/aws/smithy-go/aws-http-auth/sigv4"
	v4 "github.com/aws/smithy-go/aws-http-auth/v4"

	"postino/shared/push"
)

// Place is a host and path that a request may have been signed for. A proxy may
// have changed both on the way; the client signed what it saw.
type Place struct {
	// Host is as it stands in a Host header, with a port unless that is the
	// scheme's own. Path is percent-encoded.
	Host, Path string
}

// complete checks that what must be signed is, and that the request is whole
// without looking at the signature.
func (s *Signature) complete(query url.Values) error {
	if !s.signs("host") {
		return incomplete("'Host' must be a 'SignedHeader' in the AWS Authorization.")
	}
	// A date in the query string is signed with it, and is the one that counts only
	// where the signature stands there too.
	if !s.inQuery && !s.signs("x-amz-date") && (s.request.Header.Get("X-Amz-Date") != "" || !s.signs("date")) {
		return incomplete("'X-Amz-Date' must be a 'SignedHeader' in the AWS Authorization.")
	}
	for name := range s.request.Header {
		// CloudFront adds a header of its own to what it passes on.
		if lower := strings.ToLower(name); strings.HasPrefix(lower, "x-amz-") && lower != "x-amz-cf-id" && !s.signs(lower) {
			return incomplete("'%s' must be a 'SignedHeader' in the AWS Authorization.", name)
		}
	}
	for _, name := range s.headers {
		if s.request.Header[http.CanonicalHeaderKey(name)] == nil && name != "content-length" {
			return mismatch("The signed header '%s' is not in the request.", name)
		}
	}
	if s.request.Header.Get("X-Amz-Security-Token") != "" || query.Has("X-Amz-Security-Token") {
		return push.Errorf(push.CodeInvalidClientToken, "The security token included in the request is invalid: keys of this installation have none. Unset AWS_SESSION_TOKEN.")
	}
	return s.body()
}

// body judges what the request says of its body. Whether that is signed is told
// by the signature, for which the body is hashed whatever the request says.
func (s *Signature) body() error {
	s.sum = sha256.Sum256(s.request.Body)
	switch said := s.request.Header.Get("X-Amz-Content-Sha256"); {
	case said == "" || said == hex.EncodeToString(s.sum[:]):
		return nil
	case strings.HasPrefix(said, "UNSIGNED-") || strings.HasPrefix(said, "STREAMING-"):
		return mismatch("X-Amz-Content-Sha256 is %.40s: SNS has the body signed, as a whole.", said)
	default:
		return mismatch("The body is not the one that X-Amz-Content-Sha256 names: it was altered on the way.")
	}
}

func (s *Signature) signs(header string) bool {
	_, found := slices.BinarySearch(s.headers, header)
	return found
}

// IsSigned implements the signer's rule of what to sign.
func (s *Signature) IsSigned(header string) bool { return s.signs(header) }

// Verify checks the signature: the request must have been signed with secret, for
// one of places. The error tells neither what was expected nor where it differs.
func (s *Signature) Verify(secret string, places []Place) error {
	good := 0
	for _, p := range places {
		signature, err := s.sign(secret, p)
		if err != nil {
			continue // a path that cannot be read was not signed either
		}
		good |= subtle.ConstantTimeCompare([]byte(signature), []byte(s.value))
		if good == 1 {
			return nil
		}
	}
	return mismatch("The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method, and that the server knows the URL you call (POSTINO_PUBLIC_URL).")
}

// sign makes the signature that the request ought to have.
func (s *Signature) sign(secret string, p Place) (string, error) {
	path, err := url.PathUnescape(p.Path)
	if err != nil {
		return "", err
	}
	// The signer is made for clients: it sets Host and X-Amz-Date and puts its
	// result into the Authorization header. A presigned request differs in where
	// the parts stand, not in how they are put together, so it is signed alike.
	r := &http.Request{Method: s.request.Method, Host: p.Host, Header: http.Header{},
		URL: &url.URL{Path: path, RawPath: p.Path, RawQuery: s.canonical}}
	for _, name := range s.headers {
		r.Header[http.CanonicalHeaderKey(name)] = s.header(name)
	}
	err = sigv4.New().SignRequest(&sigv4.SignRequestInput{Request: r, PayloadHash: s.sum[:], Service: service, Region: s.Region, Time: s.Date,
		Credentials: credentials.Credentials{AccessKeyID: s.KeyID, SecretAccessKey: secret}},
		func(o *v4.SignerOptions) { o.HeaderRules = s })
	if err != nil {
		return "", err
	}
	_, signature, _ := strings.Cut(r.Header.Get("Authorization"), "Signature=")
	return signature, nil
}

// header gives the values of a signed header with runs of spaces made one, as
// they are signed. A proxy may leave out Content-Length; the body says it too.
func (s *Signature) header(name string) []string {
	if name == "content-length" {
		return []string{strconv.Itoa(len(s.request.Body))}
	}
	values := slices.Clone(s.request.Header[http.CanonicalHeaderKey(name)])
	for i, v := range values {
		for strings.Contains(v, "  ") {
			v = strings.ReplaceAll(v, "  ", " ")
		}
		values[i] = v
	}
	return values
}
