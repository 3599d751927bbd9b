package snsapi

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"postino/shared/push"
)

const (
	retryPolicy = `{"healthyRetryPolicy":{"minDelayTarget":1,"maxDelayTarget":2,"numRetries":5}}`
	csvPolicy   = `{"requestPolicy":{"headerContentType":"text/csv"}}`
	queueT      = `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:q"}`
)

func TestSubscribeStoresAPendingSubscriptionAndSendsItsConfirmation(t *testing.T) {
	b := newBench(t)
	topic := b.newTopic("t")
	body := b.ok("Action", "Subscribe", "TopicArn", topic, "Protocol", "https", "Endpoint", "https://u:p@a.example/x?y=z",
		"Attributes.entry.1.key", "RawMessageDelivery", "Attributes.entry.1.value", "TrUe", "Attributes.entry.2.key", "RedrivePolicy", "Attributes.entry.2.value", queueT,
		"Attributes.entry.3.key", "DeliveryPolicy", "Attributes.entry.3.value", csvPolicy, "Attributes.entry.4.key", "FilterPolicy", "Attributes.entry.4.value", "")
	if got := between(body, "SubscriptionArn"); got != "pending confirmation" {
		t.Errorf("answered %s", got)
	}
	subs := b.directory.under(topic)
	if len(subs) != 1 || len(b.publisher.announced) != 1 {
		t.Fatalf("%d subscriptions, %d announcements", len(subs), len(b.publisher.announced))
	}
	s := subs[0]
	if len(s.Token) != 288 || !isUUID(s.ID()) || !strings.Contains(s.DeliveryPolicy, "text/csv") {
		t.Errorf("stored %+v", s)
	}
	want := push.Subscription{ARN: s.ARN, TopicARN: topic, Protocol: push.HTTPS, Endpoint: "https://u:p@a.example/x?y=z", Owner: "000000000000",
		Token: s.Token, TokenExpires: start.Add(48 * time.Hour), Raw: true, DeliveryPolicy: s.DeliveryPolicy, RedrivePolicy: queueT, CreatedAt: start}
	if d := cmp.Diff(want, s); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(announcement{push.SubscriptionConfirm, s}, b.publisher.announced[0]); d != "" {
		t.Error(d)
	}
}

func TestSubscribingAgainAnswersTheSameSubscription(t *testing.T) {
	b := newBench(t)
	topic := b.newTopic("t")
	attrs := []string{"Attributes.entry.1.key", "RawMessageDelivery", "Attributes.entry.1.value", "true", "Attributes.entry.2.key", "DeliveryPolicy", "Attributes.entry.2.value", retryPolicy}
	arn := b.pending(topic, "http://a.example", attrs...)
	token := b.token(arn)
	for _, again := range [][]string{nil, attrs, attrs[:4], {"Attributes.entry.1.key", "DeliveryPolicy", "Attributes.entry.1.value", " " + retryPolicy}} {
		if got := b.pending(topic, "http://a.example", again...); got != arn {
			t.Errorf("%v: another subscription %s", again, got)
		}
	}
	if n := len(b.publisher.announced); n != 5 {
		t.Errorf("the confirmation was sent %d times, want 5", n)
	}
	if b.token(arn) != token {
		t.Error("a token that was still good was replaced")
	}
	b.ok("Action", "ConfirmSubscription", "TopicArn", topic, "Token", token)
	body := b.ok("Action", "Subscribe", "TopicArn", topic, "Protocol", "http", "Endpoint", "http://a.example")
	if got := between(body, "SubscriptionArn"); got != arn {
		t.Errorf("a confirmed one answers %s", got)
	}
	if n := len(b.publisher.announced); n != 5 {
		t.Error("a confirmed subscription was sent a confirmation")
	}
	if other := b.pending(topic, "http://a.example/other"); other == arn {
		t.Error("another endpoint has the same subscription")
	}
}

