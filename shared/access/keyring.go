package access

import (
	"context"
	"encoding/base32"
	"encoding/base64"
	"io"
	"strings"
	"time"

	"postino/shared/push"
)

// Store keeps keys. A missing one is an error with push.CodeNotFound.
type Store interface {
	// CreateKey stores k unless there is one of its id; then it answers false.
	CreateKey(ctx context.Context, k Key) (created bool, err error)
	// Key reads one as it is now, never from a copy that may be old.
	Key(ctx context.Context, id string) (Key, error)
	// Keys lists by id, those behind after; next is "" at the end.
	Keys(ctx context.Context, after string, limit int) (page []Key, next string, err error)
	// DeleteKey removes one; false when there was none.
	DeleteKey(ctx context.Context, id string) (existed bool, err error)
}

// Sealer encrypts secrets. What is sealed for one key id opens for no other.
type Sealer interface {
	Seal(ctx context.Context, keyID, secret string) ([]byte, error)
	Open(ctx context.Context, keyID string, sealed []byte) (secret string, err error)
}

// Keyring makes, lists and revokes keys, and finds the secret of one that has
// signed a call. Store, Sealer, Now and Random must be set. It is safe for
// concurrent use.
type Keyring struct {
	Store  Store
	Sealer Sealer
	Scope  Scope
	Now    func() time.Time
	// Random gives the bytes of ids and secrets: crypto/rand.Reader.
	Random io.Reader

	cache cache
}

const (
	// listed is how many keys are read at once.
	listed = 100
	// maxIDs bounds the ids that are remembered, of 20 bytes each.
	maxIDs = 10_000
)

// Add makes a key. The secret is told here and nowhere else.
func (r *Keyring) Add(ctx context.Context, g Grant) (k Key, secret string, err error) {
	if g, err = r.Scope.check(g); err != nil {
		return Key{}, "", err
	}
	random := make([]byte, 9+30)
	for range 3 { // an id that is taken is less likely than a broken source of randomness
		if _, err := io.ReadFull(r.Random, random); err != nil {
			return Key{}, "", err
		}
		k = Key{ID: IDPrefix + base32.StdEncoding.EncodeToString(random[:9])[:idLength-len(IDPrefix)],
			Actions: g.Actions, Topics: g.Topics, Note: g.Note, CreatedAt: r.Now().UTC().Truncate(time.Millisecond)}
		secret = base64.RawURLEncoding.EncodeToString(random[9:]) // 40 characters, as AWS's
		if k.Sealed, err = r.Sealer.Seal(ctx, k.ID, secret); err != nil {
			return Key{}, "", err
		}
		created, err := r.Store.CreateKey(ctx, k)
		if err != nil {
			return Key{}, "", err
		}
		if created {
			r.cache.forget(k.ID)
			return k, secret, nil
		}
	}
	return Key{}, "", push.Errorf(push.CodeInternalError, "No key id is free: is the source of randomness broken?")
}

// List gives all keys by id.
func (r *Keyring) List(ctx context.Context) (all []Key, err error) {
	for after := ""; ; {
		page, next, err := r.Store.Keys(ctx, after, listed)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if next == "" {
			return all, nil
		}
		after = next
	}
}

// Revoke removes a key. Here it is refused at once, by other processes within
// cacheFor.
func (r *Keyring) Revoke(ctx context.Context, id string) error {
	existed, err := r.Store.DeleteKey(ctx, strings.ToUpper(id))
	r.cache.forget(strings.ToUpper(id)) // after a fault too, which does not tell whether it is gone
	if err != nil {
		return err
	}
	if !existed {
		return push.Errorf(push.CodeNotFound, "There is no key %q: `postino keys list` shows those there are", push.Clip(id))
	}
	return nil
}

// Empty reports whether there is no key at all.
func (r *Keyring) Empty(ctx context.Context) (bool, error) {
	return r.cache.isEmpty(r.Now(), func() (bool, error) {
		page, _, err := r.Store.Keys(ctx, "", 1)
		return len(page) == 0, err
	})
}

// find gives a key with its secret. An id that is nobody's is refused with
// InvalidClientTokenId; a fault of store or sealer is ours and says nothing about
// the caller.
func (r *Keyring) find(ctx context.Context, id string) (Key, string, error) {
	if !validID(id) {
		return Key{}, "", unknownKey(id)
	}
	return r.cache.find(ctx, id, r.Now, source{list: func() (map[string]struct{}, error) { return r.ids(ctx) }, read: func(have *entry) error {
		k, err := r.Store.Key(ctx, id)
		if err != nil {
			return err
		}
		if have.secret == "" || string(have.key.Sealed) != string(k.Sealed) {
			if have.secret, err = r.Sealer.Open(ctx, id, k.Sealed); err != nil {
				return err
			}
		}
		have.key = k
		return nil
	}})
}

// ids lists the ids of all keys, of maxIDs at most: keys are made by hand, and the
// rest of them is found as new ones are.
func (r *Keyring) ids(ctx context.Context) (map[string]struct{}, error) {
	ids := map[string]struct{}{}
	for after := ""; ; {
		page, next, err := r.Store.Keys(ctx, after, listed)
		if err != nil {
			return nil, err
		}
		for _, k := range page {
			ids[k.ID] = struct{}{}
		}
		if next == "" || len(ids) >= maxIDs {
			return ids, nil
		}
		after = next
	}
}
