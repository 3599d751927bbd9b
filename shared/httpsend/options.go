// Package httpsend makes attempts over HTTP and HTTPS: one shared transport with
// keep-alive, HTTP/2 where an https endpoint speaks it, one time limit over the
// whole attempt, and a guard that refuses non-public addresses at dial time.
//
// It is the transport of net/http alone, without http.Client: no redirect is
// followed, no cookie kept, no proxy from the environment used (a proxy would
// dial in the guard's stead), nothing decompressed. There is no retry around a
// push: the schedule is the pipeline's. The one exception is the keep-alive
// race, see Sender.Send.
package httpsend

import (
	"crypto/x509"
	"net"
	"net/netip"
	"time"
)

// Limits that are not options.
const (
	// maxHeader bounds a response's headers, interim (1xx) responses included.
	maxHeader = 64 << 10
	// maxBody is how much of a response's body is read so that its connection
	// can be used again; a longer body costs the connection.
	maxBody = 64 << 10
	// bodyPatience is how long that reading may take: the outcome is known
	// already, and a worker's time is worth more than a connection.
	bodyPatience = time.Second
	// idleFor is how long an unused connection is kept.
	idleFor = 90 * time.Second
	// idlePerHost is how many of one host are kept: enough for a busy endpoint's
	// parallel deliveries to find one without a new handshake.
	idlePerHost = 256
	// keptTargets bounds the cache of parsed endpoints (about 0.5 KB each).
	keptTargets = 8192
	// keptSessions bounds the cache of TLS sessions, by which reconnecting
	// skips the certificate exchange.
	keptSessions = 2048
)

// DefaultTimeout is SNS's limit for one attempt (SNS developer guide, message
// delivery retries).
const DefaultTimeout = 15 * time.Second

// DefaultMaxIdle is the default of Options.MaxIdle.
const DefaultMaxIdle = 2048

// Options of a Sender. The zero value is the strict one.
type Options struct {
	// Timeout bounds a whole attempt: name resolution, connection, TLS,
	// request, response headers and body. 0 means DefaultTimeout.
	Timeout time.Duration
	// AllowLoopback permits 127.0.0.0/8 and ::1, for a server that itself
	// listens on loopback only.
	AllowLoopback bool
	// AllowNetworks are further networks that the operator permits although
	// they are not public. IPv4 networks are written as such, not v4-mapped.
	// Addresses behind the NAT64 prefix 64:ff9b::/96 are judged by the IPv4
	// address inside as well.
	AllowNetworks []netip.Prefix
	// MaxIdle bounds the idle connections kept in all; each holds a file
	// descriptor. 0 means DefaultMaxIdle. Where descriptors are few (AWS Lambda
	// gives 1,024) 256 is better.
	MaxIdle int
	// RootCAs replaces the system's certificate authorities when not nil.
	RootCAs *x509.CertPool
	// Resolver replaces the system's name resolution when not nil. Its own
	// traffic is not judged by the guard.
	Resolver *net.Resolver
}
