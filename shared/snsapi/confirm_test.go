package snsapi

import (
	"context"
	"net/http"
	"testing"
	"time"

	"postino/shared/push"
)

func TestAConfirmationLinkConfirmsAndMayBeFollowedAgain(t *testing.T) {
	b := newBench(t)
	topic := b.newTopic("t")
	arn := b.pending(topic, "http://a.example")
	token := b.token(arn)
	for range 3 {
		body := b.served(b.get("Action", "ConfirmSubscription", "TopicArn", topic, "Token", token))
		if got := between(body, "SubscriptionArn"); got != arn {
			t.Errorf("answered %s", got)
		}
		b.clock = b.clock.Add(30 * time.Hour) // later than the token's time, too
	}
	if s := b.directory.subs[arn]; !s.Confirmed || s.Authenticated {
		t.Errorf("%+v", s)
	}
}

func TestConfirmationDoesNotCompareTheTopic(t *testing.T) {
	b := newBench(t)
	arn := b.pending(b.newTopic("t"), "http://a.example")
	b.served(b.get("Action", "ConfirmSubscription", "TopicArn", absent, "Token", b.token(arn)))
	if !b.directory.subs[arn].Confirmed {
		t.Error("not confirmed")
	}
}

func TestATokenIsGoodForTwoDays(t *testing.T) {
	b := newBench(t)
	topic := b.newTopic("t")
	arn := b.pending(topic, "http://a.example")
	b.clock = start.Add(48 * time.Hour)
	wantRefusal(t, b.get("Action", "ConfirmSubscription", "TopicArn", topic, "Token", b.token(arn)), 400, "InvalidParameter", "Invalid parameter: Token")
	b.clock = start.Add(48*time.Hour - time.Millisecond)
	b.served(b.get("Action", "ConfirmSubscription", "TopicArn", topic, "Token", b.token(arn)))
}

func TestAuthenticateOnUnsubscribeNeedsASignatureAndThenUnsubscribingDoesToo(t *testing.T) {
	b := newBench(t)
	topic := b.newTopic("t")
	arn := b.pending(topic, "http://a.example")
	confirm := []string{"Action", "ConfirmSubscription", "TopicArn", topic, "Token", b.token(arn), "AuthenticateOnUnsubscribe", "true"}
	b.served(b.get(confirm...))
	if b.directory.subs[arn].Authenticated {
		t.Fatal("an unsigned request counted as authenticated")
	}
	b.ok(confirm...)
	b.served(b.get(confirm[:6]...)) // following the link again undoes nothing
	if got := attribute(b.ok("Action", "GetSubscriptionAttributes", "SubscriptionArn", arn), "ConfirmationWasAuthenticated"); got != "true" {
		t.Errorf("ConfirmationWasAuthenticated is %q", got)
	}
	const text = "The subscription was confirmed with AuthenticateOnUnsubscribe: only a signed request can remove it."
	wantRefusal(t, b.get("Action", "Unsubscribe", "SubscriptionArn", arn), 403, "AuthorizationError", text)
	unsigned := Request{Method: "POST", Path: "/", Body: []byte(form("Action", "Unsubscribe", "SubscriptionArn", arn))}
	wantRefusal(t, b.Serve(context.Background(), unsigned), 403, "AuthorizationError", text)
	if b.directory.subs[arn].Deleted() {
		t.Fatal("it was removed all the same")
	}
	presigned := Request{Method: "GET", Path: "/", RawQuery: form("Action", "Unsubscribe", "SubscriptionArn", arn, "X-Amz-Signature", "00"), Header: http.Header{}}
	b.served(b.Serve(context.Background(), presigned))
	if !b.directory.subs[arn].Deleted() {
		t.Error("a signed request did not remove it")
	}
}

func TestUnsubscribeLeavesATombstoneAndAFarewellWhoseTokenRestores(t *testing.T) {
	b := newBench(t)
	topic := b.newTopic("t")
	arn := b.confirmed(topic, "http://a.example", "Attributes.entry.1.key", "RawMessageDelivery", "Attributes.entry.1.value", "true")
	first := b.token(arn)
	b.clock = start.Add(time.Hour)
	b.served(b.get("Action", "Unsubscribe", "SubscriptionArn", arn))
	farewell := b.publisher.announced[len(b.publisher.announced)-1]
	if farewell.Kind != push.UnsubscribeConfirmation || farewell.Sub.ARN != arn || farewell.Sub.Token == first || farewell.Sub.Token != b.token(arn) {
		t.Fatalf("farewell %+v", farewell)
	}
	b.served(b.get("Action", "Unsubscribe", "SubscriptionArn", arn)) // again: nothing to do
	if n := len(b.publisher.announced); n != 2 {
		t.Errorf("%d announcements", n)
	}
	wantRefusal(t, b.post("Action", "GetSubscriptionAttributes", "SubscriptionArn", arn), 404, "NotFound", "Subscription does not exist")
	wantRefusal(t, b.get("Action", "ConfirmSubscription", "TopicArn", topic, "Token", first), 400, "InvalidParameter", "Invalid parameter: Token")

	b.clock = b.clock.Add(47 * time.Hour)
	body := b.served(b.get("Action", "ConfirmSubscription", "TopicArn", topic, "Token", farewell.Sub.Token))
	if s := b.directory.subs[arn]; between(body, "SubscriptionArn") != arn || s.Deleted() || !s.Confirmed || !s.Raw {
		t.Errorf("restored as %+v", s)
	}
}