func TestAnExpiredTokenIsReplacedWhenSubscribingAgain(t *testing.T) {
	b := newBench(t)
	topic := b.newTopic("t")
	arn := b.pending(topic, "http://a.example")
	old := b.token(arn)
	b.clock = start.Add(48 * time.Hour)
	wantRefusal(t, b.get("Action", "ConfirmSubscription", "TopicArn", topic, "Token", old), 400, "InvalidParameter", "Invalid parameter: Token")
	if got := b.pending(topic, "http://a.example"); got != arn || b.token(arn) == old {
		t.Errorf("subscription %s, token renewed: %v", got, b.token(arn) != old)
	}
	b.served(b.get("Action", "ConfirmSubscription", "TopicArn", topic, "Token", b.token(arn)))
}

func TestAnUnconfirmedSubscriptionIsGoneAfterThreeDays(t *testing.T) {
	b := newBench(t)
	topic := b.newTopic("t")
	arn := b.pending(topic, "http://a.example")
	b.clock = start.Add(72*time.Hour - time.Millisecond)
	if !strings.Contains(b.ok("Action", "ListSubscriptions"), "a.example") {
		t.Error("gone too early")
	}
	b.clock = start.Add(72 * time.Hour)
	for _, body := range []string{b.ok("Action", "ListSubscriptions"), b.ok("Action", "ListSubscriptionsByTopic", "TopicArn", topic)} {
		if strings.Contains(body, "a.example") {
			t.Errorf("still listed: %s", body)
		}
	}
	wantRefusal(t, b.post("Action", "GetSubscriptionAttributes", "SubscriptionArn", arn), 404, "NotFound", "Subscription does not exist")
	wantRefusal(t, b.post("Action", "SetSubscriptionAttributes", "SubscriptionArn", arn, "AttributeName", "RawMessageDelivery", "AttributeValue", "true"), 404, "NotFound", "Subscription does not exist")
	// Subscribing begins anew, with whatever attributes.
	again := b.pending(topic, "http://a.example", "Attributes.entry.1.key", "RawMessageDelivery", "Attributes.entry.1.value", "true")
	if s := b.directory.subs[again]; !s.Raw || !s.CreatedAt.Equal(b.clock) || lapsed(s, b.clock) {
		t.Errorf("began anew as %+v", s)
	}
}

func TestAFailedAnnouncementIsAFaultAndTheNextSubscribeSendsAgain(t *testing.T) {
	b := newBench(t)
	topic := b.newTopic("t")
	b.publisher.fail = errBroken
	wantRefusal(t, b.post("Action", "Subscribe", "TopicArn", topic, "Protocol", "http", "Endpoint", "http://a.example"), 500, "InternalError", "The request failed because of a fault on the server. Send it again.")
	b.publisher.fail = nil
	b.pending(topic, "http://a.example")
	if len(b.directory.subs) != 1 || len(b.publisher.announced) != 2 {
		t.Errorf("%d subscriptions, %d announcements", len(b.directory.subs), len(b.publisher.announced))
	}
}

func TestEndpointsOfEveryUsualFormAreAccepted(t *testing.T) {
	b := newBench(t)
	topic := b.newTopic("t")
	for _, endpoint := range []string{"http://a.example", "https://a.example:8443/p?q=a_b#f", "HTTP://a.example/capitals", "http://127.0.0.1:9000/", "http://[::1]:9000/x",
		"https://user:pass@a.example/", "http://localhost/my_path"} {
		scheme, _, _ := strings.Cut(strings.ToLower(endpoint), ":")
		b.ok("Action", "Subscribe", "TopicArn", topic, "Protocol", scheme, "Endpoint", endpoint)
	}
}

func TestPasswordsInEndpointsAreMaskedInAnswers(t *testing.T) {
	for endpoint, want := range map[string]string{
		"https://a.example/x":               "https://a.example/x",
		"https://user@a.example/x":          "https://user@a.example/x",
		"https://user:pass@a.example/x?y@z": "https://user:****@a.example/x?y@z",
		"https://u%40b:p%3Aw@a.example:1":   "https://u%40b:****@a.example:1",
		"https://user:@a.example":           "https://user:****@a.example",
		"https://user:p@ss@a.example/":      "https://user:****@a.example/",
	} {
		if got := masked(endpoint); got != want {
			t.Errorf("%s is shown as %s, want %s", endpoint, got, want)
		}
	}
	b := newBench(t)
	topic := b.newTopic("t")
	arn := b.confirmed(topic, "https://user:secret@a.example/x")
	for _, body := range []string{b.ok("Action", "ListSubscriptions"), b.ok("Action", "ListSubscriptionsByTopic", "TopicArn", topic),
		b.ok("Action", "GetSubscriptionAttributes", "SubscriptionArn", arn)} {
		if strings.Contains(body, "secret") || !strings.Contains(body, "https://user:****@a.example/x") {
			t.Error(body)
		}
	}
}

