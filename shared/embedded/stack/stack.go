// Package stack opens the embedded adapters together: database, store, queues,
// timer and signing key, all in one data directory.
package stack

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"net/url"
	"path/filepath"
	"time"

	"postino/shared/access"
	"postino/shared/config"
	"postino/shared/embedded/clocktimer"
	"postino/shared/embedded/keyseal"
	"postino/shared/embedded/sqlitedb"
	"postino/shared/embedded/sqlitequeue"
	"postino/shared/embedded/sqlitestore"
	"postino/shared/envelope"
	"postino/shared/installation"
	"postino/shared/pipeline"
	"postino/shared/signing"
)

// Stack is the open adapters.
type Stack struct {
	DB    *sqlitedb.DB
	Store *sqlitestore.Store
	Queue *sqlitequeue.Queue
	Timer *clocktimer.Timer
	// Keys are those that callers sign with.
	Keys *access.Keyring

	dir      string
	attempts string // the fresh lane's queue
}

// The queues' figures, as in template.yaml.
const (
	maxReceives = 100
	visibility  = 360 * time.Second
)

// Open opens what lies in the data directory, making what is missing. Its errors
// are one sentence for a person.
func Open(ctx context.Context, c config.Config, log *slog.Logger) (_ *Stack, err error) {
	s := &Stack{dir: c.Data, attempts: c.Queues.Attempt}
	defer func() {
		if err != nil {
			_ = s.Close() // why it did not open is what matters
		}
	}()
	if s.DB, err = sqlitedb.Open(sqlitedb.Options{Dir: c.Data}); err != nil {
		return nil, err
	}
	if s.Store, err = sqlitestore.Open(ctx, s.DB); err != nil {
		return nil, err
	}
	if err = s.Store.ReleaseClaims(ctx); err != nil {
		return nil, err
	}
	if s.Queue, err = sqlitequeue.Open(ctx, s.DB, sqlitequeue.Config{}); err != nil {
		return nil, err
	}
	if err := s.ensureQueues(ctx, c.Queues); err != nil {
		return nil, err
	}
	if s.Keys, err = openKeys(c, s.Store); err != nil {
		return nil, err
	}
	s.Timer = clocktimer.Open(s.DB, s.Queue, clocktimer.Config{Log: log})
	return s, nil
}

// OpenKeys opens the keys alone, of a data directory that no server uses. done
// lets the directory go.
func OpenKeys(ctx context.Context, c config.Config) (keys *access.Keyring, done func() error, err error) {
	db, err := sqlitedb.Open(sqlitedb.Options{Dir: c.Data})
	if err != nil {
		return nil, nil, err
	}
	store, err := sqlitestore.Open(ctx, db)
	if err == nil {
		keys, err = openKeys(c, store)
	}
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return keys, db.Close, nil
}

func openKeys(c config.Config, store access.Store) (*access.Keyring, error) {
	sealer, err := keyseal.Open(filepath.Join(c.Data, "keys.secret"), func(ctx context.Context) (bool, error) {
		page, _, err := store.Keys(ctx, "", 1)
		return len(page) > 0, err
	})
	if err != nil {
		return nil, err
	}
	return installation.Keys(c, store, sealer), nil
}

func (s *Stack) ensureQueues(ctx context.Context, q pipeline.QueueNames) error {
	for _, name := range []string{q.Attempt, q.Retry, q.Fanout} {
		o := sqlitequeue.Options{Visibility: visibility, MaxReceive: maxReceives, DeadLetter: q.Failed}
		if err := s.Queue.Ensure(ctx, name, o); err != nil {
			return err
		}
	}
	for _, name := range []string{q.DeadLetter, q.Failed} {
		if err := s.Queue.Ensure(ctx, name, sqlitequeue.Options{}); err != nil {
			return err
		}
	}
	return nil
}

// Adapters are what an installation stands on. publicURL is where its links
// begin; public says that it is reached from elsewhere whatever that URL is. While
// neither leads beyond this host, endpoints may be on it, and callers need no key
// until there is one: a server that others reach, through a proxy say, must not be
// made to push to the services beside it, nor serve everybody.
func (s *Stack) Adapters(publicURL string, public bool, observer pipeline.Observer, log *slog.Logger) (installation.Adapters, error) {
	links := envelope.Links{PublicURL: publicURL}
	signer, err := signing.LoadOrCreate(filepath.Join(s.dir, "signing.pem"), time.Now(), links)
	if err != nil {
		return installation.Adapters{}, err
	}
	local := !public && Local(publicURL)
	gate := &access.Gate{Keys: s.Keys, PublicURL: publicURL, OpenWhileEmpty: local, Now: time.Now}
	return installation.Adapters{Store: s.Store, Queues: s.Queue, Timer: s.Timer, Signer: signer, Links: links, Gate: gate,
		Observer: observer, Log: log, AllowLoopback: local, Admit: s.admit}, nil
}

// Local reports whether a public URL leads nowhere but to this host.
func Local(publicURL string) bool {
	u, err := url.Parse(publicURL)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}

const (
	// behind is how many first attempts may be waiting for a worker before
	// publishers are held back: about a tenth of a second's work.
	behind = 1000
	// heldAtMost bounds that, so that a backlog slows publishers down and never
	// stops them.
	heldAtMost = 250 * time.Millisecond
)

// admit waits while the fresh lane is behind. Without it publishers that do not
// wait for deliveries take the processor from them, and every message is late.
func (s *Stack) admit(ctx context.Context) error {
	if s.Queue.Ready(s.attempts) < behind {
		return nil
	}
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	enough := time.NewTimer(heldAtMost)
	defer enough.Stop()
	for {
		select {
		case <-look.C:
			if s.Queue.Ready(s.attempts) < behind {
				return nil
			}
		case <-enough.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close writes what is on its way and releases the directory.
func (s *Stack) Close() error {
	var errs []error
	if s.Timer != nil {
		errs = append(errs, s.Timer.Close())
	}
	if s.Queue != nil {
		errs = append(errs, s.Queue.Close())
	}
	if s.DB != nil {
		errs = append(errs, s.DB.Close())
	}
	return errors.Join(errs...)
}
