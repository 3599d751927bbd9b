package push

import "time"

// Message is one accepted publication as a subscriber will see it. Its
// MessageStructure, if any, has been resolved: Body is the text for the
// subscription's protocol.
type Message struct {
	// ID is a UUID, the same on every attempt.
	ID       string
	TopicARN string
	// Subject is "" when absent (SNS refuses an empty one).
	Subject string
	// Body is valid UTF-8.
	Body       string
	Attributes []Attribute
	// Timestamp is when it was accepted, UTC, in whole milliseconds.
	Timestamp time.Time
	// Token is set on confirmations only.
	Token string
	// Signature is zero when no matching subscription needed one.
	Signature Signature
	// Trace is handed on to the endpoint; zero for none.
	Trace Trace
}

// Attribute is one message attribute.
type Attribute struct {
	Name string
	// Type is String, String.Array, Number or Binary, with an optional custom
	// suffix ("Number.price").
	Type string
	// Value is the text; for Binary types the standard base64 of the bytes.
	Value string
}

// Signature is the RSA signature that travels with a message.
type Signature struct {
	// Version is "1" (SHA-1) or "2" (SHA-256).
	Version string
	// Value is base64.
	Value string
	// CertURL is where the certificate is served.
	CertURL string
}
