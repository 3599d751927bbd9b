package snsapi

import (
	"net/http"
	"strings"
	"testing"

	"postino/shared/push"
)

func TestTheServersOwnQueuesAreNoDeadLetterQueues(t *testing.T) {
	a := &API{Reserved: func(arn string) bool { return strings.HasSuffix(arn, ":RetryQueue") }}
	s := push.Subscription{TopicARN: "arn:aws:sns:us-east-1:000000000000:t"}
	if err := a.setRedrivePolicy(&s, `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:RetryQueue"}`); err == nil || s.RedrivePolicy != "" {
		t.Errorf("taken: %v, %q", err, s.RedrivePolicy)
	}
	if err := a.setRedrivePolicy(&s, `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:mine"}`); err != nil || s.RedrivePolicy == "" {
		t.Errorf("refused: %v", err)
	}
}

func TestAPushIsNoRequest(t *testing.T) {
	r := Request{Method: http.MethodPost, Path: "/", Header: http.Header{"X-Amz-Sns-Message-Type": {"SubscriptionConfirmation"}}}
	if err := acceptable(r); err == nil {
		t.Error("the server takes its own push for a request")
	}
	r.Header = http.Header{"Sec-Fetch-Site": {"Cross-Site"}}
	if err := acceptable(r); err == nil {
		t.Error("letter case hides another site")
	}
}
