package telemetry

import (
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"

	"postino/shared/pipeline"
	"postino/shared/push"
)

// Record is one line of the delivery log: the end of one delivery. Its first
// three members are SNS's delivery-status record (SNS developer guide, message
// delivery status); Postino holds what that has no place for.
type Record struct {
	Notification RecordNotification `json:"notification"`
	Delivery     RecordDelivery     `json:"delivery"`
	// Status is SUCCESS or FAILURE.
	Status  string        `json:"status"`
	Postino RecordPostino `json:"postino"`
}

// RecordNotification is the message. Its messageMD5Sum is left out: events hold
// no body.
type RecordNotification struct {
	MessageID string `json:"messageId"`
	TopicARN  string `json:"topicArn"`
	// Timestamp is when it was accepted, UTC, "2006-01-02 15:04:05.000".
	Timestamp string `json:"timestamp"`
}

// RecordDelivery is how it went.
type RecordDelivery struct {
	// DeliveryID is the subscription's ARN, the message's id and, after a
	// redrive, the generation, joined by slashes.
	DeliveryID string `json:"deliveryId"`
	// Destination is the endpoint without user-info and query.
	Destination string `json:"destination"`
	// ProviderResponse is the last attempt's result in words, not the
	// endpoint's.
	ProviderResponse string `json:"providerResponse"`
	// DwellTimeMS is the time from acceptance to the end.
	DwellTimeMS int64 `json:"dwellTimeMs"`
	// Attempts is the number of the last attempt, 0 where none was made.
	Attempts int `json:"attempts"`
	// StatusCode is the last attempt's HTTP status, 0 where no answer came.
	StatusCode int `json:"statusCode"`
}

// RecordPostino is Postino's own part.
type RecordPostino struct {
	SubscriptionARN string     `json:"subscriptionArn"`
	Generation      string     `json:"generation,omitempty"`
	Kind            push.Kind  `json:"kind,omitempty"`
	State           push.State `json:"state"`
	Target          string     `json:"target,omitempty"`
	Reason          string     `json:"reason,omitempty"`
	// Trace is the id of the message's trace.
	Trace string `json:"trace,omitempty"`
	// Ended is when the delivery ended, to the millisecond like the other times;
	// the rest describes the last attempt.
	Ended        time.Time  `json:"ended"`
	Phase        string     `json:"phase,omitempty"`
	Class        push.Class `json:"class,omitempty"`
	Fault        string     `json:"fault,omitempty"`
	Started      time.Time  `json:"started,omitzero"`
	AttemptEnded time.Time  `json:"attemptEnded,omitzero"`
}

// snsTime is the layout of SNS's timestamps.
const snsTime = "2006-01-02 15:04:05.000"

// appendRecord appends e's line to b, newline included. ok is false where e
// ends no delivery. It writes what encoding/json would write of a Record, about
// ten times as fast, because every delivery passes here.
func appendRecord(b []byte, e *pipeline.Event) (line []byte, ok bool) {
	state, status := push.Dropped, "FAILURE"
	switch e.Kind {
	case pipeline.EventDelivered:
		state, status = push.Delivered, "SUCCESS"
	case pipeline.EventDead:
		state = push.Dead
	case pipeline.EventDropped:
	default:
		return b, false
	}
	b = appendText(b, `{"notification":{"messageId":`, e.MessageID)
	b = appendText(b, `,"topicArn":`, e.TopicARN)
	b = append(b, `,"timestamp":"`...)
	dwell := int64(0)
	if !e.Accepted.IsZero() {
		b = e.Accepted.UTC().AppendFormat(b, snsTime)
		dwell = e.Time.Sub(e.Accepted).Milliseconds()
	}
	b = append(b, `"},"delivery":{"deliveryId":`...)
	b = appendText(b, "", deliveryID(e))
	b = appendText(b, `,"destination":`, e.Endpoint)
	b = appendText(b, `,"providerResponse":`, e.Attempt.Detail)
	b = appendNumber(b, `,"dwellTimeMs":`, dwell)
	b = appendNumber(b, `,"attempts":`, int64(e.Attempt.Number))
	b = appendNumber(b, `,"statusCode":`, int64(e.Attempt.Status))
	b = append(b, `},"status":"`...)
	b = append(b, status...)
	b = appendText(b, `","postino":{"subscriptionArn":`, e.Subscription)
	b = appendOptional(b, `,"generation":`, e.Generation)
	b = appendOptional(b, `,"kind":`, string(e.Push))
	b = appendText(b, `,"state":`, string(state))
	b = appendOptional(b, `,"target":`, e.Target)
	b = appendOptional(b, `,"reason":`, e.Reason)
	b = appendOptional(b, `,"trace":`, e.TraceID)
	b = appendTime(b, `,"ended":"`, e.Time)
	b = appendOptional(b, `,"phase":`, e.Attempt.Phase)
	b = appendOptional(b, `,"class":`, string(e.Attempt.Class))
	b = appendOptional(b, `,"fault":`, e.Attempt.Fault)
	if e.Attempted() {
		b = appendTime(b, `,"started":"`, e.Attempt.Started)
		b = appendTime(b, `,"attemptEnded":"`, e.Attempt.Ended)
	}
	return append(b, "}}\n"...), true
}

func deliveryID(e *pipeline.Event) string {
	if e.Generation != "" {
		return e.Subscription + "/" + e.MessageID + "/" + e.Generation
	}
	return e.Subscription + "/" + e.MessageID
}

func appendNumber(b []byte, name string, n int64) []byte {
	return strconv.AppendInt(append(b, name...), n, 10)
}

func appendTime(b []byte, name string, t time.Time) []byte {
	return append(t.UTC().Truncate(time.Millisecond).AppendFormat(append(b, name...), time.RFC3339Nano), '"')
}

func appendOptional(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	return appendText(b, name, value)
}

func appendText(b []byte, name, value string) []byte {
	b = append(b, name...)
	for i := range len(value) {
		if c := value[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf || c == 0x7f {
			quoted, err := json.Marshal(value)
			if err != nil { // a string always has a JSON form
				panic(err)
			}
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, value...)
	return append(b, '"')
}

// AsDelivery gives the record in the form the store has, with the last attempt
// as its history; the log knows no more.
func (r Record) AsDelivery() push.Delivery {
	accepted, _ := time.Parse(snsTime, r.Notification.Timestamp)
	p := r.Postino
	d := push.Delivery{
		Key:     push.DeliveryKey{Subscription: p.SubscriptionARN, MessageID: r.Notification.MessageID, Generation: p.Generation},
		Attempt: r.Delivery.Attempts, State: p.State, Reason: p.Reason, Target: p.Target,
		CreatedAt: accepted, UpdatedAt: p.Ended,
	}
	if p.Kind != push.Notification {
		d.Kind = p.Kind
	}
	if r.Delivery.Attempts > 0 {
		d.Attempts = []push.Attempt{{
			Number: r.Delivery.Attempts, Phase: p.Phase, Started: p.Started, Ended: p.AttemptEnded, Class: p.Class,
			Status: r.Delivery.StatusCode, Fault: p.Fault, Detail: r.Delivery.ProviderResponse, Reason: p.Reason,
		}}
	}
	return d
}
