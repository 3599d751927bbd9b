// Package host puts the embedded server together: the same handlers as the
// deployed functions, fed with the same events, over the adapters that keep
// everything in one SQLite file.
package host

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"

	"postino/shared/config"
	"postino/shared/embedded/stack"
	"postino/shared/installation"
	"postino/shared/metrics"
	"postino/shared/operator"
	"postino/shared/pipeline"
	"postino/shared/telemetry"
)

// Options say where and how a server runs.
type Options struct {
	// Listen is host:port; port 0 takes a free one. It must be a loopback
	// address: callers are not authenticated.
	Listen string
	Config config.Config
	// Log gets the server's own lines.
	Log *slog.Logger
	// Observer, when not nil, is told every event besides log and metrics.
	Observer pipeline.Observer
}

// Host is an embedded server.
type Host struct {
	options  Options
	listener net.Listener
	server   operator.ServerFile

	stack     *stack.Stack
	log       *telemetry.DeliveryLog
	meter     *metrics.Metrics
	functions installation.Functions
}

// Open takes the address and the data directory. Its errors are one sentence
// for a person. After nil the caller must Run or Close.
func Open(ctx context.Context, o Options) (_ *Host, err error) {
	h := &Host{options: o}
	defer func() {
		if err != nil {
			_ = h.Close()
		}
	}()
	if h.stack, err = stack.Open(ctx, o.Config, o.Log); err != nil {
		return nil, err
	}
	if h.listener, err = listen(o.Listen); err != nil {
		return nil, err
	}
	if h.log, err = telemetry.OpenDeliveryLog(o.Config.Data, telemetry.DeliveryLogOptions{Log: o.Log}); err != nil {
		return nil, err
	}
	if err := h.assemble(); err != nil {
		return nil, err
	}
	return h, h.announce()
}

// listen refuses what would let strangers in.
func listen(address string) (net.Listener, error) {
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("--listen %q is not host:port: give one such as 127.0.0.1:4575", address)
	}
	if ip, err := netip.ParseAddr(name); name != "localhost" && (err != nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("--listen %s is not a loopback address, and this server does not authenticate callers: listen on 127.0.0.1 and put a proxy that does in front", address)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w; choose another port with --listen 127.0.0.1:PORT", net.JoinHostPort(name, port), rootCause(err))
	}
	return l, nil
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

// URL is where the server listens.
func (h *Host) URL() string { return "http://" + h.listener.Addr().String() }

// assemble makes the functions over the adapters.
func (h *Host) assemble() error {
	h.meter = metrics.New(h.gauges())
	observers := []pipeline.Observer{telemetry.Log(h.options.Log), h.log, h.meter}
	if h.options.Observer != nil {
		observers = append(observers, h.options.Observer)
	}
	a, err := h.stack.Adapters(h.publicURL(), telemetry.Tee(observers...), h.options.Log)
	if err != nil {
		return err
	}
	h.functions = installation.New(h.options.Config, a)
	return nil
}

// announce leaves the file by which the command line finds the server.
func (h *Host) announce() error {
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return err
	}
	h.server = operator.ServerFile{URL: h.URL(), Token: hex.EncodeToString(secret), PID: pid(), Region: h.options.Config.Region, Account: h.options.Config.Account}
	return operator.WriteServerFile(h.options.Config.Data, h.server)
}

// Close releases everything; Run does so itself.
func (h *Host) Close() error {
	var errs []error
	if h.listener != nil {
		if err := h.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if h.server.Token != "" {
		errs = append(errs, operator.RemoveServerFile(h.options.Config.Data, h.server))
	}
	if h.stack != nil {
		errs = append(errs, h.stack.Close())
	}
	if h.log != nil {
		errs = append(errs, h.log.Close())
	}
	return errors.Join(errs...)
}
