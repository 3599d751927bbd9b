package envelope

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"postino/shared/push"
)

// Parse reads a notification's JSON back into the message it was made of, so
// that a dead letter can be sent again. It is strict: Type must be
// "Notification", MessageId, TopicArn, Message and Timestamp must be there, and
// every member it reads must have its own type. Members it does not know, such
// as a FIFO topic's SequenceNumber, are passed over, and any layout of the JSON
// is read. Names are matched exactly. Errors quote nothing of the message.
func Parse(body string) (push.Message, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &members); err != nil {
		return push.Message{}, errors.New("not a notification: not a JSON object")
	}
	var m push.Message
	var kind, at string
	for _, f := range []struct {
		name     string
		into     *string
		required bool
	}{
		{"Type", &kind, true},
		{"MessageId", &m.ID, true},
		{"TopicArn", &m.TopicARN, true},
		{"Subject", &m.Subject, false},
		{"Message", &m.Body, true},
		{"Timestamp", &at, true},
		{"SignatureVersion", &m.Signature.Version, false},
		{"Signature", &m.Signature.Value, false},
		{"SigningCertURL", &m.Signature.CertURL, false},
	} {
		if err := readString(members, f.name, f.into, f.required); err != nil {
			return push.Message{}, err
		}
	}
	if kind != string(push.Notification) {
		return push.Message{}, errors.New("not a notification: its Type is another")
	}
	if m.ID == "" || m.TopicARN == "" {
		return push.Message{}, errors.New("not a notification: MessageId or TopicArn is empty")
	}
	t, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return push.Message{}, errors.New("not a notification: Timestamp is not a time")
	}
	m.Timestamp = t.UTC().Truncate(time.Millisecond)
	m.Attributes, err = readAttributes(members["MessageAttributes"])
	return m, err
}

func readString(members map[string]json.RawMessage, name string, into *string, required bool) error {
	raw, ok := members[name]
	if !ok {
		if required {
			return fmt.Errorf("not a notification: no %s", name)
		}
		return nil
	}
	if raw[0] != '"' || json.Unmarshal(raw, into) != nil { // a null would pass for ""
		return fmt.Errorf("not a notification: %s is not a string", name)
	}
	return nil
}

// readAttributes keeps the order in which the attributes stand. A name that
// stands twice is refused: it could be meant either way.
func readAttributes(raw json.RawMessage) ([]push.Attribute, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	fault := errors.New("not a notification: MessageAttributes is not an object of objects with Type and Value")
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, fault
	}
	var attributes []push.Attribute
	seen := map[string]bool{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, fault
		}
		var members map[string]json.RawMessage
		if err := d.Decode(&members); err != nil || members == nil {
			return nil, fault
		}
		a := push.Attribute{Name: name.(string)} // a key is always a string
		if readString(members, "Type", &a.Type, true) != nil || readString(members, "Value", &a.Value, true) != nil {
			return nil, fault
		}
		if seen[a.Name] {
			return nil, errors.New("not a notification: an attribute stands twice")
		}
		seen[a.Name] = true
		attributes = append(attributes, a)
	}
	return attributes, nil
}
