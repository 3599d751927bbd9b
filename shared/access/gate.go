package access

import (
	"context"
	"net/url"
	"strings"
	"time"

	"postino/shared/push"
	"postino/shared/sigv4"
)

// Gate judges calls. It is safe for concurrent use.
type Gate struct {
	Keys *Keyring
	// PublicURL is the URL that clients may know the installation by, besides the
	// one in the request's Host header; "" for none.
	PublicURL string
	// OpenWhileEmpty lets everybody in while there is no key.
	OpenWhileEmpty bool
	Now            func() time.Time

	replays replays
}

// Admit lets a call pass or says why not: r is the request, action the SNS action
// it asks for, topicARN the topic it names, "" for none. It gives the id of the
// key that has signed, "" where the gate stands open.
//
// Errors are SNS's (SNS API reference, common errors): MissingAuthenticationToken,
// IncompleteSignature, InvalidClientTokenId, SignatureDoesNotMatch,
// AuthorizationError. Any other is a fault of ours: the caller may try again.
func (g *Gate) Admit(ctx context.Context, r sigv4.Request, action, topicARN string) (keyID string, err error) {
	if g.OpenWhileEmpty {
		if empty, err := g.Keys.Empty(ctx); err != nil || empty {
			return "", err
		}
	}
	s, err := sigv4.Parse(r)
	if err != nil {
		return "", err
	}
	now := g.Now()
	if err := s.Current(now); err != nil {
		return "", err
	}
	k, secret, err := g.Keys.find(ctx, s.KeyID)
	if err != nil {
		return "", err
	}
	if err := s.Verify(secret, places(r, g.PublicURL)); err != nil {
		return "", err
	}
	if !k.Allows(action, topicARN) {
		if topicARN == "" {
			topicARN = "*"
		}
		return "", push.Errorf(push.CodeAuthorizationError, "Key %s is not authorized to perform: SNS:%s on resource: %s", k.ID, action, push.Clip(topicARN))
	}
	if s.NeverRepeated() && !g.replays.first(s.Value()) {
		return "", push.Errorf(push.CodeSignatureMismatch, "This very request was sent before, and clients sign each of their tries anew: it is a copy.")
	}
	return k.ID, nil
}

// places are where the client may have sent r, as far as can be told here. Between
// it and us the host may have been changed, and the public URL's path cut off, by
// a proxy or by a Function URL behind a domain name. The path that arrives is "/".
func places(r sigv4.Request, publicURL string) []sigv4.Place {
	path := r.Path
	if path == "" {
		path = "/"
	}
	host := r.Header.Get("Host")
	hosts, paths := []string{host}, []string{path}
	if u, err := url.Parse(publicURL); err == nil && u.Host != "" {
		if base := strings.TrimRight(u.EscapedPath(), "/"); base != "" {
			// boto3 signs the URL's path as it stands, other SDKs with a slash more.
			paths = append(paths, base+path, base)
		}
		if public := withoutDefaultPort(u.Host); !strings.EqualFold(public, host) {
			hosts = append(hosts, public)
		}
	}
	if bare := withoutDefaultPort(host); bare != host {
		hosts = append(hosts, bare)
	}
	var all []sigv4.Place
	for _, h := range hosts {
		for _, p := range paths {
			all = append(all, sigv4.Place{Host: h, Path: p})
		}
	}
	return all
}

// withoutDefaultPort drops the port that clients leave out of what they sign.
func withoutDefaultPort(host string) string {
	return strings.TrimSuffix(strings.TrimSuffix(host, ":443"), ":80")
}