func TestAFarewellsLinkRestoresWithoutTheAuthenticationOfBefore(t *testing.T) {
	b := newBench(t)
	topic := b.newTopic("t")
	arn := b.pending(topic, "http://a.example")
	b.ok("Action", "ConfirmSubscription", "TopicArn", topic, "Token", b.token(arn), "AuthenticateOnUnsubscribe", "true")
	if !b.directory.subs[arn].Authenticated {
		t.Fatal("the confirmation was not authenticated")
	}
	b.ok("Action", "Unsubscribe", "SubscriptionArn", arn)
	b.served(b.get("Action", "ConfirmSubscription", "TopicArn", topic, "Token", b.token(arn)))
	if s := b.directory.subs[arn]; s.Deleted() || !s.Confirmed || s.Authenticated {
		t.Errorf("restored by an unsigned request as %+v", s)
	}
}

func TestAFarewellsTokenIsGoodForTwoDaysAfterUnsubscribing(t *testing.T) {
	b := newBench(t)
	topic := b.newTopic("t")
	arn := b.confirmed(topic, "http://a.example")
	b.ok("Action", "Unsubscribe", "SubscriptionArn", arn)
	b.clock = start.Add(48 * time.Hour)
	wantRefusal(t, b.get("Action", "ConfirmSubscription", "TopicArn", topic, "Token", b.token(arn)), 400, "InvalidParameter", "Invalid parameter: Token")
}

func TestRestoringBesideANewerSubscriptionConfirmsThatOneInstead(t *testing.T) {
	b := newBench(t)
	topic := b.newTopic("t")
	old := b.confirmed(topic, "http://a.example")
	b.ok("Action", "Unsubscribe", "SubscriptionArn", old)
	newer := b.pending(topic, "http://a.example")
	if newer == old {
		t.Fatal("a tombstone was answered as a subscription")
	}
	body := b.served(b.get("Action", "ConfirmSubscription", "TopicArn", topic, "Token", b.token(old)))
	if got := between(body, "SubscriptionArn"); got != newer {
		t.Errorf("answered %s, want %s", got, newer)
	}
	if live := b.directory.under(topic); len(live) != 1 || !live[0].Confirmed {
		t.Errorf("live: %+v", live)
	}
}

func TestNothingIsRestoredOfADeletedTopic(t *testing.T) {
	b := newBench(t)
	topic := b.newTopic("t")
	left := b.confirmed(topic, "http://a.example")
	b.ok("Action", "Unsubscribe", "SubscriptionArn", left)
	swept := b.confirmed(topic, "http://b.example")
	waiting := b.pending(topic, "http://c.example")
	b.clock = start.Add(time.Minute)
	b.ok("Action", "DeleteTopic", "TopicArn", topic)
	wantRefusal(t, b.get("Action", "ConfirmSubscription", "TopicArn", topic, "Token", b.token(left)), 404, "NotFound", "Topic does not exist")
	b.newTopic("t") // even when the name is used again
	for _, arn := range []string{swept, waiting} {
		wantRefusal(t, b.get("Action", "ConfirmSubscription", "TopicArn", topic, "Token", b.token(arn)), 400, "InvalidParameter", "Invalid parameter: Token")
	}
}

func TestUnsubscribingAPendingSubscriptionTellsItsEndpointNothing(t *testing.T) {
	b := newBench(t)
	topic := b.newTopic("t")
	arn := b.pending(topic, "http://a.example")
	token := b.token(arn)
	b.ok("Action", "Unsubscribe", "SubscriptionArn", arn)
	if n := len(b.publisher.announced); n != 1 {
		t.Errorf("%d announcements", n)
	}
	wantRefusal(t, b.get("Action", "ConfirmSubscription", "TopicArn", topic, "Token", token), 400, "InvalidParameter", "Invalid parameter: Token")
}

func TestUnsubscribingWhatIsNotThereSucceeds(t *testing.T) {
	b := newBench(t)
	b.ok("Action", "Unsubscribe", "SubscriptionArn", someSub)
	b.served(b.get("Action", "Unsubscribe", "SubscriptionArn", someSub))
}

func TestTheCertificateIsServedAtItsPath(t *testing.T) {
	b := newBench(t)
	b.Certificate = Certificate{Path: "/SimpleNotificationService-0.pem", PEM: []byte("-----BEGIN CERTIFICATE-----")}
	r := b.Serve(context.Background(), Request{Method: "GET", Path: b.Certificate.Path})
	if r.Status != 200 || string(r.Body) != "-----BEGIN CERTIFICATE-----" || r.Header.Get("Content-Type") != "application/x-pem-file" {
		t.Errorf("%d %s %v", r.Status, r.Body, r.Header)
	}
	if r := b.Serve(context.Background(), Request{Method: "POST", Path: b.Certificate.Path}); r.Status != 404 {
		t.Errorf("POST: %d", r.Status)
	}
}
