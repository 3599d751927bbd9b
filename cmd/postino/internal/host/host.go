// Package host puts the embedded server together: the same handlers as the
// deployed functions, fed with the same events, over the adapters that keep
// everything in one SQLite file.
package host

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"net"

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
	// Listen is host:port; port 0 takes a free one. An address that others reach
	// needs a key in the data directory: nobody calls there without.
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
	// public says that others than this host's programs can connect.
	public bool
	server operator.ServerFile

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
	if err := h.listen(ctx); err != nil {
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

// assemble makes the functions over the adapters.
func (h *Host) assemble() error {
	h.meter = metrics.New(h.gauges())
	observers := []pipeline.Observer{telemetry.Log(h.options.Log), h.log, h.meter}
	if h.options.Observer != nil {
		observers = append(observers, h.options.Observer)
	}
	a, err := h.stack.Adapters(h.publicURL(), h.public, telemetry.Tee(observers...), h.options.Log)
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
