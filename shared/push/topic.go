package push

import (
	"strings"
	"time"
)

// Topic is what publishers address.
type Topic struct {
	ARN         string
	DisplayName string
	// DeliveryPolicy is the stored document in its normalised form, "" when unset.
	DeliveryPolicy string
	// SignatureVersion is "1" or "2"; "" means 1.
	SignatureVersion string
	// SuccessSampleRate is the percent of successful deliveries whose status is
	// recorded, "0" to "100"; "" leaves it to the installation.
	SuccessSampleRate string
	Tags              map[string]string
	// Version grows with every change of the topic or of any of its
	// subscriptions; lists cached under an older version are stale.
	Version   int64
	CreatedAt time.Time
	// Counts as of Version.
	Confirmed, Pending, Deleted int
}

// Signature gives the topic's effective signature version, "1" or "2".
func (t Topic) Signature() string {
	if t.SignatureVersion == "2" {
		return "2"
	}
	return "1"
}

// Protocol is a subscription's protocol as SNS spells it.
type Protocol string

// The protocols served today.
const (
	HTTP  Protocol = "http"
	HTTPS Protocol = "https"
)

// Subscription is one endpoint's standing order for a topic's messages.
type Subscription struct {
	ARN      string
	TopicARN string
	Protocol Protocol
	// Endpoint is the URL as given, user-info included: never log it, log
	// SafeEndpoint.
	Endpoint string
	Owner    string
	// Confirmed is false while PendingConfirmation.
	Confirmed bool
	// Authenticated: the confirmation was signed with AuthenticateOnUnsubscribe.
	Authenticated bool
	// Token confirms the subscription (or, in a tombstone, subscribes again).
	Token        string
	TokenExpires time.Time
	Raw          bool
	// DeliveryPolicy and RedrivePolicy are the stored documents, "" when unset.
	DeliveryPolicy string
	RedrivePolicy  string
	// Paused holds deliveries back without burning attempts (ours, not SNS's).
	Paused    bool
	CreatedAt time.Time
	// DeletedAt is set on the tombstone that an unsubscribe leaves for three days.
	DeletedAt time.Time
}

// ID is the UUID at the end of the subscription's ARN, "" where there is none.
func (s Subscription) ID() string {
	topic := TopicOf(s.ARN)
	if topic == "" {
		return ""
	}
	return s.ARN[len(topic)+1:]
}

// Deleted reports whether s is a tombstone.
func (s Subscription) Deleted() bool { return !s.DeletedAt.IsZero() }

// SafeEndpoint is Endpoint without user-info, query and fragment, fit for logs.
func (s Subscription) SafeEndpoint() string {
	scheme, rest, ok := strings.Cut(s.Endpoint, "://")
	if !ok {
		return ""
	}
	rest, _, _ = strings.Cut(rest, "#")
	rest, _, _ = strings.Cut(rest, "?")
	host, path, _ := strings.Cut(rest, "/")
	host = host[strings.LastIndexByte(host, '@')+1:]
	return scheme + "://" + host + "/" + path
}
