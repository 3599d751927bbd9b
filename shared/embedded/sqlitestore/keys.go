package sqlitestore

import (
	"context"

	"postino/shared/access"
	"postino/shared/embedded/sqlitedb"
	"postino/shared/push"
)

// CreateKey implements access.Store.
func (s *Store) CreateKey(ctx context.Context, k access.Key) (created bool, err error) {
	doc, err := encodeItem(k)
	if err != nil {
		return false, err
	}
	err = s.db.Do(ctx, func(tx *sqlitedb.Tx) error {
		n, err := tx.Exec(`INSERT INTO access_key VALUES (?, ?) ON CONFLICT (id) DO NOTHING`, k.ID, doc)
		created = n > 0
		return err
	})
	return created, err
}

// Key implements access.Store.
func (s *Store) Key(ctx context.Context, id string) (k access.Key, err error) {
	found := false
	err = s.db.Read(ctx, func(tx *sqlitedb.Tx) error {
		return tx.Query(`SELECT doc FROM access_key WHERE id = ?`, func(r sqlitedb.Row) (err error) {
			found = true
			k, err = decodeItem[access.Key]("the access key "+id, r.Text(0))
			return err
		}, id)
	})
	if err == nil && !found {
		err = push.Errorf(push.CodeNotFound, "Access key does not exist")
	}
	return k, err
}

// Keys implements access.Store.
func (s *Store) Keys(ctx context.Context, after string, limit int) (page []access.Key, next string, err error) {
	limit = max(limit, 1)
	err = s.db.Read(ctx, func(tx *sqlitedb.Tx) error {
		page = nil
		return tx.Query(`SELECT id, doc FROM access_key WHERE id > ? ORDER BY id LIMIT ?`, func(r sqlitedb.Row) error {
			k, err := decodeItem[access.Key]("the access key "+r.Text(0), r.Text(1))
			page = append(page, k)
			return err
		}, after, limit+1)
	})
	if err != nil {
		return nil, "", err
	}
	if len(page) > limit {
		page = page[:limit]
		next = page[limit-1].ID
	}
	return page, next, nil
}

// DeleteKey implements access.Store.
func (s *Store) DeleteKey(ctx context.Context, id string) (existed bool, err error) {
	err = s.db.Do(ctx, func(tx *sqlitedb.Tx) error {
		n, err := tx.Exec(`DELETE FROM access_key WHERE id = ?`, id)
		existed = n > 0
		return err
	})
	return existed, err
}
