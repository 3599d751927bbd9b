package push_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"postino/shared/push"
)

func TestAnARNPrintsAsItWasRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := "arn:" + rapid.StringMatching(`([a-z0-9-]*:){4}[a-zA-Z0-9:_.-]*`).Draw(t, "arn")
		a, err := push.ParseARN(s)
		if err != nil || a.String() != s {
			t.Fatalf("%q became %q, %v", s, a.String(), err)
		}
	})
}

func TestPartsOfAnARN(t *testing.T) {
	topic, err := push.ParseARN("arn:aws-cn:sns:cn-north-1:123456789012:orders.fifo")
	if err != nil {
		t.Fatal(err)
	}
	if want := (push.ARN{Partition: "aws-cn", Service: "sns", Region: "cn-north-1", Account: "123456789012", Resource: "orders.fifo"}); topic != want {
		t.Errorf("got %+v", topic)
	}
	if topic.Name() != "orders.fifo" || topic.SubscriptionID() != "" || !topic.FIFO() {
		t.Errorf("topic is %q, %q, FIFO %v", topic.Name(), topic.SubscriptionID(), topic.FIFO())
	}
	subscription, err := push.ParseARN(subscriptionARN)
	if err != nil {
		t.Fatal(err)
	}
	if subscription.Name() != "orders" || subscription.SubscriptionID() != "6b0e71bd-7e97-4d97-80ce-4a0994e55286" || subscription.FIFO() {
		t.Errorf("subscription is %q, %q, FIFO %v", subscription.Name(), subscription.SubscriptionID(), subscription.FIFO())
	}
}

func TestWhatIsNoARNIsRefusedInSNSsWords(t *testing.T) {
	for s, want := range map[string]int{"": 1, "pending confirmation": 1, "arn:aws:sns:eu-west-1:orders": 5} {
		if _, err := push.ParseARN(s); err == nil || err.Error() != fmt.Sprintf("An ARN must have at least 6 elements, not %d", want) {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, s := range []string{"urn:a:b:c:d:e", "urn:a:b:c:d:e:f:g", ":::::", "ARN:a:b:c:d:e"} {
		if _, err := push.ParseARN(s); err == nil || strings.Contains(err.Error(), "elements") {
			t.Errorf("%q, which has elements enough: %v", s, err)
		}
	}
}

func TestASubscriptionKnowsItsTopicAndID(t *testing.T) {
	for arn, want := range map[string][2]string{
		subscriptionARN:        {topicARN, "6b0e71bd-7e97-4d97-80ce-4a0994e55286"},
		topicARN:               {"", ""},
		"":                     {"", ""},
		"pending confirmation": {"", ""},
		topicARN + ":":         {topicARN, ""},
		subscriptionARN + ":x": {"", ""},
	} {
		if topic, id := push.TopicOf(arn), (push.Subscription{ARN: arn}).ID(); topic != want[0] || id != want[1] {
			t.Errorf("%q has topic %q and id %q, want %q", arn, topic, id, want)
		}
	}
}

func TestSafeEndpointHidesCredentialsAndQuery(t *testing.T) {
	for endpoint, want := range map[string]string{
		"https://example.com/hook":                      "https://example.com/hook",
		"https://example.com":                           "https://example.com/",
		"https://me:s3cret@example.com:8443/a?k=s3cret": "https://example.com:8443/a",
		"https://me:p@s3cret@example.com/a#s3cret":      "https://example.com/a",
		"http://[::1]:80/a@b":                           "http://[::1]:80/a@b",
		"s3cret":                                        "",
	} {
		if got := (push.Subscription{Endpoint: endpoint}).SafeEndpoint(); got != want || strings.Contains(got, "s3cret") {
			t.Errorf("%s: %q, want %q", endpoint, got, want)
		}
	}
}

func TestSignatureVersionIs1UnlessATopicSays2(t *testing.T) {
	for version, want := range map[string]string{"": "1", "1": "1", "2": "2", "3": "1"} {
		if got := (push.Topic{SignatureVersion: version}).Signature(); got != want {
			t.Errorf("%q: %q", version, got)
		}
	}
}

func TestADeliveryRemembersItsLatestAttemptsInOrder(t *testing.T) {
	var d push.Delivery
	for n := 1; n <= push.HistoryKept+7; n++ {
		d.Remember(push.Attempt{Number: n})
		kept := min(n, push.HistoryKept)
		if len(d.Attempts) != kept {
			t.Fatalf("after %d attempts %d are kept", n, len(d.Attempts))
		}
		for i, a := range d.Attempts {
			if a.Number != n-kept+1+i {
				t.Fatalf("after %d attempts number %d stands at %d", n, a.Number, i)
			}
		}
	}
}

func TestOnlyThreeStatesAreEnds(t *testing.T) {
	for state, want := range map[push.State]bool{push.Claimed: false, push.Finished: false, push.Delivered: true, push.Dead: true, push.Dropped: true} {
		if state.Ended() != want {
			t.Errorf("%s ended: %v", state, !want)
		}
	}
}

func TestACodeIsFoundThroughWrapping(t *testing.T) {
	cause := errors.New("disk full")
	err := fmt.Errorf("reading: %w", &push.Error{Code: push.CodeNotFound, Text: "Topic does not exist", Cause: cause})
	if !push.IsNotFound(err) || push.CodeOf(err) != push.CodeNotFound || !errors.Is(err, cause) {
		t.Errorf("%v has code %s", err, push.CodeOf(err))
	}
	if got := err.Error(); got != "reading: NotFound: Topic does not exist: disk full" {
		t.Error(got)
	}
	if push.IsNotFound(nil) || push.IsNotFound(cause) || push.CodeOf(cause) != push.CodeInternalError {
		t.Error("an error without a code is taken for one with a code")
	}
	if got := push.Invalid("Topic%s", "Arn").Error(); got != "InvalidParameter: Invalid parameter: TopicArn" {
		t.Error(got)
	}
}

func TestEveryCodeTravelsWithItsStatus(t *testing.T) {
	for code, want := range map[push.Code]int{
		push.CodeInvalidParameter: 400, push.CodeValidationError: 400, push.CodeTooManyEntries: 400, push.CodeTagLimit: 400,
		push.CodeNotFound: 404, push.CodeResourceNotFound: 404, push.CodeAuthorizationError: 403,
		push.CodeThrottling: 429, push.CodeRequestTooLarge: 413, push.CodeInternalError: 500, push.CodeUnavailable: 503,
	} {
		if got := code.HTTPStatus(); got != want {
			t.Errorf("%s: %d, want %d", code, got, want)
		}
	}
}
