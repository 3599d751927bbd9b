package dynamostore

import (
	"time"

	"postino/shared/push"
)

// stored is a subscription as its item has it.
type stored struct {
	push.Subscription
	// revision grows with every change: what a change was made of must still be
	// there when it is written.
	revision int64
}

// keptFor is how long tombstones, and subscriptions that nobody confirmed, are
// kept (SNS API reference, Subscribe: unconfirmed ones go after three days).
const keptFor = 72 * time.Hour

// lapses is when a subscription may be forgotten, false for never.
func lapses(s push.Subscription) (time.Time, bool) {
	switch {
	case s.Deleted():
		return s.DeletedAt.Add(keptFor), true
	case !s.Confirmed:
		return s.CreatedAt.Add(keptFor), true
	}
	return time.Time{}, false
}

func subscriptionItem(s stored) item {
	i := newItem(subscriptionKey(s.ARN))
	i["revision"] = number(s.revision)
	i["protocol"], i["endpoint"] = text(string(s.Protocol)), text(s.Endpoint)
	i.setText("owner", s.Owner)
	i.setBool("confirmed", s.Confirmed)
	i.setBool("authenticated", s.Authenticated)
	i.setText("token", s.Token)
	i.setTime("tokenExpires", s.TokenExpires)
	i.setBool("raw", s.Raw)
	i.setText("deliveryPolicy", s.DeliveryPolicy)
	i.setText("redrivePolicy", s.RedrivePolicy)
	i.setBool("paused", s.Paused)
	i.setTime("created", s.CreatedAt)
	i.setTime("deleted", s.DeletedAt)
	if !s.Deleted() {
		i[listPK], i[listSK] = text(subList), text(s.ARN)
	}
	if at, ok := lapses(s.Subscription); ok {
		i[statePK], i[stateSK] = text(lapsingState), text(instant(at)+"#"+s.ARN)
	}
	return i
}

func readSubscription(i item) (stored, error) {
	f := read(i)
	topic, id := f.text("pk"), f.text("sk")
	if len(topic) > 2 {
		topic = topic[2:]
	}
	s := stored{revision: f.number("revision"), Subscription: push.Subscription{
		ARN: topic + ":" + id, TopicARN: topic, Protocol: push.Protocol(f.text("protocol")), Endpoint: f.text("endpoint"), Owner: f.text("owner"),
		Confirmed: f.bool("confirmed"), Authenticated: f.bool("authenticated"), Token: f.text("token"), TokenExpires: f.time("tokenExpires"),
		Raw: f.bool("raw"), DeliveryPolicy: f.text("deliveryPolicy"), RedrivePolicy: f.text("redrivePolicy"), Paused: f.bool("paused"),
		CreatedAt: f.time("created"), DeletedAt: f.time("deleted"),
	}}
	return s, f.fault(s.ARN)
}
