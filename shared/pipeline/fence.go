package pipeline

import (
	"context"
	"time"

	"postino/shared/deliverypolicy"
	"postino/shared/push"
)

// This file is the fencing protocol: what keeps a delivery from being lost or
// forked when any step may crash, any queue message may come twice and any
// lease may lapse under a live owner. Its three rules:
//
//  1. attempt n ≥ 2 is pushed only under a claim of (n), so of several copies
//     of job(n) one goes on;
//  2. an attempt is recorded before its successor is sent, and the successor is
//     sent before the job is acknowledged, so a crash repeats and never loses;
//  3. who finds (n) finished sends the successor again, since whoever finished
//     it may have crashed before sending; copies are settled by rule 1.
//
// A first attempt that succeeds touches no record, unless somebody asked for the
// delivery, by a redrive or a test, and will look for it. But one whose job was in hand
// before, so that it may have been made already, is claimed like the rest: a
// failure on our side behind a push that failed must not repeat the push.

// repeated reports whether the job is a first attempt that was in hand before,
// itself or as the copy it was made of.
func (r run) repeated() bool {
	return r.job.Attempt == 1 && (r.record.ReceiveCount > 1 || r.job.Stumbles > 0)
}

// wanted reports whether somebody asked for this one delivery and will look for
// what became of it: generations are made by redrives and tests alone.
func (r run) wanted() bool { return r.job.Generation != "" }

// unusual is the kind of a job that is no notification.
func (r run) unusual() push.Kind {
	if r.job.Kind == push.Notification {
		return ""
	}
	return r.job.Kind
}

// claim takes the right to push the job's attempt, where it needs one: an owner
// says so. A verdict, when not nil, says how the job goes on instead.
func (d *Deliver) claim(ctx context.Context, r run) (claim push.Delivery, verdict func() bool) {
	if r.job.Attempt == 1 && !r.repeated() {
		return push.Delivery{Key: r.job.Key(), Kind: r.unusual(), Attempt: 1, CreatedAt: r.now}, nil
	}
	now := d.Now()
	claim = push.Delivery{Key: r.job.Key(), Kind: r.unusual(), Attempt: r.job.Attempt, State: push.Claimed, Owner: d.NewID(),
		LeaseEnd: now.Add(d.RequestTimeout + leaseMargin), CreatedAt: now, UpdatedAt: now, Expires: now.Add(recordOutlives)}
	current, ok, err := d.Deliveries.Claim(ctx, claim, now)
	switch {
	case err != nil:
		return claim, func() bool { return d.stumble(ctx, r, err) }
	case ok:
		return current, nil
	}
	return claim, func() bool { return d.elsewhere(ctx, r, current) }
}

// settle records attempt a and sees to what follows.
func (d *Deliver) settle(ctx context.Context, r run, claim push.Delivery, a push.Attempt, next deliverypolicy.Decision) bool {
	unclaimed := claim.Owner == ""
	if unclaimed && next.Action == deliverypolicy.Done && !r.wanted() {
		return d.delivered(r, a)
	}
	rec := claim
	rec.Remember(a)
	rec.Reason, rec.UpdatedAt, rec.Expires = next.Reason, a.Ended, a.Ended.Add(recordOutlives)
	rec.NextAt, rec.NextPhase = time.Time{}, ""
	rec.State = push.Finished
	switch next.Action {
	case deliverypolicy.Done:
		rec.State = push.Delivered
	case deliverypolicy.Retry:
		rec.NextAt, rec.NextPhase = next.At, string(next.Phase)
	}
	write := d.Deliveries.Settle
	if unclaimed {
		write = d.Deliveries.Create
	}
	current, ok, err := write(ctx, rec)
	switch {
	case err != nil:
		// The outcome is lost, so the attempt repeats, but no sooner than the
		// next one would have come.
		if rec.NextAt.After(r.job.NotBefore) {
			r.job.NotBefore = rec.NextAt
		}
		return d.stumble(ctx, r, err)
	case !ok && unclaimed:
		return d.elsewhere(ctx, r, current)
	case !ok:
		// The new owner may crash, and then this copy is the only one.
		return d.comeBack(r, "another worker took over this attempt", nil)
	case rec.State == push.Delivered:
		return d.delivered(r, a)
	}
	return d.follow(ctx, r, rec, &a)
}

// elsewhere decides a job whose record says that somebody else is ahead.
func (d *Deliver) elsewhere(ctx context.Context, r run, current push.Delivery) bool {
	n := r.job.Attempt
	switch {
	case current.Attempt > n || current.State.Ended():
		return true // the chain lives elsewhere, or has ended
	case current.Attempt == n && current.State == push.Finished:
		return d.follow(ctx, r, current, nil)
	case current.Attempt == n && current.State == push.Claimed:
		r.job.Stumbles = max(r.job.Stumbles, 1) // a first attempt must claim from now on
		return d.putBack(ctx, r, hold{until: current.LeaseEnd.Add(time.Second), reason: "another worker holds this attempt"})
	default:
		return d.comeBack(r, "the record is behind this job", nil)
	}
}

// follow sends what comes after a finished attempt: the next job at its due
// time, or the dead letter. a is nil when the attempt was somebody else's.
func (d *Deliver) follow(ctx context.Context, r run, rec push.Delivery, a *push.Attempt) bool {
	if rec.NextAt.IsZero() {
		return d.bury(ctx, r, rec, a)
	}
	next := push.Job{Kind: r.job.Kind, Subscription: r.job.Subscription, Generation: r.job.Generation, Redrives: r.job.Redrives,
		Message: r.job.Message, Attempt: rec.Attempt + 1, Phase: rec.NextPhase, NotBefore: rec.NextAt}
	if err := d.later(ctx, next, rec.NextAt); err != nil {
		return d.stumble(ctx, r, err)
	}
	if a != nil {
		d.observe(d.attempted(EventRetry, r, *a, rec.NextAt))
	}
	return true
}

// delivered tells of a success, with what its topic wants known of such.
func (d *Deliver) delivered(r run, a push.Attempt) bool {
	e := d.attempted(EventDelivered, r, a, time.Time{})
	e.SampleRate = r.target.topic.SuccessSampleRate
	d.observe(e)
	return true
}

// attempted is the event of an attempt behind which at is what comes next.
func (d *Deliver) attempted(kind EventKind, r run, a push.Attempt, at time.Time) Event {
	e := d.event(kind, r)
	e.Time, e.Attempt, e.At, e.Reason = a.Ended, a, at, a.Reason
	return e
}
