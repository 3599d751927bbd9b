package sqlitestore

import (
	"context"

	"postino/shared/embedded/sqlitedb"
	"postino/shared/push"
)

// ReleaseClaims ends the lease of every claim. It is for the start of a process
// that holds the data directory's lock: whoever claimed is dead, and what was in
// flight need not wait for the leases to lapse.
func (s *Store) ReleaseClaims(ctx context.Context) error {
	return s.db.Do(ctx, func(tx *sqlitedb.Tx) error {
		_, err := tx.Exec(`UPDATE delivery SET lease_end_ms = 0 WHERE state = ?`, string(push.Claimed))
		return err
	})
}
