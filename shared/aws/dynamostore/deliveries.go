package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"postino/shared/push"
)

var errNoDelivery = errors.New("is no delivery's key")

// Every write carries a random name of its own. When the SDK tries a write again
// because the answer got lost, the condition fails on what the first try wrote;
// the name tells that apart from somebody else's write.

// Claim implements pipeline.Deliveries. A record that expired before now counts
// as missing.
func (s *Store) Claim(ctx context.Context, d push.Delivery, now time.Time) (push.Delivery, bool, error) {
	d.State = push.Claimed
	write := s.NewID()
	change, c := claiming(d, now, write)
	i, ok, err := s.update(ctx, key(deliveryKey(d.Key)), change, c)
	current, ok, err := judge(d.Key, i, ok, err, write)
	for try := 1; err == nil && !ok && try <= changesTried; try++ {
		next := claimed(current, d, now)
		if next == nil {
			break
		}
		// The one write above cannot make a record anew in the place of an
		// expired one, nor keep an expiry that lies later.
		unchanged := condition{"#write = :was", map[string]string{"#write": "write"}, item{":was": i["write"]}}
		if i, current, ok, err = s.record(ctx, *next, unchanged); i == nil {
			break
		}
	}
	return current, ok, err
}

// claiming is the claim as one write. History, creation and places in the lists
// stay.
func claiming(d push.Delivery, now time.Time, write string) (change string, c condition) {
	change = "SET v = :v, #n = :n, #state = :claimed, #owner = :owner, lease = :lease, updated = :updated, #write = :write, created = if_not_exists(created, :created)," +
		" listPK = if_not_exists(listPK, :listPK), listSK = if_not_exists(listSK, :listSK), statePK = if_not_exists(statePK, :statePK), stateSK = if_not_exists(stateSK, :stateSK)"
	places := item{}
	places.setLists(d.Key, d.State, listedAt(d))
	c = condition{
		expression: "attribute_not_exists(pk) OR (attribute_not_exists(expires) OR (expires >= :now AND expires <= :expires)) AND" +
			" (#n = :before AND #state = :finished OR #n = :n AND #state = :claimed AND lease < :now)",
		names: map[string]string{"#n": "n", "#state": "state", "#owner": "owner", "#write": "write"},
		values: item{":v": number(itemVersion), ":n": number(d.Attempt), ":before": number(d.Attempt - 1), ":claimed": text(string(push.Claimed)),
			":finished": text(string(push.Finished)), ":owner": text(d.Owner), ":lease": text(instant(d.LeaseEnd)), ":updated": text(instant(d.UpdatedAt)),
			":created": text(instant(d.CreatedAt)), ":write": text(write), ":now": text(instant(now)), ":expires": text(instant(d.Expires)),
			":listPK": places[listPK], ":listSK": places[listSK], ":statePK": places[statePK], ":stateSK": places[stateSK]},
	}
	if !d.Expires.IsZero() {
		ttl := item{}
		ttl.setTTL(d.Expires)
		change += ", expires = :expires, #ttl = :ttl"
		c.names["#ttl"], c.values[":ttl"] = TTLAttribute, ttl[TTLAttribute]
	}
	if d.Kind != "" {
		change += ", kind = :kind"
		c.values[":kind"] = text(string(d.Kind))
	}
	if d.Reason != "" {
		change += ", reason = :reason"
		c.values[":reason"] = text(d.Reason)
	}
	return change + " REMOVE nextAt, nextPhase, target", c
}

// claimed is the record after d claims it, nil when it may not.
func claimed(have, d push.Delivery, now time.Time) *push.Delivery {
	if expired(have, now) {
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
}

func expired(d push.Delivery, now time.Time) bool {
	return !d.Expires.IsZero() && d.Expires.Before(now)
}

// Create implements pipeline.Deliveries. A record that expired before
// d.UpdatedAt counts as missing.
func (s *Store) Create(ctx context.Context, d push.Delivery) (push.Delivery, bool, error) {
	_, current, ok, err := s.record(ctx, d, condition{"attribute_not_exists(pk) OR expires < :now", nil, item{":now": text(instant(d.UpdatedAt))}})
	return current, ok, err
}

// Settle implements pipeline.Deliveries.
func (s *Store) Settle(ctx context.Context, d push.Delivery) (push.Delivery, bool, error) {
	_, current, ok, err := s.record(ctx, d, condition{"#n = :n AND #state = :claimed AND #owner = :owner",
		map[string]string{"#n": "n", "#state": "state", "#owner": "owner"},
		item{":n": number(d.Attempt), ":claimed": text(string(push.Claimed)), ":owner": text(d.Owner)}})
	return current, ok, err
}

// record writes d whole when c allows it.
func (s *Store) record(ctx context.Context, d push.Delivery, c condition) (i item, current push.Delivery, ok bool, err error) {
	write := s.NewID()
	if i, err = deliveryItem(d, write); err != nil {
		return nil, push.Delivery{}, false, err
	}
	i, ok, err = s.put(ctx, i, c)
	current, ok, err = judge(d.Key, i, ok, err, write)
	return i, current, ok, err
}

// judge reads what a conditional write of the given name answered.
func judge(k push.DeliveryKey, i item, ok bool, err error, write string) (push.Delivery, bool, error) {
	if err != nil || i == nil {
		return push.Delivery{Key: k}, false, err
	}
	current, err := readDelivery(i)
	own := (&fields{item: i}).text("write") == write
	return current, err == nil && (ok || own), err
}

// End implements pipeline.Deliveries.
func (s *Store) End(ctx context.Context, k push.DeliveryKey, attempt int, state push.State, target, reason string, now time.Time) error {
	if !state.Ended() {
		return fmt.Errorf("%q is no end of a delivery", state)
	}
	values := item{}
	values.setLists(k, state, now)
	_, _, err := s.update(ctx, key(deliveryKey(k)),
		"SET #state = :state, target = :target, reason = :reason, updated = :now, listPK = :listPK, listSK = :order, statePK = :statePK, stateSK = :order",
		condition{"#n = :n AND #state IN (:claimed, :finished)", map[string]string{"#n": "n", "#state": "state"},
			item{":n": number(attempt), ":claimed": text(string(push.Claimed)), ":finished": text(string(push.Finished)), ":state": text(string(state)), ":target": text(target), ":reason": text(reason), ":now": text(instant(now)),
				":listPK": values[listPK], ":order": values[listSK], ":statePK": values[statePK]}})
	return err
}

// GetDelivery reads one record strongly; false when there is none.
func (s *Store) GetDelivery(ctx context.Context, k push.DeliveryKey) (push.Delivery, bool, error) {
	i, err := s.get(ctx, key(deliveryKey(k)), true)
	if err != nil || i == nil {
		return push.Delivery{}, false, err
	}
	d, err := readDelivery(i)
	return d, err == nil, err
}
