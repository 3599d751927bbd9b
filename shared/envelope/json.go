package envelope

import (
	"unicode/utf8"

	"postino/shared/push"
)

// TimeLayout is a message's Timestamp: UTC with milliseconds, as in
// time.Time.Format. The signature covers it in this form.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// appendNotification appends the JSON of a notification.
func appendNotification(b []byte, m *push.Message, s *push.Subscription, l Links) []byte {
	b = append(b, "{\n  \"Type\" : \"Notification\""...)
	b = appendMember(b, "MessageId", m.ID)
	b = appendMember(b, "TopicArn", m.TopicARN)
	if m.Subject != "" {
		b = appendMember(b, "Subject", m.Subject)
	}
	b = appendMember(b, "Message", m.Body)
	b = appendTrailer(b, m)
	b = appendMember(b, "UnsubscribeURL", l.Unsubscribe(s.ARN))
	if len(m.Attributes) > 0 {
		b = appendAttributes(b, m.Attributes)
	}
	return append(b, "\n}"...)
}

// appendConfirmation appends the JSON of either kind of confirmation.
func appendConfirmation(b []byte, kind push.Kind, m *push.Message, l Links) []byte {
	b = append(b, "{\n  \"Type\" : "...)
	b = appendString(b, string(kind))
	b = appendMember(b, "MessageId", m.ID)
	b = appendMember(b, "Token", m.Token)
	b = appendMember(b, "TopicArn", m.TopicARN)
	b = appendMember(b, "Message", m.Body)
	b = appendMember(b, "SubscribeURL", l.Confirm(m.TopicARN, m.Token))
	b = appendTrailer(b, m)
	return append(b, "\n}"...)
}

// appendTrailer appends the time and the signature, where there is one.
func appendTrailer(b []byte, m *push.Message) []byte {
	b = append(b, ",\n  \"Timestamp\" : \""...)
	b = m.Timestamp.UTC().AppendFormat(b, TimeLayout)
	b = append(b, '"')
	if m.Signature.Value == "" {
		return b
	}
	b = appendMember(b, "SignatureVersion", m.Signature.Version)
	b = appendMember(b, "Signature", m.Signature.Value)
	return appendMember(b, "SigningCertURL", m.Signature.CertURL)
}

func appendAttributes(b []byte, attributes []push.Attribute) []byte {
	b = append(b, ",\n  \"MessageAttributes\" : {"...)
	for i, a := range attributes {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, "\n    "...)
		b = appendString(b, a.Name)
		b = append(b, " : {\"Type\":"...)
		b = appendString(b, a.Type)
		b = append(b, ",\"Value\":"...)
		b = appendString(b, a.Value)
		b = append(b, '}')
	}
	return append(b, "\n  }"...)
}

// appendMember appends one more member on a line of its own. name needs no
// escaping.
func appendMember(b []byte, name, value string) []byte {
	b = append(b, ",\n  \""...)
	b = append(b, name...)
	b = append(b, "\" : "...)
	return appendString(b, value)
}

const hex = "0123456789abcdef"

// appendString appends s as a JSON string; the package comment says what is
// escaped. encoding/json would cost reflection and escape "<", ">" and "&".
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0 // of the run that goes out unchanged
	for i := 0; i < len(s); {
		if i+8 <= len(s) && plainWord(word(s[i:])) {
			i += 8
			continue
		}
		c := s[i]
		if c >= 0x20 && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			b = append(b, s[start:i]...)
			b = appendEscape(b, c)
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b = append(append(b, s[start:i]...), string(utf8.RuneError)...)
			start = i + size
		case r == 0xFFFE || r == 0xFFFF:
			b = append(append(b, s[start:i]...), '\\', 'u', 'f', 'f', 'f', hex[r&0xF])
			start = i + size
		}
		i += size
	}
	return append(append(b, s[start:]...), '"')
}

// word is the first eight bytes of s, which has that many.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// plainWord reports whether eight bytes are all ASCII that stands unescaped; it
// may be false for some that are, never true for others. Bodies are scanned once
// per delivery, so this is worth its arithmetic: subtracting from every byte at
// once borrows into the top bit where the byte was too small.
func plainWord(w uint64) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	control := w - 0x20*ones
	quote := w ^ '"'*ones
	backslash := w ^ '\\'*ones
	return (w|control|(quote-ones)|(backslash-ones))&tops == 0
}

func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	case '\b':
		return append(b, '\\', 'b')
	case '\f':
		return append(b, '\\', 'f')
	default:
		return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xF])
	}
}
