package sqlitestore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"postino/shared/embedded/sqlitedb"
	"postino/shared/operator"
	"postino/shared/push"
)

// states are all states a record can have.
var states = []push.State{push.Claimed, push.Finished, push.Delivered, push.Dead, push.Dropped}

// listed is a delivery with its row's number, which settles the order of those
// changed in the same millisecond.
type listed struct {
	push.Delivery
	id int64
}

func newestFirst(a, b listed) int {
	return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(b.id, a.id))
}

// defaultLimit is used where a filter has none.
const defaultLimit = 100

// ListDeliveries implements operator.Deliveries: latest change first. After is
// a previous answer's next. A record that changes between two pages may be
// listed twice.
func (s *Store) ListDeliveries(ctx context.Context, f operator.Filter) (page []push.Delivery, next string, err error) {
	if f.Limit <= 0 {
		f.Limit = defaultLimit
	}
	if len(f.States) == 0 {
		f.States = states
	}
	f.States = slices.Compact(slices.Sorted(slices.Values(f.States)))
	before, id, err := parseAfter(f.After)
	if err != nil {
		return nil, "", err
	}
	where, args := conditions(f)
	args = append(args, before, before, id, f.Limit+1)
	var found []listed
	err = s.db.Read(ctx, func(tx *sqlitedb.Tx) error {
		found = nil
		for _, by := range searches(f) {
			err := tx.Query(`SELECT `+deliveryColumns+`, id FROM delivery WHERE `+by.condition+where+`
				AND (updated_ms < ? OR updated_ms = ? AND id < ?) ORDER BY updated_ms DESC, id DESC LIMIT ?`,
				func(r sqlitedb.Row) error {
					d, err := decodeDelivery(r)
					found = append(found, listed{d, r.Int(11)})
					return err
				}, slices.Concat(by.states, args)...)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	slices.SortFunc(found, newestFirst)
	if len(found) > f.Limit {
		found = found[:f.Limit]
		last := found[f.Limit-1]
		next = fmt.Sprintf("%d.%d", last.UpdatedAt.UnixMilli(), last.id)
	}
	for _, l := range found {
		page = append(page, l.Delivery)
	}
	return page, next, nil
}

// search is one of the queries that a listing is made of.
type search struct {
	condition string
	states    []any
}

// searches asks once for a subscription's or a message's deliveries, whose own
// index leads to few; +state keeps SQLite off the state's index. Otherwise it
// asks state by state: each query walks the (state, updated_ms) index from the
// end and stops after a page.
func searches(f operator.Filter) (all []search) {
	if f.Subscription == "" && f.MessageID == "" {
		for _, s := range f.States {
			all = append(all, search{"state = ?", []any{string(s)}})
		}
		return all
	}
	one := search{condition: "+state IN (?" + strings.Repeat(", ?", len(f.States)-1) + ")"}
	for _, s := range f.States {
		one.states = append(one.states, string(s))
	}
	return []search{one}
}

// conditions are the filter's but for the state.
func conditions(f operator.Filter) (where string, args []any) {
	if f.Subscription != "" {
		where += " AND subscription = ?"
		args = append(args, f.Subscription)
	}
	if f.TopicARN != "" { // ';' follows ':'
		where += " AND subscription > ? AND subscription < ?"
		args = append(args, f.TopicARN+":", f.TopicARN+";")
	}
	if f.MessageID != "" {
		where += " AND message_id = ?"
		args = append(args, f.MessageID)
	}
	return where, args
}

func parseAfter(s string) (updated, id int64, err error) {
	if s == "" {
		return 1<<63 - 1, 0, nil
	}
	a, b, _ := strings.Cut(s, ".")
	updated, err1 := strconv.ParseInt(a, 10, 64)
	id, err2 := strconv.ParseInt(b, 10, 64)
	if err1 != nil || err2 != nil {
		return 0, 0, push.Invalid("%.40q does not continue a listing of deliveries", s)
	}
	return updated, id, nil
}
