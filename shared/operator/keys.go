package operator

import (
	"context"
	"time"

	"postino/shared/access"
	"postino/shared/push"
)

// Keys makes, lists and revokes the keys that callers sign with;
// *access.Keyring.
type Keys interface {
	Add(ctx context.Context, g access.Grant) (k access.Key, secret string, err error)
	List(ctx context.Context) ([]access.Key, error)
	Revoke(ctx context.Context, id string) error
}

// Key is an access key as lists show it.
type Key struct {
	ID string `json:"id"`
	// Actions and Topics are what it is limited to; empty means all.
	Actions   []string  `json:"actions"`
	Topics    []string  `json:"topics"`
	Note      string    `json:"note"`
	CreatedAt time.Time `json:"createdAt"`
}

// NewKey is a key that was just made, with the secret that is told this once.
type NewKey struct {
	Key
	Secret string `json:"secret"`
}

// RevokedKey is what RevokeKey answers.
type RevokedKey struct {
	ID string `json:"id"`
}

// AddKey makes a key.
func (o *Operator) AddKey(ctx context.Context, g access.Grant) (NewKey, error) {
	k, secret, err := o.Keys.Add(ctx, g)
	if err != nil {
		return NewKey{}, err
	}
	return NewKey{shownKey(k), secret}, nil
}

// ListKeys lists all keys, by id.
func (o *Operator) ListKeys(ctx context.Context) ([]Key, error) {
	keys, err := o.Keys.List(ctx)
	shown := make([]Key, len(keys))
	for i, k := range keys {
		shown[i] = shownKey(k)
	}
	return shown, err
}

// RevokeKey removes a key: calls it signs are refused, here at once, by other
// processes within five seconds.
func (o *Operator) RevokeKey(ctx context.Context, id string) (RevokedKey, error) {
	return RevokedKey{id}, o.Keys.Revoke(ctx, id)
}

func shownKey(k access.Key) Key {
	return Key{ID: k.ID, Actions: append([]string{}, k.Actions...), Topics: append([]string{}, k.Topics...), Note: k.Note, CreatedAt: k.CreatedAt}
}

// AddKey calls the verb.
func (c *Client) AddKey(ctx context.Context, g access.Grant) (out NewKey, err error) {
	return out, c.call(ctx, "POST", []string{"keys"}, nil, g, &out)
}

// ListKeys calls the verb.
func (c *Client) ListKeys(ctx context.Context) (out []Key, err error) {
	return out, c.call(ctx, "GET", []string{"keys"}, nil, nil, &out)
}

// RevokeKey calls the verb.
func (c *Client) RevokeKey(ctx context.Context, id string) (out RevokedKey, err error) {
	if id == "" {
		return out, push.Errorf(push.CodeInvalidParameter, "The key's id is empty: is a shell variable unset?")
	}
	return out, c.call(ctx, "POST", []string{"keys", id, "revoke"}, nil, nil, &out)
}