func TestSubscriptionAttributesAreSetReadAndRemoved(t *testing.T) {
	b := newBench(t)
	topic := b.newTopic("t")
	arn := b.pending(topic, "http://a.example")
	set := func(name, value string) {
		t.Helper()
		b.ok("Action", "SetSubscriptionAttributes", "SubscriptionArn", arn, "AttributeName", name, "AttributeValue", value)
	}
	get := func() string { return b.ok("Action", "GetSubscriptionAttributes", "SubscriptionArn", arn) }
	want := func(key, value string) {
		t.Helper()
		if got := attribute(get(), key); got != value {
			t.Errorf("%s is %q, want %q", key, got, value)
		}
	}
	for key, value := range map[string]string{"SubscriptionArn": arn, "TopicArn": topic, "Owner": "000000000000", "Protocol": "http", "Endpoint": "http://a.example",
		"SubscriptionPrincipal": "arn:aws:iam::000000000000:root", "PendingConfirmation": "true", "ConfirmationWasAuthenticated": "false", "RawMessageDelivery": "false",
		"DeliveryPolicy": "", "RedrivePolicy": "", "FilterPolicy": ""} {
		want(key, value)
	}
	if e := attribute(get(), "EffectiveDeliveryPolicy"); !strings.Contains(e, `"numRetries":3`) {
		t.Errorf("effective %s", e)
	}
	set("RedrivePolicy", queueT)
	want("RedrivePolicy", queueT)
	set("RedrivePolicy", "")
	want("RedrivePolicy", "")
	set("DeliveryPolicy", retryPolicy)
	if got := attribute(get(), "DeliveryPolicy"); !strings.HasPrefix(got, `{"healthyRetryPolicy":{"minDelayTarget":1,"maxDelayTarget":2,"numRetries":5`) || !strings.HasSuffix(got, `"guaranteed":false}`) {
		t.Errorf("not normalised: %s", got)
	}
	if e := attribute(get(), "EffectiveDeliveryPolicy"); !strings.Contains(e, `"numRetries":5`) {
		t.Errorf("effective %s", e)
	}
	set("DeliveryPolicy", "")
	want("DeliveryPolicy", "")
	set("RawMessageDelivery", "TRUE")
	want("RawMessageDelivery", "true")
	set("FilterPolicy", "")
	b.ok("Action", "ConfirmSubscription", "TopicArn", topic, "Token", b.token(arn))
	want("PendingConfirmation", "false")
}

func TestRawDeliveryCannotBeTurnedOffUnderARawOnlyContentType(t *testing.T) {
	b := newBench(t)
	arn := b.confirmed(b.newTopic("t"), "http://a.example")
	set := func(name, value string) Response {
		return b.post("Action", "SetSubscriptionAttributes", "SubscriptionArn", arn, "AttributeName", name, "AttributeValue", value)
	}
	if e := readError(t, set("DeliveryPolicy", csvPolicy).Body); !strings.HasPrefix(e.Message, "Invalid parameter: DeliveryPolicy: requestPolicy.headerContentType ") {
		t.Errorf("without raw delivery: %s", e.Message)
	}
	b.served(set("RawMessageDelivery", "true"))
	b.served(set("DeliveryPolicy", csvPolicy))
	r := set("RawMessageDelivery", "false")
	if e := readError(t, r.Body); r.Status != 400 || !strings.HasPrefix(e.Message, "Invalid parameter: DeliveryPolicy: requestPolicy.headerContentType ") {
		t.Errorf("turning raw delivery off: %s", e.Message)
	}
	if !b.directory.subs[arn].Raw {
		t.Error("it was turned off all the same")
	}
	b.served(set("DeliveryPolicy", ""))
	b.served(set("RawMessageDelivery", "false"))
}

