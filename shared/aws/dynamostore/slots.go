package dynamostore

import (
	"context"
	"fmt"
	"math"
	"time"

	"postino/shared/push"
)

// slotsKept is how long a subscription's slots are remembered when it is idle.
const slotsKept = 7 * 24 * time.Hour

// Reserve implements pipeline.Slots by the generic cell rate algorithm without
// tolerance: one conditional write a block, two when the subscription was idle.
// rate and n must be positive.
func (s *Store) Reserve(ctx context.Context, subscriptionARN string, rate float64, n int, now time.Time) (time.Time, error) {
	if !(rate > 0) || n < 1 {
		return time.Time{}, fmt.Errorf("%d slots at %v a second cannot be reserved", n, rate)
	}
	taken := math.Ceil(float64(n) / rate * float64(time.Second))
	if taken > float64(slotsFar) {
		return time.Time{}, fmt.Errorf("%d slots at %v a second lie too far in the future", n, rate)
	}
	r := reservation{key: key(slotKey(subscriptionARN)), taken: int64(taken), now: now.UnixNano()}
	for try := 1; try <= changesTried; try++ {
		// Busy: behind the slots that are taken.
		free, ok, err := s.reserve(ctx, r, "SET #next = #next + :taken, v = :v, #ttl = :ttl", "#next >= :now", item{":taken": number(r.taken)})
		if err != nil || ok {
			return free, err
		}
		// Idle: from now on. Whoever else was idle until now may be faster.
		free, ok, err = s.reserve(ctx, r, "SET #next = :end, v = :v, #ttl = :ttl", "attribute_not_exists(pk) OR #next < :now", item{":end": number(r.now + r.taken)})
		if err != nil || ok {
			return free, err
		}
		if err := s.pause(ctx, try); err != nil {
			return time.Time{}, err
		}
	}
	return time.Time{}, push.Errorf(push.CodeThrottling, "Too many workers reserve slots of one subscription at once.")
}

// slotsFar is the longest reservation: what lies further ahead is a mistake.
const slotsFar = 366 * 24 * time.Hour

// reservation is a block of slots wanted; times in nanoseconds.
type reservation struct {
	key        item
	taken, now int64
}

func (s *Store) reserve(ctx context.Context, r reservation, change, when string, values item) (first time.Time, ok bool, err error) {
	values[":now"], values[":v"] = number(r.now), number(itemVersion)
	values[":ttl"] = number(time.Unix(0, r.now+r.taken).Add(slotsKept).Unix())
	i, ok, err := s.update(ctx, r.key, change, condition{when, map[string]string{"#next": "next", "#ttl": TTLAttribute}, values})
	if err != nil || !ok {
		return time.Time{}, false, err
	}
	f := read(i)
	first = time.Unix(0, f.number("next")-r.taken).UTC()
	return first, f.err == nil, f.fault("a subscription's slots")
}
