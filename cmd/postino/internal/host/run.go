package host

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"postino/shared/embedded/eventsource"
	"postino/shared/installation"
	"postino/shared/lambdaio"
	"postino/shared/operator"
)

const (
	// grace is how long a stop waits for attempts under way; those that take
	// longer are broken off, uncounted, and made again at the next start.
	grace = 5 * time.Second
	// drain is how long requests under way may take.
	drain = 5 * time.Second
	// answerWithin bounds a request's answer, made and taken: longer than the
	// command line waits for one, and no connection is held for ever by who reads
	// nothing.
	answerWithin = 3 * time.Minute
	// tidyEvery is how often expired records are forgotten.
	tidyEvery = time.Minute
	// tidyStep is how many are forgotten in one transaction.
	tidyStep = 1000
)

func pid() int { return os.Getpid() }

// Run serves until ctx ends, then stops cleanly: no new work is taken, what is
// in flight is finished or returned to its queue. It closes the host.
func (h *Host) Run(ctx context.Context) error {
	defer tuneGC()()
	work, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	server := &http.Server{Handler: h.handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, WriteTimeout: answerWithin,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, BaseContext: func(net.Listener) context.Context { return work }}
	polling, stopPolling := context.WithCancel(ctx)
	defer stopPolling()
	var background sync.WaitGroup
	for _, s := range h.sources() {
		background.Go(func() { s.Run(polling, work) })
	}
	background.Go(func() { h.tidy(polling) })
	served := make(chan error, 1)
	go func() { served <- server.Serve(h.listener) }()

	var err error
	select {
	case <-ctx.Done():
	case err = <-served: // the listener broke
	}
	stopPolling()
	patience := time.After(grace)
	finished := make(chan struct{})
	go func() { background.Wait(); close(finished) }()
	expire, cancel := context.WithTimeout(work, drain)
	defer cancel()
	if e := server.Shutdown(expire); e != nil {
		_ = server.Close()
	}
	select {
	case <-finished:
	case <-patience:
		abandon()
		<-finished
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, h.Close())
}

// handler is the whole HTTP surface.
func (h *Host) handler() http.Handler {
	door := h.functions.Publish
	guarded := http.NewServeMux()
	guarded.Handle("/", lambdaio.Gateway{Handle: door.HandleURL, Refuse: door.Refuse})
	api := operator.HTTP{Operator: h.Operator(), Token: h.server.Token, Log: h.options.Log}
	guarded.Handle(operator.Prefix, h.operations(api))
	guarded.Handle("GET /metrics", h.metrics(api))
	mux := http.NewServeMux()
	mux.Handle("/", h.knownHosts(guarded))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok\n"))
	})
	return mux
}

// Operator is what the command line asks of this server.
func (h *Host) Operator() *operator.Operator {
	c := h.options.Config
	return &operator.Operator{Deliveries: h.stack.Store, DeliveryLog: deliveryLog{c.Data}, Queues: h.stack.Queue, Directory: h.stack.Store, Keys: h.stack.Keys, Redriver: h.functions.Redriver, Publisher: h.functions.Publish.Publisher,
		Jobs: h.stack.Queue, Names: c.Queues, Region: c.Region, Account: c.Account, Now: time.Now, Random: rand.Reader, Log: h.options.Log}
}

// sources are the event source mappings of the functions. Redrive has none: it
// works on demand.
func (h *Host) sources() []*eventsource.Source {
	q := h.options.Config.Queues
	c := h.options.Config
	deliver, fanout := h.functions.Deliver.Handle, h.functions.Fanout.Handle
	return []*eventsource.Source{
		{Queue: h.stack.Queue, Name: q.Attempt, ARN: installation.QueueARN(c, q.Attempt), Handle: deliver, Concurrency: 16, Overflow: 400, Log: h.options.Log},
		{Queue: h.stack.Queue, Name: q.Retry, ARN: installation.QueueARN(c, q.Retry), Handle: deliver, Concurrency: 4, Overflow: 400, Log: h.options.Log},
		{Queue: h.stack.Queue, Name: q.Fanout, ARN: installation.QueueARN(c, q.Fanout), Handle: fanout, Concurrency: 4, Log: h.options.Log},
	}
}

// tidy forgets expired records, at the start and every minute.
func (h *Host) tidy(ctx context.Context) {
	t := time.NewTicker(tidyEvery)
	defer t.Stop()
	for {
		if err := h.purge(ctx); err != nil && ctx.Err() == nil {
			h.options.Log.Error("expired records could not be removed; they are tried again", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// purge removes all that has expired, in steps that hold up nobody who writes
// meanwhile.
func (h *Host) purge(ctx context.Context) error {
	for ctx.Err() == nil {
		removed, err := h.stack.Store.Purge(ctx, time.Now(), tidyStep)
		if err != nil || removed == 0 {
			return err
		}
	}
	return nil
}
