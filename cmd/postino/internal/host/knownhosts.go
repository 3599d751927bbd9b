package host

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"postino/shared/push"
)

// knownHosts refuses requests that were meant for another host. A page whose
// name its owner lets resolve to 127.0.0.1 (DNS rebinding) shares an origin with
// this server as far as a browser can tell; the Host header still says what name
// the browser looked up.
func (h *Host) knownHosts(next http.Handler) http.Handler {
	public := ""
	if u, err := url.Parse(h.publicURL()); err == nil {
		public = u.Hostname()
	}
	listens := hostname(h.options.Listen) // which may be a name that resolves to an address of ours
	if unspecified(listens) {
		listens = public
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := hostname(r.Host)
		if strings.EqualFold(name, public) || loopback(name) || strings.EqualFold(name, listens) || name != "" && name == addressOf(local(r)) {
			next.ServeHTTP(w, r)
			return
		}
		h.refuse(w, push.CodeAuthorizationError, "This server is not known by the name that the request's Host header gives")
	})
}

func (h *Host) refuse(w http.ResponseWriter, code push.Code, text string) {
	refusal := h.functions.Publish.Refuse(code, text)
	for name, values := range refusal.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(refusal.Status)
	_, _ = w.Write(refusal.Body)
}

// hostname is a Host header without port and brackets.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// loopback reports whether name is a loopback address or localhost, which no
// resolver may lead elsewhere (RFC 6761). The listening address is always one.
func loopback(name string) bool {
	ip, err := netip.ParseAddr(name)
	return strings.EqualFold(name, "localhost") || err == nil && ip.IsLoopback()
}
