package signing

import (
	"strings"

	"postino/shared/envelope"
	"postino/shared/push"
)

// Canonical is the text that a message's signature covers: name and value of
// each signed member, each on a line of its own, names in byte order, a newline
// at the end too (SNS developer guide, verifying message signatures).
//
//	Notification:   Message, MessageId, Subject if present, Timestamp, TopicArn, Type
//	confirmations:  Message, MessageId, SubscribeURL, Timestamp, Token, TopicArn, Type
//
// Values are those of the envelope before JSON escaping. l must be the Links
// that the envelope is built with, for it makes the SubscribeURL.
func Canonical(kind push.Kind, m push.Message, l envelope.Links) string {
	var b strings.Builder
	b.Grow(256 + len(m.Body) + len(m.Subject) + 2*len(m.Token) + 2*len(m.TopicARN) + len(l.PublicURL))
	line := func(name, value string) {
		b.WriteString(name)
		b.WriteByte('\n')
		b.WriteString(value)
		b.WriteByte('\n')
	}
	line("Message", m.Body)
	line("MessageId", m.ID)
	if kind == push.Notification {
		if m.Subject != "" {
			line("Subject", m.Subject)
		}
	} else {
		line("SubscribeURL", l.Confirm(m.TopicARN, m.Token))
	}
	line("Timestamp", m.Timestamp.UTC().Format(envelope.TimeLayout))
	if kind != push.Notification {
		line("Token", m.Token)
	}
	line("TopicArn", m.TopicARN)
	line("Type", string(kind))
	return b.String()
}
