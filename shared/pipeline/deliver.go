package pipeline

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"postino/shared/crew"
	"postino/shared/envelope"
	"postino/shared/push"
)

// Deliver makes attempts: it takes jobs from the two lanes, pushes, and sees
// to what follows.
type Deliver struct {
	Directory  Directory
	Deliveries Deliveries
	Slots      Slots
	Queues     Queues
	Timer      Timer
	Sender     Sender
	// Signer signs a message that was published while every subscription was
	// raw and now meets one that is not.
	Signer   Signer
	Health   *Health
	Observer Observer
	Names    QueueNames
	Links    envelope.Links
	Now      func() time.Time
	// Sleep waits in process for d or until ctx ends.
	Sleep func(ctx context.Context, d time.Duration) error
	// Random is uniform in [0, 1), for jitter.
	Random func() float64
	// NewID makes a random UUID.
	NewID func() string
	// RequestTimeout bounds one attempt in all (15 s as SNS).
	RequestTimeout time.Duration
	// MaxQueueDelay is the wait up to which a queue's delay is used instead of
	// the timer; 0 means MaxDelay, which is also the most.
	MaxQueueDelay time.Duration
	// CacheFor is how long a read subscription may be used: 5 s where reads
	// cost, 0 where they are free.
	CacheFor time.Duration

	once     sync.Once
	targets  targets
	throttle throttle
	crew     *crew.Crew
}

const (
	// leaseMargin is what a claim's lease has beyond the request timeout.
	leaseMargin = 15 * time.Second
	// nearWait is how long an attempt that is nearly due is waited for in
	// process instead of being put back.
	nearWait = 2 * time.Second
	// settleSlack is the time kept after a push for recording and sending.
	settleSlack = 5 * time.Second
	// crewRest is how long a goroutine waits for its next attempt.
	crewRest = 5 * time.Second
	// recordOutlives is how long a record is kept past its last write: the
	// longest schedule's gap plus the dead-letter retention of 14 days.
	recordOutlives = 16 * 24 * time.Hour
)

func (d *Deliver) start() {
	d.targets = targets{directory: d.Directory, ttl: d.CacheFor}
	d.throttle = throttle{slots: d.Slots}
	d.crew = crew.New(crewRest)
}

// Handle makes at most one attempt for each record, side by side, and returns
// the ids of the records that must come back.
func (d *Deliver) Handle(ctx context.Context, records []Record) (failed []string) {
	d.once.Do(d.start)
	if len(records) == 1 {
		if !d.guarded(ctx, records[0]) {
			failed = append(failed, records[0].ID)
		}
		return failed
	}
	done := make([]bool, len(records))
	var wg sync.WaitGroup
	wg.Add(len(records))
	for i, r := range records {
		d.crew.Go(func() {
			defer wg.Done()
			done[i] = d.guarded(ctx, r)
		})
	}
	wg.Wait()
	for i, r := range records {
		if !done[i] {
			failed = append(failed, r.ID)
		}
	}
	return failed
}

// guarded handles one record and turns a panic into "comes back".
func (d *Deliver) guarded(ctx context.Context, r Record) (done bool) {
	defer func() {
		if p := recover(); p != nil {
			d.observe(Event{Kind: EventFault, Lane: r.Queue, Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack()), Reason: "the attempt broke off; the job comes back"})
			done = false
		}
	}()
	job, err := push.DecodeJob(r.Body)
	if err != nil {
		return park(ctx, d.Queues, d.Names.Failed, r, err, d.observe)
	}
	return d.one(ctx, run{record: r, job: job, now: d.Now()})
}

// run is one job on its way through Deliver.
type run struct {
	record Record
	job    push.Job
	target target
	now    time.Time
}

// one answers whether the record may be acknowledged.
func (d *Deliver) one(ctx context.Context, r run) bool {
	t, ok, err := d.targets.get(ctx, r.job.Subscription, r.now)
	if err == nil && ok && unwanted(r.job, t.sub, r.now) != "" && !(t.strong && t.readAt.Equal(r.now)) {
		// A confirmation may be younger than what was read: nothing is dropped
		// on the word of a cache.
		t, ok, err = d.targets.read(ctx, r.job.Subscription, r.now, true)
	}
	if err != nil {
		return d.stumble(ctx, r, err)
	}
	r.target = t
	if !ok {
		return d.drop(ctx, r, "the subscription no longer exists")
	}
	if reason := unwanted(r.job, t.sub, r.now); reason != "" {
		return d.drop(ctx, r, reason)
	}
	if hold, ok, err := d.hold(ctx, &r); err != nil {
		return d.stumble(ctx, r, err)
	} else if ok {
		return d.putBack(ctx, r, hold)
	}
	return d.attempt(ctx, r)
}

// unwanted says why a job is no longer wanted, "" if it is.
func unwanted(j push.Job, s push.Subscription, now time.Time) string {
	switch j.Kind {
	case push.SubscriptionConfirm:
		switch {
		case s.Deleted():
			return "the subscription was removed before it was confirmed"
		case s.Confirmed:
			return "the subscription is confirmed already"
		case s.Token != j.Message.Token || !s.TokenExpires.IsZero() && now.After(s.TokenExpires):
			return "the confirmation's token is no longer valid"
		}
	case push.UnsubscribeConfirmation:
		if !s.Deleted() || s.Token != j.Message.Token {
			return "the subscription was made again"
		}
	default:
		switch {
		case s.Deleted():
			return "the endpoint was unsubscribed"
		case !s.Confirmed:
			return "the subscription is not confirmed"
		}
	}
	return ""
}

