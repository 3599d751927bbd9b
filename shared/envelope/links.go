package envelope

import (
	"net/url"
	"strings"

	"postino/shared/push"
)

// Links makes the URLs that stand in messages. They lead back to the server.
type Links struct {
	// PublicURL is where subscribers reach the server, without a trailing
	// slash: "https://push.example.com".
	PublicURL string
}

// Confirm is the SubscribeURL of a confirmation: visiting it confirms the
// subscription that token belongs to.
func (l Links) Confirm(topicARN, token string) string {
	return l.PublicURL + "/?Action=ConfirmSubscription&TopicArn=" + queryValue(topicARN) + "&Token=" + queryValue(token)
}

// Unsubscribe is the UnsubscribeURL of a notification.
func (l Links) Unsubscribe(subscriptionARN string) string {
	return l.PublicURL + "/?Action=Unsubscribe&SubscriptionArn=" + queryValue(subscriptionARN)
}

// queryValue escapes a query parameter but leaves colons, so that ARNs read as
// they do in SNS's own links. RFC 3986 allows a colon in a query.
func queryValue(s string) string {
	if plain(s) {
		return s
	}
	return strings.ReplaceAll(url.QueryEscape(s), "%3A", ":")
}

func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == ':' || c == '-' || c == '_' || c == '.') {
			return false
		}
	}
	return true
}

// ConfirmationText is the Body of a confirmation message, two lines for a person
// to read. arn is the topic's ARN for push.SubscriptionConfirm and the
// subscription's for push.UnsubscribeConfirmation; for other kinds it is "".
func ConfirmationText(kind push.Kind, arn string) string {
	switch kind {
	case push.SubscriptionConfirm:
		return "This endpoint was asked to receive the messages of topic " + arn + ".\n" +
			"To accept, visit the SubscribeURL in this message; to decline, do nothing."
	case push.UnsubscribeConfirmation:
		return "Subscription " + arn + " has been removed.\n" +
			"If that was not intended, visit the SubscribeURL in this message to subscribe again."
	default:
		return ""
	}
}
