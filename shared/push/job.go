package push

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// JobVersion is the schema version written into every job. A reader accepts
// its own and all older ones.
const JobVersion = 1

// Kind is what a job pushes.
type Kind string

// Kinds of push; the values are SNS's message types (x-amz-sns-message-type).
const (
	Notification            Kind = "Notification"
	SubscriptionConfirm     Kind = "SubscriptionConfirmation"
	UnsubscribeConfirmation Kind = "UnsubscribeConfirmation"
)

// Job is the self-contained queue message of one attempt of one delivery.
type Job struct {
	Kind         Kind
	Subscription string // ARN
	Generation   string
	// Attempt counts from 1.
	Attempt int
	// Phase names the part of the schedule that planned this attempt.
	Phase string
	// NotBefore is the earliest start, zero for at once.
	NotBefore time.Time
	// Slot is the throttle slot held, zero for none.
	Slot time.Time
	// WaitingSince is when the job was first put back because its subscription
	// is paused; zero when it was not, or when another wait came in between.
	WaitingSince time.Time
	// Stumbles counts failures on our side since the last attempt.
	Stumbles int
	// Redrives counts how often the message was sent again from a dead-letter
	// queue.
	Redrives int
	Message  Message
}

// Key is the delivery the job belongs to.
func (j Job) Key() DeliveryKey {
	return DeliveryKey{Subscription: j.Subscription, MessageID: j.Message.ID, Generation: j.Generation}
}

// The wire form. Everything a publisher wrote is base64, so that a job holds
// only characters SQS accepts whatever the message holds. Times are Unix
// milliseconds, 0 for none.
type jobWire struct {
	V            int         `json:"v"`
	Kind         Kind        `json:"kind"`
	Subscription string      `json:"sub"`
	Generation   string      `json:"gen"`
	Attempt      int         `json:"n"`
	Phase        string      `json:"phase"`
	NotBefore    int64       `json:"notBefore"`
	Slot         int64       `json:"slot"`
	WaitingSince int64       `json:"since"`
	Stumbles     int         `json:"stumbles"`
	Redrives     int         `json:"redrives"`
	Message      messageWire `json:"msg"`
}

type messageWire struct {
	ID         string          `json:"id"`
	TopicARN   string          `json:"topic"`
	Subject    []byte          `json:"subject,omitempty"`
	Body       []byte          `json:"body"`
	Attributes []attributeWire `json:"attrs,omitempty"`
	Timestamp  int64           `json:"at"`
	Token      string          `json:"token,omitempty"`
	SigVersion string          `json:"sv,omitempty"`
	Signature  string          `json:"sig,omitempty"`
	CertURL    string          `json:"cert,omitempty"`
	// The trace came after version 1 began; readers from before pass it over.
	TraceParent string `json:"tp,omitempty"`
	TraceState  string `json:"ts,omitempty"`
}

type attributeWire struct {
	Name  string `json:"n"`
	Type  string `json:"t"`
	Value []byte `json:"v"`
}

// EncodedMessage is a message in its wire form, made once and shared by the
// jobs of all its subscriptions.
type EncodedMessage json.RawMessage

// Encode gives m's wire form.
func (m Message) Encode() EncodedMessage {
	w := messageWire{
		ID: m.ID, TopicARN: m.TopicARN, Subject: []byte(m.Subject), Body: []byte(m.Body),
		Timestamp: unixMilli(m.Timestamp), Token: m.Token,
		SigVersion: m.Signature.Version, Signature: m.Signature.Value, CertURL: m.Signature.CertURL,
		TraceParent: m.Trace.Parent, TraceState: m.Trace.State,
	}
	for _, a := range m.Attributes {
		w.Attributes = append(w.Attributes, attributeWire{a.Name, a.Type, []byte(a.Value)})
	}
	b, err := json.Marshal(w)
	if err != nil { // only strings, numbers and bytes: cannot fail
		panic(err)
	}
	return EncodedMessage(b)
}

// Encode gives the job's queue message.
func (j Job) Encode() string { return j.EncodeWith(j.Message.Encode()) }

