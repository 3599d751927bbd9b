package httpsend

import (
	"context"
	"net/netip"
	"slices"
	"syscall"

	"code.dny.dev/ssrf"

	"postino/shared/outcome"
)

// guard decides which addresses may be dialled. It sits in the dialer, behind
// name resolution and in front of connect(2), so that what it judges is the
// address that the connection really goes to: no spelling of a host, no DNS
// answer and no second answer (rebinding) gets around it.
//
// The base list is code.dny.dev/ssrf, made from IANA's special-purpose address
// registries: for IPv4 everything registered there and multicast; for IPv6
// everything outside 2000::/3 (loopback, v4-mapped and v4-compatible forms,
// NAT64, unique local, link-local, site-local, multicast) and the special
// blocks inside it (Teredo, ORCHID, benchmarking, 6to4, documentation).
type guard struct {
	special  *ssrf.Guardian
	loopback bool
	allow    []netip.Prefix
}

// unregistered holds non-public addresses that no IANA registry names.
var unregistered = []netip.Prefix{
	// Azure's platform address: DNS, health probes and the guest agent's
	// configuration (Azure documentation, "What is IP address 168.63.129.16?").
	netip.MustParsePrefix("168.63.129.16/32"),
}

// nat64 is the well-known prefix whose last four bytes are an IPv4 address that
// a gateway will connect to (RFC 6052).
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

func newGuard(o Options) *guard {
	return &guard{
		special:  ssrf.New(ssrf.WithAnyPort()),
		loopback: o.AllowLoopback,
		allow:    slices.Clone(o.AllowNetworks),
	}
}

// control is the dialer's ControlContext. It refuses with *outcome.BlockedError.
func (g *guard) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || (network != "tcp4" && network != "tcp6") {
		return &outcome.BlockedError{Address: address}
	}
	if !g.permits(to.Addr()) {
		return &outcome.BlockedError{Address: to.Addr().String()}
	}
	return nil
}

// permits judges one address. What the operator allows comes first, then
// the lists.
func (g *guard) permits(a netip.Addr) bool {
	// A prefix contains neither a zoned nor a v4-mapped form of its addresses.
	a = a.Unmap().WithZone("")
	if nat64.Contains(a) {
		// Even where an IPv6-only network needs the gateway, it must not lead
		// to what is refused when dialled directly.
		b := a.As16()
		return contains(g.allow, a) && g.permits(netip.AddrFrom4([4]byte(b[12:])))
	}
	if contains(g.allow, a) || (g.loopback && a.IsLoopback()) {
		return true
	}
	return !contains(unregistered, a) && g.special.SafeAddr(a) == nil
}

func contains(list []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
}
