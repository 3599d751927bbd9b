package operator

import (
	"context"
	"slices"
	"strings"
	"time"

	"postino/shared/push"
)

// Delivery is one delivery as the API shows it.
type Delivery struct {
	// Key is the subscription's ARN, the message id and, after a redrive, the
	// generation, joined by slashes. ShowDelivery takes it.
	Key          string `json:"key"`
	Subscription string `json:"subscription"`
	TopicARN     string `json:"topicArn"`
	MessageID    string `json:"messageId"`
	Generation   string `json:"generation,omitempty"`
	// Kind is "" for a notification, else SubscriptionConfirmation or
	// UnsubscribeConfirmation.
	Kind  push.Kind  `json:"kind,omitempty"`
	State push.State `json:"state"`
	// Attempts counts those begun so far.
	Attempts int `json:"attempts"`
	// History is oldest first and holds the latest attempts (push.HistoryKept).
	// It is empty where only the delivery log knows the delivery and has no
	// record of the attempt itself.
	History   []push.Attempt `json:"history"`
	LeaseEnd  time.Time      `json:"leaseEnd,omitzero"`
	NextAt    time.Time      `json:"nextAt,omitzero"`
	NextPhase string         `json:"nextPhase,omitempty"`
	Reason    string         `json:"reason,omitempty"`
	// Target is the dead-letter queue of a dead delivery, Queue what commands call
	// it.
	Target    string    `json:"target,omitempty"`
	Queue     string    `json:"queue,omitempty"`
	CreatedAt time.Time `json:"createdAt,omitzero"`
	UpdatedAt time.Time `json:"updatedAt,omitzero"`
	// LogOnly marks a delivery that only the delivery log knows: it succeeded at
	// once, or its record has been forgotten.
	LogOnly bool `json:"logOnly,omitempty"`
	// Paused: the delivery has not ended, and waits for its subscription to be
	// resumed.
	Paused bool `json:"paused,omitempty"`
}

// The states of a Delivery that has not ended, in the words people see: a
// push.Claimed one is Attempting, a push.Finished one is Waiting. The ends are
// called as push calls them.
const (
	Attempting push.State = "attempting"
	Waiting    push.State = "waiting"
)

// DeliveryList answers ListDeliveries.
type DeliveryList struct {
	Deliveries []Delivery `json:"deliveries"`
	// More says that the limit cut the list.
	More bool `json:"more"`
	// LogBack is how far back the delivery log was read, where it is too large for
	// more: of what succeeded at once before, nothing is listed.
	LogBack time.Time `json:"logBack,omitzero"`
	// LogKeeps says which of the deliveries that succeed at once can be listed: ""
	// all, LogShare a share of them, LogNothing none. It is "" too where the
	// listing is not of delivered ones.
	LogKeeps LogKeeps `json:"logKeeps,omitempty"`
}

// LogKeeps is how much of what succeeds at once is found in the delivery log.
type LogKeeps string

// What a log may keep, besides all.
const (
	LogShare   LogKeeps = "share"
	LogNothing LogKeeps = "nothing"
)

// logKeeps is what a listing of states lacks.
func (o *Operator) logKeeps(states []push.State) LogKeeps {
	switch {
	case len(states) > 0 && !slices.Contains(states, push.Delivered):
		return ""
	case o.DeliveryLog == nil:
		return LogNothing
	case o.LogsSome:
		return LogShare
	}
	return ""
}

// ListRequest says which deliveries to list.
type ListRequest struct {
	// State is "" for all, or live (attempting or waiting), attempting, waiting,
	// dead, delivered, dropped.
	State string
	// Subscription is an ARN, or the beginning of the UUID that ends it, alone or
	// behind the topic's name and a colon.
	Subscription string
	// Topic is an ARN or a name.
	Topic string
	// Limit is 1 to MaxList; 0 means DefaultList.
	Limit int
}

// CheckState refuses a word that is no state.
func (r ListRequest) CheckState() error {
	if _, known := statesByWord[r.State]; !known {
		return push.Errorf(push.CodeInvalidParameter,
			"%q is no state: use live, attempting, waiting, dead, delivered or dropped", push.Clip(r.State))
	}
	return nil
}

// How many deliveries or letters a listing shows.
const (
	DefaultList = 50
	MaxList     = 1000
)

// statesByWord are the words a ListRequest takes, and what they stand for.
var statesByWord = map[string][]push.State{
	"":           nil,
	"live":       {push.Claimed, push.Finished},
	"attempting": {push.Claimed},
	"waiting":    {push.Finished},
	"dead":       {push.Dead},
	"delivered":  {push.Delivered},
	"dropped":    {push.Dropped},
}