// attempt is the push with its fencing before and after.
func (d *Deliver) attempt(ctx context.Context, r run) bool {
	if deadline, ok := ctx.Deadline(); ok && deadline.Sub(d.Now()) < d.RequestTimeout+settleSlack {
		return d.comeBack(r, "too little time is left to finish an attempt", nil)
	}
	request, err := d.request(r)
	if err != nil {
		return d.stumble(ctx, r, err)
	}
	claim, verdict := d.claim(ctx, r)
	if verdict != nil {
		return verdict()
	}
	result, started, ended := d.push(ctx, r, request)
	if ctx.Err() != nil && result.Class != push.Success && result.Status == 0 {
		// We stopped it before the endpoint answered: no attempt is counted.
		return d.comeBack(r, "this process stopped before the attempt ended", ctx.Err())
	}
	if result.Fault == push.LocalFault {
		// Ours, not the endpoint's: the same attempt again, uncounted.
		return d.stumble(ctx, r, errors.New(result.Detail))
	}
	decision := r.target.policy.Schedule.Decide(r.job.Attempt, ended, result, d.Random())
	a := push.Attempt{Number: r.job.Attempt, Phase: d.phase(r), Started: started, Ended: ended, Class: result.Class,
		Status: result.Status, Fault: result.Fault, Detail: result.Detail, Reason: decision.Reason}
	ctx, cancel := unstopped(ctx)
	defer cancel()
	return d.settle(ctx, r, claim, a, decision)
}

// unstopped is ctx for what follows an attempt that is over: a stop must not
// undo what the endpoint has seen. The deadline stays; a push begins only where
// there is time for this behind it.
func unstopped(ctx context.Context) (context.Context, context.CancelFunc) {
	on := context.WithoutCancel(ctx)
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(on, deadline)
	}
	return on, func() {}
}

// push makes the attempt, with the health of its subscription noted even when
// the sender panics.
func (d *Deliver) push(ctx context.Context, r run, request envelope.Request) (result push.Result, started, ended time.Time) {
	started = d.Now()
	d.Health.begin(r.job.Subscription, started)
	result.Connected = true // a panic is no fault of the endpoint
	defer func() {
		ended = d.Now()
		d.Health.end(r.job.Subscription, started, ended, result)
	}()
	result = d.Sender.Send(ctx, r.target.sub.Endpoint, request)
	return result, started, ended
}

func (d *Deliver) phase(r run) string {
	if r.job.Phase != "" {
		return r.job.Phase
	}
	return string(r.target.policy.Schedule.PhaseOf(r.job.Attempt))
}

// request builds what is pushed, signing late where publish had no need to, or
// where the server's URL, which a confirmation's signature covers, has changed.
func (d *Deliver) request(r run) (envelope.Request, error) {
	m := r.job.Message
	signed := m.Signature.Value != "" && strings.HasPrefix(m.Signature.CertURL, d.Links.PublicURL+"/")
	if !signed && (!r.target.sub.Raw || r.job.Kind != push.Notification) {
		var err error
		if m.Signature, err = d.Signer.Sign(r.job.Kind, m, r.target.topic.Signature()); err != nil {
			return envelope.Request{}, err
		}
	}
	return envelope.Build(r.job.Kind, m, r.target.sub, r.target.policy.ContentType, d.Links), nil
}

// comeBack leaves the record in its queue until its visibility timeout.
func (d *Deliver) comeBack(r run, reason string, err error) bool {
	e := d.event(EventFault, r)
	e.Reason, e.Err = reason, err
	d.observe(e)
	return false
}

// drop ends a delivery by a user's act.
func (d *Deliver) drop(ctx context.Context, r run, reason string) bool {
	for _, n := range r.recorded() {
		if err := d.Deliveries.End(ctx, r.job.Key(), n, push.Dropped, "", reason, r.now); err != nil {
			return d.stumble(ctx, r, err)
		}
	}
	e := d.event(EventDropped, r)
	e.Reason = reason
	d.observe(e)
	return true
}

// recorded are the attempts at which the job's record may stand: the one before,
// and where a copy of the job was in hand, its own.
func (r run) recorded() (attempts []int) {
	if r.job.Attempt > 1 {
		attempts = append(attempts, r.job.Attempt-1)
	}
	if r.job.Attempt > 1 || r.repeated() {
		attempts = append(attempts, r.job.Attempt)
	}
	return attempts
}

func (d *Deliver) event(kind EventKind, r run) Event {
	due := r.job.NotBefore
	if r.job.Slot.After(due) {
		due = r.job.Slot
	}
	return Event{Kind: kind, Subscription: r.job.Subscription, TopicARN: r.job.Message.TopicARN, MessageID: r.job.Message.ID,
		Generation: r.job.Generation, Push: r.job.Kind, Endpoint: r.target.sub.SafeEndpoint(), Lane: r.record.Queue,
		Accepted: r.job.Message.Timestamp, Due: due, TraceID: r.job.Message.Trace.ID()}
}

func (d *Deliver) observe(e Event) {
	if d.Observer == nil {
		return
	}
	if e.Time.IsZero() {
		e.Time = d.Now()
	}
	d.Observer.Observe(e)
}