// EncodeWith is Encode with a message that is encoded already. It appends by
// hand, because encoding/json parses a RawMessage again for every job of a
// fan-out.
func (j Job) EncodeWith(m EncodedMessage) string {
	b := make([]byte, 0, len(m)+len(j.Subscription)+192)
	b = strconv.AppendInt(append(b, `{"v":`...), JobVersion, 10)
	b = appendText(append(b, `,"kind":`...), string(j.Kind))
	b = appendText(append(b, `,"sub":`...), j.Subscription)
	if j.Generation != "" {
		b = appendText(append(b, `,"gen":`...), j.Generation)
	}
	b = strconv.AppendInt(append(b, `,"n":`...), int64(j.Attempt), 10)
	if j.Phase != "" {
		b = appendText(append(b, `,"phase":`...), j.Phase)
	}
	for _, f := range [...]struct {
		name string
		n    int64
	}{
		{`,"notBefore":`, unixMilli(j.NotBefore)}, {`,"slot":`, unixMilli(j.Slot)}, {`,"since":`, unixMilli(j.WaitingSince)},
		{`,"stumbles":`, int64(j.Stumbles)}, {`,"redrives":`, int64(j.Redrives)},
	} {
		if f.n != 0 {
			b = strconv.AppendInt(append(b, f.name...), f.n, 10)
		}
	}
	b = append(append(b, `,"msg":`...), m...)
	return string(append(b, '}'))
}

// appendText appends s as a JSON string. What Postino itself makes is plain
// ASCII; anything else goes the long way.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			quoted, err := json.Marshal(s)
			if err != nil { // a string always has a JSON form
				panic(err)
			}
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

func parseJob(s string) (jobWire, error) {
	if w, ok := readJob(s); ok {
		return w, nil
	}
	var w jobWire
	err := json.Unmarshal([]byte(s), &w)
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return w, fmt.Errorf("not a job: member %q cannot be a %s", t.Field, t.Value)
	}
	if err != nil {
		return w, fmt.Errorf("not a job: %w", err)
	}
	return w, nil
}

// DecodeJob reads a queue message. Its errors say what is wrong and quote
// nothing of the message a job carries: at most a number, the kind's first 40
// characters, or the character at which the JSON breaks off.
func DecodeJob(s string) (Job, error) {
	w, err := parseJob(s)
	if err != nil {
		return Job{}, err
	}
	if w.V < 1 || w.V > JobVersion {
		return Job{}, fmt.Errorf("job has schema version %d, this build reads 1 to %d", w.V, JobVersion)
	}
	m := w.Message
	switch {
	case w.Kind != Notification && w.Kind != SubscriptionConfirm && w.Kind != UnsubscribeConfirmation:
		return Job{}, fmt.Errorf("job has unknown kind %.40q", w.Kind)
	case TopicOf(w.Subscription) == "":
		return Job{}, fmt.Errorf("job names no subscription")
	case w.Attempt < 1:
		return Job{}, fmt.Errorf("job has attempt number %d", w.Attempt)
	case m.ID == "":
		return Job{}, fmt.Errorf("job's message has no id")
	}
	j := Job{
		Kind: w.Kind, Subscription: w.Subscription, Generation: w.Generation, Attempt: w.Attempt, Phase: w.Phase,
		NotBefore: fromMilli(w.NotBefore), Slot: fromMilli(w.Slot), WaitingSince: fromMilli(w.WaitingSince),
		Stumbles: w.Stumbles, Redrives: w.Redrives,
		Message: Message{
			ID: m.ID, TopicARN: m.TopicARN, Subject: string(m.Subject), Body: string(m.Body),
			Timestamp: fromMilli(m.Timestamp), Token: m.Token,
			Signature: Signature{Version: m.SigVersion, Value: m.Signature, CertURL: m.CertURL},
			Trace:     ParseTrace(m.TraceParent, m.TraceState),
		},
	}
	for _, a := range m.Attributes {
		j.Message.Attributes = append(j.Message.Attributes, Attribute{a.Name, a.Type, string(a.Value)})
	}
	return j, nil
}

func unixMilli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMilli(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
