package sqlitestore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"postino/shared/embedded/sqlitedb"
	"postino/shared/push"
)

// deliveryDoc is what of a delivery no condition and no listing looks at.
type deliveryDoc struct {
	V         int            `json:"v"`
	Kind      push.Kind      `json:"kind,omitempty"`
	NextPhase string         `json:"nextPhase,omitempty"`
	Reason    string         `json:"reason,omitempty"`
	Target    string         `json:"target,omitempty"`
	Attempts  []push.Attempt `json:"attempts,omitempty"`
	Created   int64          `json:"created"`
}

const deliveryColumns = `subscription, message_id, generation, attempt, state, owner, lease_end_ms, next_at_ms, updated_ms, expires_ms, doc`

// Claim implements pipeline.Deliveries. A record that expired before now counts
// as missing.
func (s *Store) Claim(ctx context.Context, d push.Delivery, now time.Time) (push.Delivery, bool, error) {
	return s.when(ctx, d.Key, func(have *push.Delivery) *push.Delivery {
		d := d
		d.State = push.Claimed
		if have == nil || expired(*have, now) {
			return &d
		}
		follows := have.Attempt == d.Attempt-1 && have.State == push.Finished
		lapsed := have.Attempt == d.Attempt && have.State == push.Claimed && have.LeaseEnd.Before(now)
		if !follows && !lapsed {
			return nil
		}
		d.Attempts, d.CreatedAt = have.Attempts, have.CreatedAt
		if d.Reason == "" {
			d.Reason = have.Reason
		}
		if d.Expires.Before(have.Expires) {
			d.Expires = have.Expires
		}
		return &d
	})
}

// Create implements pipeline.Deliveries. A record that expired before
// d.UpdatedAt counts as missing.
func (s *Store) Create(ctx context.Context, d push.Delivery) (push.Delivery, bool, error) {
	return s.when(ctx, d.Key, func(have *push.Delivery) *push.Delivery {
		if have == nil || expired(*have, d.UpdatedAt) {
			return &d
		}
		return nil
	})
}

// Settle implements pipeline.Deliveries.
func (s *Store) Settle(ctx context.Context, d push.Delivery) (push.Delivery, bool, error) {
	return s.when(ctx, d.Key, func(have *push.Delivery) *push.Delivery {
		if have != nil && have.Attempt == d.Attempt && have.State == push.Claimed && have.Owner == d.Owner {
			return &d
		}
		return nil
	})
}

// End implements pipeline.Deliveries.
func (s *Store) End(ctx context.Context, key push.DeliveryKey, attempt int, state push.State, target, reason string, now time.Time) error {
	if !state.Ended() {
		return fmt.Errorf("%q is no end of a delivery", state)
	}
	_, _, err := s.when(ctx, key, func(have *push.Delivery) *push.Delivery {
		if have == nil || have.Attempt != attempt || have.State.Ended() {
			return nil
		}
		d := *have
		d.State, d.Target, d.Reason, d.UpdatedAt = state, target, reason, now
		return &d
	})
	return err
}

func expired(d push.Delivery, now time.Time) bool {
	return !d.Expires.IsZero() && d.Expires.Before(now)
}

// when is one conditional write: decide sees the record (nil when missing) and
// gives what to write, nil to refuse. It answers the record as it then stands.
func (s *Store) when(ctx context.Context, key push.DeliveryKey, decide func(have *push.Delivery) *push.Delivery) (push.Delivery, bool, error) {
	// The closure may still run after ctx has ended; only it touches these then.
	var (
		stands push.Delivery
		wrote  bool
	)
	err := s.db.Do(ctx, func(tx *sqlitedb.Tx) error {
		stands, wrote = push.Delivery{Key: key}, false
		id, have, err := readDelivery(tx, key)
		if err != nil {
			return err
		}
		if have != nil {
			stands = *have
		}
		d := decide(have)
		if d == nil {
			return nil
		}
		if err := writeDelivery(tx, id, *d); err != nil {
			return err
		}
		stands, wrote = rounded(*d), true
		return nil
	})
	if err != nil {
		return push.Delivery{}, false, err
	}
	return stands, wrote, nil
}

