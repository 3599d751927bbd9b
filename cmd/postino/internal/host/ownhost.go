package host

import (
	"net"
	"net/http"
	"net/netip"

	"postino/shared/operator"
	"postino/shared/push"
)

// operations serves the operator's API to programs on this host, which have its
// token. To others it is not there.
func (h *Host) operations(api operator.HTTP) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !fromThisHost(r) {
			h.refuse(w, push.CodeNotFound, "There is nothing at this path: send requests to /.")
			return
		}
		api.ServeHTTP(w, r)
	})
}

// metrics serves them to programs on this host, and to who has the operator's
// token. Where others reach the server, only the token counts: a proxy on this host
// passes strangers on, and need not say so.
func (h *Host) metrics(api operator.HTTP) http.Handler {
	metrics, othersCome := h.meter.Handler(), h.reachable()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !api.Allowed(r) && (othersCome || !fromThisHost(r) || forwarded(r)) {
			h.refuse(w, push.CodeAuthorizationError, "Metrics need the token in server.json of the server's data directory, as a bearer token, unless only programs on its host reach it.")
			return
		}
		metrics.ServeHTTP(w, r)
	})
}

// fromThisHost reports whether the connection comes from this machine: from a
// loopback address, or from the one that it goes to.
func fromThisHost(r *http.Request) bool {
	from := addressOf(r.RemoteAddr)
	ip, err := netip.ParseAddr(from)
	return err == nil && (ip.IsLoopback() || from == addressOf(local(r)))
}

// forwarded reports whether a proxy says that it passes somebody else's request on
// (RFC 7239, and the headers before it).
func forwarded(r *http.Request) bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"} {
		if r.Header.Get(name) != "" {
			return true
		}
	}
	return false
}

// local is the address that the request's connection was made to.
func local(r *http.Request) string {
	if at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		return at.String()
	}
	return ""
}

// addressOf is the IP address of ip:port in its shortest form, "" for none.
func addressOf(hostport string) string {
	at, err := netip.ParseAddrPort(hostport)
	if err != nil {
		return ""
	}
	return at.Addr().Unmap().WithZone("").String()
}