// ListDeliveries lists deliveries, latest change first: those of the store and,
// where ended ones are wanted, those that only the delivery log knows.
func (o *Operator) ListDeliveries(ctx context.Context, r ListRequest) (DeliveryList, error) {
	if err := r.CheckState(); err != nil {
		return DeliveryList{}, err
	}
	limit, err := listLimit(r.Limit)
	if err != nil {
		return DeliveryList{}, err
	}
	f := Filter{States: statesByWord[r.State], Limit: limit + 1}
	if r.Topic != "" {
		f.TopicARN = o.topicARN(r.Topic)
	}
	if r.Subscription != "" {
		if f.Subscription, err = o.subscriptionARN(ctx, r.Subscription); err != nil {
			return DeliveryList{}, err
		}
	}
	all, back, err := o.collect(ctx, f)
	if err != nil {
		return DeliveryList{}, err
	}
	slices.SortStableFunc(all, func(a, b Delivery) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	list := DeliveryList{Deliveries: all, More: len(all) > limit, LogBack: back, LogKeeps: o.logKeeps(f.States)}
	list.Deliveries = all[:min(limit, len(all))]
	if len(all) == 0 && r.Topic != "" {
		// Deliveries outlive their topic, so that a topic is missed only now.
		if _, err := o.Directory.Topic(ctx, f.TopicARN); push.IsNotFound(err) {
			return DeliveryList{}, push.Errorf(push.CodeNotFound,
				"There is no topic %q: `aws sns list-topics` shows those there are", push.Clip(r.Topic))
		}
	}
	return list, o.markPaused(ctx, list.Deliveries)
}

// ShowDelivery answers the deliveries that what names: a message id stands for
// all its deliveries, "subscription/message" for one and its generations,
// "subscription/message/generation" for exactly one. The subscription may be
// the beginning of its UUID, alone or as topic:beginning, and the message the
// beginning of an id, which is looked for among the latest MaxList deliveries
// alone. Of the log, what ended before since is left out; zero for nothing.
func (o *Operator) ShowDelivery(ctx context.Context, what string, since time.Time) ([]Delivery, error) {
	parts := strings.Split(what, "/")
	if len(parts) > 3 || slices.Contains(parts, "") {
		return nil, push.Errorf(push.CodeInvalidParameter,
			"%q is no delivery: give a message id, or subscription/message-id", push.Clip(what))
	}
	message, subscription := parts[0], ""
	if len(parts) > 1 {
		subscription, message = parts[0], parts[1]
	}
	f := Filter{MessageID: message, Limit: MaxList, Since: since}
	if push.TopicOf(subscription) != "" {
		f.Subscription = subscription
	}
	all, back, err := o.collect(ctx, f)
	if err == nil && len(all) == 0 {
		all, err = o.collectBeginning(ctx, f, subscription)
	}
	if err != nil {
		return nil, err
	}
	var found []Delivery
	for _, d := range all {
		if subscriptionMatches(d.Subscription, subscription) && (len(parts) < 3 || d.Generation == parts[2]) {
			found = append(found, d)
		}
	}
	if len(found) == 0 {
		return nil, push.Errorf(push.CodeNotFound, "Nothing is recorded of %q: "+
			"its first attempt has not ended yet, its subscription is paused (`postino pause` lists those), "+
			"%sit was never published here, or its record has expired", push.Clip(what), o.atOnce(back))
	}
	slices.SortStableFunc(found, func(a, b Delivery) int { return strings.Compare(a.Key, b.Key) })
	return found, o.markPaused(ctx, found)
}

// atOnce is one more reason why a delivery is not known, where the log has not all
// or was read back to a time only.
func (o *Operator) atOnce(back time.Time) (reason string) {
	if o.DeliveryLog == nil {
		return "its first attempt succeeded, which no log here tells, "
	}
	if o.LogsSome {
		reason = "its first attempt succeeded and is not of the share that is logged, as SuccessSampleRate of the stack " +
			"or HTTPSuccessFeedbackSampleRate of the topic sets it, "
	}
	if !back.IsZero() {
		reason += "its first attempt succeeded before " + back.UTC().Format(time.RFC3339) + ", to where the log was read, "
	}
	return reason
}

// shortestBeginning is how much of a message id must be given: the part before
// the first dash of a UUID, whose length is wholeID.
const (
	shortestBeginning = 8
	wholeID           = 36
)

// collectBeginning finds the one message whose id begins with f.MessageID. No
// index has beginnings, so it goes through the latest MaxList deliveries, of the
// subscription where one is given.
func (o *Operator) collectBeginning(ctx context.Context, f Filter, subscription string) (all []Delivery, err error) {
	beginning := f.MessageID
	if f.MessageID = ""; len(beginning) < shortestBeginning || len(beginning) >= wholeID {
		return nil, nil
	}
	if arn, err := o.subscriptionARN(ctx, subscription); err == nil {
		f.Subscription = arn // if it names several or none that is left, all are looked through
	}
	if all, _, err = o.collect(ctx, f); err != nil {
		return nil, err
	}
	latest := len(all)
	all = slices.DeleteFunc(all, func(d Delivery) bool { return !strings.HasPrefix(d.MessageID, beginning) })
	if len(all) == 0 && latest >= MaxList {
		return nil, push.Errorf(push.CodeNotFound,
			"None of the latest %d deliveries is of a message whose id begins with %q: give the whole id to look further back", MaxList, push.Clip(beginning))
	}
	for _, d := range all {
		if d.MessageID != all[0].MessageID {
			return nil, push.Errorf(push.CodeInvalidParameter,
				"More than one message's id begins with %q, for one %s and %s: give more of it", beginning, all[0].MessageID, d.MessageID)
		}
	}
	return all, nil
}

// markPaused says of deliveries that have not ended whether they are held back.
func (o *Operator) markPaused(ctx context.Context, all []Delivery) error {
	known := map[string]bool{}
	for i, d := range all {
		if d.State.Ended() {
			continue
		}
		paused, ok := known[d.Subscription]
		if !ok {
			s, err := o.Directory.Subscription(ctx, d.Subscription, false)
			if err != nil && !push.IsNotFound(err) {
				return err
			}
			paused = err == nil && s.Paused && !s.Deleted()
			known[d.Subscription] = paused
		}
		all[i].Paused = paused && d.State == Waiting
	}
	return nil
}

// collect reads the store, then adds what only the log knows; back is as Logged
// gives it.
func (o *Operator) collect(ctx context.Context, f Filter) (all []Delivery, back time.Time, err error) {
	stored := map[push.DeliveryKey]bool{}
	for page := f; len(all) < f.Limit; {
		page.Limit = f.Limit - len(all)
		records, next, err := o.Deliveries.ListDeliveries(ctx, page)
		if err != nil {
			return nil, back, err
		}
		for _, d := range records {
			stored[d.Key] = true
			all = append(all, o.view(d))
		}
		if next == "" {
			break
		}
		page.After = next
	}
	if o.DeliveryLog == nil || !wantsEnded(f.States) {
		return all, back, nil
	}
	logged, back, err := o.DeliveryLog.Logged(ctx, f)
	if err != nil {
		return nil, back, err
	}
	for _, d := range logged {
		if stored[d.Key] {
			continue
		}
		stored[d.Key] = true
		v := o.view(d)
		v.LogOnly = true
		all = append(all, v)
	}
	return all, back, nil
}

func wantsEnded(states []push.State) bool {
	return len(states) == 0 || slices.ContainsFunc(states, push.State.Ended)
}

func (o *Operator) view(d push.Delivery) Delivery {
	v := Delivery{
		Key: FormatKey(d.Key), Subscription: d.Key.Subscription, TopicARN: push.TopicOf(d.Key.Subscription),
		MessageID: d.Key.MessageID, Generation: d.Key.Generation, Kind: d.Kind,
		State: d.State, Attempts: d.Attempt, History: d.Attempts,
		NextAt: d.NextAt, NextPhase: d.NextPhase, Reason: d.Reason, Target: d.Target,
		CreatedAt: d.CreatedAt, UpdatedAt: d.UpdatedAt,
	}
	switch d.State {
	case push.Claimed:
		v.State, v.LeaseEnd = Attempting, d.LeaseEnd
	case push.Finished:
		v.State = Waiting
	}
	if d.Target != "" {
		v.Queue = o.queueLabel(o.queueARN(d.Target))
	}
	if v.History == nil {
		v.History = []push.Attempt{}
	}
	return v
}

// FormatKey writes a delivery's key the way ShowDelivery reads it.
func FormatKey(k push.DeliveryKey) string {
	s := k.Subscription + "/" + k.MessageID
	if k.Generation != "" {
		s += "/" + k.Generation
	}
	return s
}

func listLimit(n int) (int, error) {
	if n == 0 {
		return DefaultList, nil
	}
	if n < 1 || n > MaxList {
		return 0, push.Errorf(push.CodeInvalidParameter, "The limit is %d and must be 1 to %d", n, MaxList)
	}
	return n, nil
}
