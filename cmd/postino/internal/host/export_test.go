package host

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"postino/shared/embedded/sqlitedb"
)

// BoundDatabase lets the database grow by so many more pages, -1 for as many as
// it likes. At its bound SQLite fails as on a full disk.
func (h *Host) BoundDatabase(ctx context.Context, pages int64) error {
	return h.stack.DB.Do(ctx, func(tx *sqlitedb.Tx) error {
		bound := int64(1) << 30
		if pages >= 0 {
			if err := tx.Query(`PRAGMA page_count`, func(r sqlitedb.Row) error { bound = r.Int(0) + pages; return nil }); err != nil {
				return err
			}
		}
		return tx.Query(fmt.Sprintf(`PRAGMA max_page_count(%d)`, bound), func(sqlitedb.Row) error { return nil })
	})
}

// TidyStep is how many records are forgotten at once.
const TidyStep = tidyStep

// Seed puts n dead deliveries into the store that have expired already.
func (h *Host) Seed(ctx context.Context, n int) error {
	return h.stack.DB.Do(ctx, func(tx *sqlitedb.Tx) error {
		for i := range n {
			if _, err := tx.Exec(`INSERT INTO delivery (subscription, message_id, generation, attempt, state, owner, lease_end_ms, next_at_ms, updated_ms, expires_ms, doc)
				VALUES ('s', ?, '', 1, 'dead', '', 0, 0, 1, 2, '{}')`, fmt.Sprint(i)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Records counts the deliveries kept.
func (h *Host) Records(ctx context.Context) (n int64, err error) {
	err = h.stack.DB.Read(ctx, func(tx *sqlitedb.Tx) error {
		return tx.Query(`SELECT count(*) FROM delivery`, func(r sqlitedb.Row) error { n = r.Int(0); return nil })
	})
	return n, err
}

// Reserve takes slots of a throttled subscription ahead.
func (h *Host) Reserve(ctx context.Context, rate float64, n int) error {
	_, err := h.stack.Store.Reserve(ctx, "arn:aws:sns:us-east-1:000000000000:t:x", rate, n, time.Now())
	return err
}

// Handler is the whole HTTP surface.
func (h *Host) Handler() http.Handler { return h.handler() }

// At puts the address that a connection was made to into a request's context.
func At(ctx context.Context, hostport string) context.Context {
	at, err := net.ResolveTCPAddr("tcp", hostport)
	if err != nil {
		panic(err)
	}
	return context.WithValue(ctx, http.LocalAddrContextKey, at)
}
