package pipeline

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"postino/shared/push"
)

// hold says that a job must wait until a time before its attempt.
type hold struct {
	until  time.Time
	reason string
	// slot is the throttle slot the job now holds.
	slot time.Time
	// throttled: it is the slot that is waited for.
	throttled bool
	// paused keeps count of how long the job has waited.
	paused bool
}

// hold decides whether the job must wait, and waits itself when it is not for
// long. Nothing here burns an attempt.
func (d *Deliver) hold(ctx context.Context, r *run) (hold, bool, error) {
	j := &r.job
	if r.target.sub.Paused && j.Kind == push.Notification {
		return hold{until: r.now.Add(pausedHop(*j, r.now)), reason: "the subscription is paused", paused: true}, true, nil
	}
	if d.fresh(r.record) && j.Attempt == 1 && d.Health.Sick(j.Subscription, r.now) {
		return hold{until: r.now, reason: "the endpoint hangs or cannot be reached: moved to the retry lane"}, true, nil
	}
	until, reason, throttled := j.NotBefore, "it is not due yet", false
	// A job that is not due yet takes no slot: one far ahead would hold up all
	// that are due before.
	if rate := r.target.policy.MaxReceivesPerSecond; rate > 0 && j.Kind == push.Notification && until.Sub(r.now) <= nearWait {
		if j.Slot.IsZero() || r.now.Sub(j.Slot) > slotGood {
			from := r.now
			if until.After(from) {
				from = until
			}
			slot, err := d.throttle.take(ctx, j.Subscription, rate, from)
			if err != nil {
				return hold{}, false, err
			}
			j.Slot = slot
		}
		if j.Slot.After(until) {
			until, reason, throttled = j.Slot, fmt.Sprintf("the subscription takes %d messages a second", rate), true
		}
	}
	wait := until.Sub(r.now)
	if wait <= 0 {
		return hold{}, false, nil
	}
	if deadline, ok := ctx.Deadline(); wait > nearWait || ok && deadline.Sub(r.now) < wait+d.RequestTimeout+settleSlack {
		return hold{until: until, reason: reason, slot: j.Slot, throttled: throttled}, true, nil
	}
	if d.Sleep(ctx, wait) != nil {
		return hold{until: until, reason: reason, slot: j.Slot, throttled: throttled}, true, nil //nolint:nilerr // we are stopping: it waits in the queue
	}
	return hold{}, false, nil
}

// fresh reports whether the record came through the fresh lane.
func (d *Deliver) fresh(r Record) bool {
	return push.QueueName(r.Queue) == push.QueueName(d.Names.Attempt)
}

// pausedHop grows with the time waited, so that a long pause costs little and a
// short one ends soon after it is lifted: 5 s to 60 s.
func pausedHop(j push.Job, now time.Time) time.Duration {
	if j.WaitingSince.IsZero() {
		return 5 * time.Second
	}
	return min(max(now.Sub(j.WaitingSince), 5*time.Second), time.Minute)
}

// putBack sends the job again with a delay, unchanged but for the slot it
// holds, and only then lets the record be acknowledged. A crash between the two
// leaves two copies, which the claim settles.
func (d *Deliver) putBack(ctx context.Context, r run, h hold) bool {
	j := r.job
	if h.paused {
		if j.WaitingSince.IsZero() {
			j.WaitingSince = r.now
		}
	} else {
		j.WaitingSince = time.Time{}
	}
	j.Slot = h.slot
	if r.repeated() { // the copy starts with a receive count of its own
		j.Stumbles = max(j.Stumbles, 1)
	}
	if err := d.later(ctx, j, h.until); err != nil {
		return d.comeBack(r, "the job could not be put back", err)
	}
	e := d.event(EventWait, r)
	e.At, e.Reason, e.Throttled = h.until, h.reason, h.throttled
	d.observe(e)
	return true
}

// later sends j through the retry lane so that it arrives at or shortly before
// at: by the queue's delay, or beyond its limit by a timer.
func (d *Deliver) later(ctx context.Context, j push.Job, at time.Time) error {
	out := Outgoing{Body: j.Encode(), Group: groupOf(j.Subscription)}
	out.Delay = max(0, at.Sub(d.Now()))
	if out.Delay <= cmp.Or(d.MaxQueueDelay, MaxDelay) {
		return d.Queues.Send(ctx, d.Names.Retry, []Outgoing{out})[0]
	}
	out.Delay = 0
	return d.Timer.At(ctx, timerName(j, at), at, d.Names.Retry, out)
}

func groupOf(subscriptionARN string) string { return push.Subscription{ARN: subscriptionARN}.ID() }

// timerName names the wait of one attempt: hex of a hash, 64 characters, the
// most EventBridge Scheduler takes. The due time is in it, so that a later put
// back of the same attempt is a wait of its own.
func timerName(j push.Job, at time.Time) string {
	k := j.Key()
	sum := sha256.Sum256(fmt.Appendf(nil, "%s|%s|%s|%d|%d", k.Subscription, k.MessageID, k.Generation, j.Attempt, at.UnixMilli()))
	return hex.EncodeToString(sum[:])
}

const (
	// stumbleBase and stumbleMost bound the delay after a failure on our side.
	stumbleBase = time.Second
	stumbleMost = 5 * time.Minute
	// stumblesAllowed is how many such failures in a row a job survives before
	// it goes to FailedJobsQueue: about nearly eight hours of them.
	stumblesAllowed = 100
)

// stumble handles a failure on our side: the same attempt is sent again with a
// growing delay; if that fails too the record comes back by itself. The user's
// dead-letter queue is never involved.
func (d *Deliver) stumble(ctx context.Context, r run, cause error) bool {
	e := d.event(EventFault, r)
	e.Err = cause
	j := r.job
	j.Stumbles++
	if j.Stumbles > stumblesAllowed {
		rec := r.record
		j.Stumbles = 0
		rec.Body = j.Encode()
		return park(ctx, d.Queues, d.Names.Failed, rec, fmt.Errorf("gave up after %d failures on our side, the last: %w", stumblesAllowed, cause), d.observe)
	}
	delay := min(stumbleBase<<min(j.Stumbles-1, 9), stumbleMost)
	at := d.Now().Add(delay)
	if j.NotBefore.After(at) {
		at = j.NotBefore
	}
	if err := d.later(ctx, j, at); err != nil {
		e.Reason = "a failure on our side; the job comes back with its queue's visibility timeout"
		d.observe(e)
		return false
	}
	e.At, e.Reason = at, "a failure on our side; the same attempt is tried again"
	d.observe(e)
	return true
}
