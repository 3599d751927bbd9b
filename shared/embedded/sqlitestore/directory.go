package sqlitestore

import (
	"maps"

	"postino/shared/push"
)

// directory is all topics and subscriptions in memory.
type directory struct {
	// version is the highest any topic has ever had: a topic that is deleted and
	// made again goes on from there, so that no cached list fits it.
	version int64
	topics  map[string]push.Topic
	subs    map[string]push.Subscription
	// names are the topics' ARNs, live and dead those of subscriptions and of
	// tombstones, all sorted.
	names, live, dead []string
	byEndpoint        map[endpoint]string // live ones
	byToken           map[string]string
}

// endpoint is what a topic has at most one live subscription for.
type endpoint struct {
	topic    string
	protocol push.Protocol
	url      string
}

func newDirectory() directory {
	return directory{
		topics: map[string]push.Topic{}, subs: map[string]push.Subscription{},
		byEndpoint: map[endpoint]string{}, byToken: map[string]string{},
	}
}

func endpointOf(s push.Subscription) endpoint { return endpoint{s.TopicARN, s.Protocol, s.Endpoint} }

// put replaces what is known of a subscription. unsorted appends it to its list
// and leaves sorting to the caller.
func (d *directory) put(s push.Subscription, unsorted bool) {
	d.drop(s.ARN)
	d.subs[s.ARN] = s
	if s.Token != "" {
		d.byToken[s.Token] = s.ARN
	}
	list := &d.live
	if s.Deleted() {
		list = &d.dead
	} else {
		d.byEndpoint[endpointOf(s)] = s.ARN
	}
	if unsorted {
		*list = append(*list, s.ARN)
	} else {
		*list = insert(*list, s.ARN)
	}
}

// drop forgets a subscription.
func (d *directory) drop(arn string) {
	old, ok := d.subs[arn]
	if !ok {
		return
	}
	delete(d.subs, arn)
	if d.byToken[old.Token] == arn {
		delete(d.byToken, old.Token)
	}
	if old.Deleted() {
		d.dead = remove(d.dead, arn)
		return
	}
	d.live = remove(d.live, arn)
	if d.byEndpoint[endpointOf(old)] == arn {
		delete(d.byEndpoint, endpointOf(old))
	}
}

// count adds by to the topic's count that s falls under.
func count(t *push.Topic, s push.Subscription, by int) {
	switch {
	case s.Deleted():
		t.Deleted += by
	case s.Confirmed:
		t.Confirmed += by
	default:
		t.Pending += by
	}
}

// edit is a change of the directory that is stored as one.
type edit struct {
	// topics and subs are the new values, nil for removed ones.
	topics map[string]*push.Topic
	subs   map[string]*push.Subscription
}

func newEdit() *edit {
	return &edit{topics: map[string]*push.Topic{}, subs: map[string]*push.Subscription{}}
}

// topic is the topic as the edit has it so far, a copy that may be changed; nil
// when there is none.
func (e *edit) topic(d *directory, arn string) *push.Topic {
	if t, ok := e.topics[arn]; ok {
		return t
	}
	t, ok := d.topics[arn]
	if !ok {
		return nil
	}
	t.Tags = maps.Clone(t.Tags)
	e.topics[arn] = &t
	return &t
}

// sub sets (or, with nil, removes) a subscription and keeps the counts of its
// topic, if there is one.
func (e *edit) sub(d *directory, arn string, now *push.Subscription) {
	before, had := d.subs[arn]
	e.subs[arn] = now
	topicARN := before.TopicARN
	if now != nil {
		topicARN = now.TopicARN
	}
	t := e.topic(d, topicARN)
	if t == nil {
		return
	}
	if had {
		count(t, before, -1)
	}
	if now != nil {
		count(t, *now, 1)
	}
}
