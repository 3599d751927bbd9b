package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"golang.org/x/net/netutil"

	"postino/shared/embedded/stack"
)

// connections bounds those that a public listener has open at once, each with a
// request of a megabyte at most; further ones wait for a place.
const connections = 1000

// listen takes the address, and refuses one that would let strangers in.
func (h *Host) listen(ctx context.Context) error {
	address := h.options.Listen
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("--listen %q is not host:port: give one such as 127.0.0.1:4575", address)
	}
	if h.public = !loopback(name); h.public {
		if err := h.mayBePublic(ctx, name); err != nil {
			return err
		}
	}
	h.listener, err = net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w; choose another port with --listen 127.0.0.1:PORT", net.JoinHostPort(name, port), rootCause(err))
	}
	if h.public {
		h.listener = netutil.LimitListener(h.listener, connections)
	}
	return nil
}

// mayBePublic says what is missing before others may connect.
func (h *Host) mayBePublic(ctx context.Context, name string) error {
	empty, err := h.stack.Keys.Empty(ctx)
	if err != nil {
		return err
	}
	var missing []string
	if empty {
		missing = append(missing, fmt.Sprintf("a key that callers sign with (make one with `postino keys add --data %s`)", h.options.Config.Data))
	}
	if h.options.Config.PublicURL == "" && unspecified(name) {
		missing = append(missing, "the URL that subscribers reach it by, with TLS in front (set POSTINO_PUBLIC_URL)")
	}
	if len(missing) > 0 {
		return fmt.Errorf("--listen %s lets others in and needs %s, or listen on 127.0.0.1", h.options.Listen, strings.Join(missing, " and "))
	}
	return nil
}

// unspecified reports whether name means all of this host's addresses.
func unspecified(name string) bool {
	ip, err := netip.ParseAddr(name)
	return name == "" || err == nil && ip.IsUnspecified()
}

// rootCause strips the "listen tcp …" that the sentence says already.
func rootCause(err error) error {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err
}

func (h *Host) publicURL() string {
	if u := h.options.Config.PublicURL; u != "" {
		return u
	}
	return h.URL()
}

// reachable reports whether others than this host's programs reach the server, by
// its address or through a proxy.
func (h *Host) reachable() bool {
	return h.public || !stack.Local(h.publicURL())
}

// URL is where the server is reached from this host.
func (h *Host) URL() string {
	at, ok := h.listener.Addr().(*net.TCPAddr)
	if ok && at.IP.IsUnspecified() {
		return fmt.Sprintf("http://127.0.0.1:%d", at.Port)
	}
	return "http://" + h.listener.Addr().String()
}

// Callers are those whose calls a server takes.
type Callers int

const (
	// Anybody may call: only programs on this host can, and there is no key.
	Anybody Callers = iota
	// KeyHolders may: there are keys.
	KeyHolders
	// Nobody may yet: others reach the server, and there is no key.
	Nobody
)

// Callers tells who may call now.
func (h *Host) Callers(ctx context.Context) (Callers, error) {
	empty, err := h.stack.Keys.Empty(ctx)
	switch {
	case err != nil:
		return Nobody, err
	case !empty:
		return KeyHolders, nil
	case h.reachable():
		return Nobody, nil
	}
	return Anybody, nil
}