func readDelivery(tx *sqlitedb.Tx, key push.DeliveryKey) (id int64, d *push.Delivery, err error) {
	err = tx.Query(`SELECT `+deliveryColumns+`, id FROM delivery WHERE subscription = ? AND message_id = ? AND generation = ?`,
		func(r sqlitedb.Row) error {
			got, err := decodeDelivery(r)
			id, d = r.Int(11), &got
			return err
		}, key.Subscription, key.MessageID, key.Generation)
	return id, d, err
}

// writeDelivery replaces record id, or makes one when id is 0.
func writeDelivery(tx *sqlitedb.Tx, id int64, d push.Delivery) error {
	doc, err := json.Marshal(deliveryDoc{V: itemVersion, Kind: d.Kind, NextPhase: d.NextPhase, Reason: d.Reason, Target: d.Target, Attempts: d.Attempts, Created: milli(d.CreatedAt)})
	if err != nil {
		return err
	}
	lease, next := ceilMilli(d.LeaseEnd), ceilMilli(d.NextAt)
	if id == 0 {
		_, err = tx.Exec(`INSERT INTO delivery (`+deliveryColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			d.Key.Subscription, d.Key.MessageID, d.Key.Generation, d.Attempt, string(d.State), d.Owner, lease, next, milli(d.UpdatedAt), ceilMilli(d.Expires), string(doc))
		return err
	}
	_, err = tx.Exec(`UPDATE delivery SET attempt = ?, state = ?, owner = ?, lease_end_ms = ?, next_at_ms = ?, updated_ms = ?, expires_ms = ?, doc = ? WHERE id = ?`,
		d.Attempt, string(d.State), d.Owner, lease, next, milli(d.UpdatedAt), ceilMilli(d.Expires), string(doc), id)
	return err
}

func decodeDelivery(r sqlitedb.Row) (push.Delivery, error) {
	d := push.Delivery{
		Key:     push.DeliveryKey{Subscription: r.Text(0), MessageID: r.Text(1), Generation: r.Text(2)},
		Attempt: int(r.Int(3)), State: push.State(r.Text(4)), Owner: r.Text(5),
		LeaseEnd: fromMilli(r.Int(6)), NextAt: fromMilli(r.Int(7)), UpdatedAt: fromMilli(r.Int(8)), Expires: fromMilli(r.Int(9)),
	}
	var doc deliveryDoc
	err := json.Unmarshal([]byte(r.Text(10)), &doc)
	if err == nil && (doc.V < 1 || doc.V > itemVersion) {
		err = fmt.Errorf("version %d, this build reads 1 to %d", doc.V, itemVersion)
	}
	if err != nil {
		return d, &push.Error{Code: push.CodeInternalError, Cause: err, Text: "A delivery's record cannot be read. Use the build that wrote it, or restore a backup."}
	}
	d.Kind, d.NextPhase, d.Reason, d.Target, d.Attempts, d.CreatedAt = doc.Kind, doc.NextPhase, doc.Reason, doc.Target, doc.Attempts, fromMilli(doc.Created)
	return d, nil
}

// rounded is d as it will be read again. Ends of leases and due times are
// rounded up: neither may come early.
func rounded(d push.Delivery) push.Delivery {
	d.LeaseEnd, d.NextAt, d.Expires = fromMilli(ceilMilli(d.LeaseEnd)), fromMilli(ceilMilli(d.NextAt)), fromMilli(ceilMilli(d.Expires))
	d.UpdatedAt, d.CreatedAt = fromMilli(milli(d.UpdatedAt)), fromMilli(milli(d.CreatedAt))
	return d
}

// Times are Unix milliseconds in the database, 0 for none.
func milli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func ceilMilli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Add(time.Millisecond - 1).UnixMilli()
}

func fromMilli(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
