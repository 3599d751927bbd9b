package envelope

import (
	"net/http"

	"postino/shared/push"
)

// What goes out with every push (SNS developer guide, HTTP/HTTPS headers; SNS
// itself calls its agent "Amazon Simple Notification Service Agent").
const (
	// UserAgent names Postino and says what it speaks.
	UserAgent = "Postino/1 (SNS-compatible push)"
	// DefaultContentType stands unless a delivery policy names another, for raw
	// bodies too.
	DefaultContentType = "text/plain; charset=UTF-8"
	acceptEncoding     = "gzip,deflate"
)

// Build makes the POST for one push of m to s.
//
// A notification to a raw subscription is m.Body and nothing else: attributes do
// not travel. Everything else is the JSON of the package comment; a
// confirmation's text is m.Body (see ConfirmationText) and it needs m.Token.
//
// contentType is the effective policy's, sent verbatim; "" means
// DefaultContentType. Confirmations always carry the default.
//
// The x-amz-sns-* header keys are in lower case, as SNS puts them on the wire,
// and not in Go's canonical form: receivers behind gateways look them up that
// way. Read them from the map by that key rather than with Header.Get.
//
//	header                        SubscriptionConfirmation  Notification  UnsubscribeConfirmation
//	x-amz-sns-message-type        yes                       yes           yes
//	x-amz-sns-message-id          yes                       yes           yes
//	x-amz-sns-topic-arn           yes                       yes           yes
//	x-amz-sns-subscription-arn    no                        yes           yes
//	x-amz-sns-rawdelivery: true   no                        raw only      no
//
// A message with a trace context has its headers too, traceparent and tracestate
// (W3C Trace Context), in lower case like the rest.
func Build(kind push.Kind, m push.Message, s push.Subscription, contentType string, l Links) Request {
	if contentType == "" || kind != push.Notification {
		contentType = DefaultContentType
	}
	raw := kind == push.Notification && s.Raw
	h := make(http.Header, 8)
	values := make([]string, 0, 8) // one array for all values; each header gets its own element
	set := func(key, value string) {
		values = append(values, value)
		n := len(values)
		h[key] = values[n-1 : n : n]
	}
	set("Accept-Encoding", acceptEncoding)
	set("Content-Type", contentType)
	set("User-Agent", UserAgent)
	set("x-amz-sns-message-type", string(kind))
	set("x-amz-sns-message-id", m.ID)
	set("x-amz-sns-topic-arn", m.TopicARN)
	if kind != push.SubscriptionConfirm {
		set("x-amz-sns-subscription-arn", s.ARN)
	}
	if raw {
		set("x-amz-sns-rawdelivery", "true")
	}
	if m.Trace.Parent != "" {
		h["traceparent"] = []string{m.Trace.Parent}
		if m.Trace.State != "" {
			h["tracestate"] = []string{m.Trace.State}
		}
	}
	return Request{Header: h, Body: body(kind, &m, &s, l)}
}

func body(kind push.Kind, m *push.Message, s *push.Subscription, l Links) []byte {
	if kind == push.Notification && s.Raw {
		return []byte(m.Body)
	}
	b := make([]byte, 0, sizeHint(m, s, l))
	if kind == push.Notification {
		return appendNotification(b, m, s, l)
	}
	return appendConfirmation(b, kind, m, l)
}

// sizeHint is enough for a body that needs few escapes, so that it is allocated
// once.
func sizeHint(m *push.Message, s *push.Subscription, l Links) int {
	const names = 512 // member names, punctuation, time
	n := names + len(m.ID) + 2*len(m.TopicARN) + 2*len(m.Token) + len(m.Subject) + len(m.Body) + len(m.Body)/8 +
		len(m.Signature.Value) + len(m.Signature.CertURL) + len(l.PublicURL) + len(s.ARN)
	for _, a := range m.Attributes {
		n += 32 + len(a.Name) + len(a.Type) + len(a.Value)
	}
	return n
}

// DeadLetter is what goes to a dead-letter queue: exactly what would have been
// delivered (SNS developer guide, dead-letter queues). For a raw subscription
// that is the body, with the message's attributes as the queue message's; Binary
// ones keep their base64. Otherwise it is the envelope, and no attributes.
func DeadLetter(m push.Message, s push.Subscription, l Links) (body string, attributes []push.Attribute) {
	if s.Raw {
		return m.Body, m.Attributes
	}
	return string(appendNotification(make([]byte, 0, sizeHint(&m, &s, l)), &m, &s, l)), nil
}
