package host

import (
	"context"
	"fmt"

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