// What is wrong with an attribute of an existing subscription, behind
// "Invalid parameter: ".
func TestSetSubscriptionAttributesRefusals(t *testing.T) {
	b := newBench(t)
	arn := b.confirmed(b.newTopic("t"), "http://a.example")
	stored := b.directory.subs[arn]
	for _, c := range []struct{ name, value, text string }{
		{"", "x", "AttributeName"},
		{"Endpoint", "http://b.example", "AttributeName"},
		{"RawMessageDelivery", "", "RawMessageDelivery: Invalid value []. Must be true or false."},
		{"RawMessageDelivery", "test-ValUe", "RawMessageDelivery: Invalid value [test-ValUe]. Must be true or false."},
		{"FilterPolicy", `{"a":["b"]}`, "FilterPolicy" + yet},
		{"FilterPolicyScope", "MessageBody", "FilterPolicyScope" + yet},
		{"SubscriptionRoleArn", "r", "SubscriptionRoleArn" + yet},
		{"ReplayPolicy", "{}", "ReplayPolicy" + yet},
		{"RedrivePolicy", `{"deadLetterTargetArn":"fake-arn"}`, "RedrivePolicy: deadLetterTargetArn is an invalid arn"},
		{"RedrivePolicy", strings.Repeat(" ", 32769), "RedrivePolicy: must have at most 32768 bytes"},
		{"DeliveryPolicy", strings.Repeat(" ", 32769), "DeliveryPolicy: must have at most 32768 bytes"},
		{"DeliveryPolicy", `{"http":{}}`, "DeliveryPolicy: Unexpected JSON member: http"},
		{"DeliveryPolicy", `{"healthyRetryPolicy":{"minDelayTarget":0,"maxDelayTarget":1,"numRetries":1}}`, "DeliveryPolicy: healthyRetryPolicy.minDelayTarget must be greater than or equal to 1"},
	} {
		r := b.post("Action", "SetSubscriptionAttributes", "SubscriptionArn", arn, "AttributeName", c.name, "AttributeValue", c.value)
		wantRefusal(t, r, 400, "InvalidParameter", "Invalid parameter: "+c.text)
	}
	for _, name := range []string{"RedrivePolicy", "DeliveryPolicy"} {
		r := b.post("Action", "SetSubscriptionAttributes", "SubscriptionArn", arn, "AttributeName", name, "AttributeValue", "{invalid")
		if e := readError(t, r.Body); e.Code != "InvalidParameter" || !strings.HasPrefix(e.Message, "Invalid parameter: "+name+": failed to parse JSON. ") {
			t.Errorf("%s that is not JSON: %s %s", name, e.Code, e.Message)
		}
	}
	if d := cmp.Diff(stored, b.directory.subs[arn]); d != "" {
		t.Errorf("a refused request changed the subscription: %s", d)
	}
}

func TestASubscriptionsEffectivePolicyInheritsFromItsTopicSectionBySection(t *testing.T) {
	b := newBench(t)
	topic := b.newTopic("t", "Attributes.entry.1.key", "DeliveryPolicy", "Attributes.entry.1.value",
		`{"http":{"defaultHealthyRetryPolicy":{"minDelayTarget":7,"maxDelayTarget":8,"numRetries":9},"defaultRequestPolicy":{"headerContentType":"application/json"}}}`)
	arn := b.confirmed(topic, "http://a.example", "Attributes.entry.1.key", "DeliveryPolicy", "Attributes.entry.1.value", retryPolicy)
	effective := attribute(b.ok("Action", "GetSubscriptionAttributes", "SubscriptionArn", arn), "EffectiveDeliveryPolicy")
	if !strings.Contains(effective, `"numRetries":5`) || !strings.Contains(effective, `"headerContentType":"application/json"`) {
		t.Errorf("effective %s", effective)
	}
}

func TestClockRandomnessAndLogHaveWorkingDefaults(t *testing.T) {
	b := newBench(t)
	b.Now, b.Random, b.Log = nil, nil, nil
	topic := b.newTopic("t")
	one, two := b.pending(topic, "http://a.example"), b.pending(topic, "http://b.example")
	if one == two || b.token(one) == b.token(two) || len(b.token(one)) != 288 {
		t.Errorf("subscriptions %s and %s", one, two)
	}
	if age := time.Since(b.directory.subs[one].CreatedAt); age < 0 || age > time.Minute {
		t.Errorf("created %v ago", age)
	}
}
