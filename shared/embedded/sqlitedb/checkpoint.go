package sqlitedb

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// SQLite moves the write-ahead log into the main file when the log has a
// thousand pages, within the commit that made them: that commit, and whoever
// waits for it, then waits for two more flushes and a thousand random writes.
// Here a goroutine moves it once a second beside the commits (PASSIVE, which
// blocks nobody). Only when commits never pause long enough for the log to begin
// anew, so that it has grown to walMost, does a commit wait for the little that
// is left to move.
const (
	checkpointEvery = time.Second
	// walMost is in pages: 64 MiB.
	walMost = 64 << 20 / pageSize
)

// checkpointer moves the log in the background.
type checkpointer struct {
	conn    *conn
	commits *atomic.Uint64
	// restart asks the writer to make the log begin anew.
	restart *atomic.Bool
	stop    context.CancelFunc
	stopped chan struct{}
}

func startCheckpointer(path string, w *writer) (*checkpointer, error) {
	c, err := connect(path, "synchronous(FULL)", "wal_autocheckpoint(0)")
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	p := &checkpointer{conn: c, commits: &w.commits, restart: &w.restart, stop: stop, stopped: make(chan struct{})}
	go p.run(ctx)
	return p, nil
}

func (p *checkpointer) run(ctx context.Context) {
	defer close(p.stopped)
	tick := time.NewTicker(checkpointEvery)
	defer tick.Stop()
	seen := uint64(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now := p.commits.Load(); now != seen {
			seen = now
			// A full disk lets a checkpoint fail; the log keeps everything
			// until one succeeds.
			if pages, err := checkpoint(p.conn, "PASSIVE"); err == nil && pages > walMost {
				p.restart.Store(true)
			}
		}
	}
}

func (p *checkpointer) close() error {
	p.stop()
	<-p.stopped
	return p.conn.close()
}

// checkpoint runs one and answers how many pages the log has.
func checkpoint(c *conn, mode string) (pages int64, err error) {
	err = c.query(fmt.Sprintf("PRAGMA wal_checkpoint(%s)", mode), func(r Row) error {
		pages = r.Int(1)
		return nil
	})
	return pages, err
}
