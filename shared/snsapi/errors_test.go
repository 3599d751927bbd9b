package snsapi

import (
	"context"
	"encoding/xml"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"postino/shared/push"
)

// refused is what an error answer says.
type refused struct {
	Type, Code, Message string
	RequestID           string
}

func readError(t *testing.T, body []byte) refused {
	t.Helper()
	var doc struct {
		XMLName   xml.Name `xml:"http://sns.amazonaws.com/doc/2010-03-31/ ErrorResponse"`
		Type      string   `xml:"Error>Type"`
		Code      string   `xml:"Error>Code"`
		Message   string   `xml:"Error>Message"`
		RequestID string   `xml:"RequestId"`
	}
	if err := xml.Unmarshal(body, &doc); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return refused{doc.Type, doc.Code, doc.Message, doc.RequestID}
}

// wantRefusal checks status, code, text and form of an error answer.
func wantRefusal(t *testing.T, r Response, status int, code, text string) {
	t.Helper()
	if r.Status != status {
		t.Errorf("status %d, want %d: %s", r.Status, status, r.Body)
		if r.Status == 200 {
			return
		}
	}
	e := readError(t, r.Body)
	if e.Code != code || e.Message != text {
		t.Errorf("got  %s %q\nwant %s %q", e.Code, e.Message, code, text)
	}
	side := "Sender"
	if status >= 500 {
		side = "Receiver"
	}
	if e.Type != side {
		t.Errorf("type %s, want %s", e.Type, side)
	}
	if e.RequestID == "" || e.RequestID != r.Header.Get("x-amzn-RequestId") {
		t.Errorf("request id %q in the body, %q in the header", e.RequestID, r.Header.Get("x-amzn-RequestId"))
	}
	if r.Header.Get("Content-Type") != "text/xml" {
		t.Errorf("content type %q", r.Header.Get("Content-Type"))
	}
}

const (
	topicT  = "arn:aws:sns:us-east-1:000000000000:t"
	absent  = "arn:aws:sns:us-east-1:000000000000:absent"
	someSub = topicT + ":11111111-2222-4333-8444-555555555555"
	invalid = "Invalid parameter: "
	inAttrs = invalid + "Attributes Reason: "
	yet     = ": this server does not serve it yet"
)

// refusals are requests against a server that has one topic, t, with the tag
// k=v and the DisplayName "shown", and one confirmed subscription, of
// https://have.example. A PublishBatch without a TopicArn gets t's.
var refusals = []struct {
	name   string
	pairs  []string
	status int
	code   string
	text   string
}{
	{"no action", []string{"Version", "2010-03-31"}, 400, "MissingAction", "The request names no Action."},
	{"an empty action", []string{"Action", ""}, 400, "MissingAction", "The request names no Action."},
	{"an unknown action", []string{"Action", "Frobnicate"}, 400, "InvalidAction", "There is no action Frobnicate."},
	{"a real action that is not built", []string{"Action", "AddPermission"}, 400, "InvalidAction", "AddPermission is an action of Amazon SNS that this server does not serve yet."},
	{"another version", []string{"Action", "ListTopics", "Version", "2011-01-01"}, 400, "InvalidAction", "There is no operation ListTopics in version 2011-01-01: this server speaks version 2010-03-31."},

	{"CreateTopic without a name", []string{"Action", "CreateTopic"}, 400, "InvalidParameter", invalid + "Topic Name"},
	{"CreateTopic with a bad name", []string{"Action", "CreateTopic", "Name", "a.b"}, 400, "InvalidParameter", invalid + "Topic Name"},
	{"CreateTopic with a name that is too long", []string{"Action", "CreateTopic", "Name", strings.Repeat("a", 257)}, 400, "InvalidParameter", invalid + "Topic Name"},
	{"CreateTopic of a FIFO name without FifoTopic", []string{"Action", "CreateTopic", "Name", "a.fifo"}, 400, "InvalidParameter", invalid + "Topic Name"},
	{"CreateTopic of a FIFO topic without a FIFO name", []string{"Action", "CreateTopic", "Name", "a", "Attributes.entry.1.key", "FifoTopic", "Attributes.entry.1.value", "true"}, 400, "InvalidParameter", invalid + "Topic Name"},
	{"CreateTopic of a FIFO topic", []string{"Action", "CreateTopic", "Name", "a.fifo", "Attributes.entry.1.key", "FifoTopic", "Attributes.entry.1.value", "true"}, 400, "InvalidParameter", inAttrs + "FifoTopic" + yet},
	{"CreateTopic with a FifoTopic that is no boolean", []string{"Action", "CreateTopic", "Name", "a", "Attributes.entry.1.key", "FifoTopic", "Attributes.entry.1.value", "no"}, 400, "InvalidParameter", inAttrs + "FifoTopic: Invalid value [no]. Must be true or false."},
	{"CreateTopic with an unknown attribute", []string{"Action", "CreateTopic", "Name", "a", "Attributes.entry.1.key", "Colour", "Attributes.entry.1.value", "red"}, 400, "InvalidParameter", inAttrs + "Unknown attribute: Colour"},
	{"CreateTopic with encryption", []string{"Action", "CreateTopic", "Name", "a", "Attributes.entry.1.key", "KmsMasterKeyId", "Attributes.entry.1.value", "alias/aws/sns"}, 400, "InvalidParameter", inAttrs + "KmsMasterKeyId" + yet},
	{"CreateTopic with a policy", []string{"Action", "CreateTopic", "Name", "a", "Attributes.entry.1.key", "Policy", "Attributes.entry.1.value", "{}"}, 400, "InvalidParameter", inAttrs + "Policy: this server does not enforce access policies yet and keeps none"},
	{"CreateTopic with a bad delivery policy", []string{"Action", "CreateTopic", "Name", "a", "Attributes.entry.1.key", "DeliveryPolicy", "Attributes.entry.1.value", `{"http":{"defaultHealthyRetryPolicy":{"minDelayTarget":1,"maxDelayTarget":1,"numRetries":101}}}`}, 400, "InvalidParameter", inAttrs + "DeliveryPolicy: http.defaultHealthyRetryPolicy.numRetries must be less than or equal to 100"},
	{"CreateTopic with data protection", []string{"Action", "CreateTopic", "Name", "a", "DataProtectionPolicy", "{}"}, 400, "InvalidParameter", invalid + "DataProtectionPolicy" + yet},
	{"CreateTopic with an attribute twice", []string{"Action", "CreateTopic", "Name", "a", "Attributes.entry.1.key", "DisplayName", "Attributes.entry.1.value", "x", "Attributes.entry.2.key", "DisplayName", "Attributes.entry.2.value", "y"}, 400, "InvalidParameter", inAttrs + "DisplayName is given twice"},
	{"CreateTopic with another display name", []string{"Action", "CreateTopic", "Name", "t", "Attributes.entry.1.key", "DisplayName", "Attributes.entry.1.value", "other"}, 400, "InvalidParameter", inAttrs + "Topic already exists with different attributes"},
	{"CreateTopic with another signature version", []string{"Action", "CreateTopic", "Name", "t", "Attributes.entry.1.key", "SignatureVersion", "Attributes.entry.1.value", "2"}, 400, "InvalidParameter", inAttrs + "Topic already exists with different attributes"},
	{"CreateTopic with another delivery policy", []string{"Action", "CreateTopic", "Name", "t", "Attributes.entry.1.key", "DeliveryPolicy", "Attributes.entry.1.value", `{"http":{"disableSubscriptionOverrides":true}}`}, 400, "InvalidParameter", inAttrs + "Topic already exists with different attributes"},
	{"CreateTopic with another tag", []string{"Action", "CreateTopic", "Name", "t", "Tags.member.1.Key", "k2", "Tags.member.1.Value", "v"}, 400, "InvalidParameter", invalid + "Tags Reason: Topic already exists with different tags"},
	{"CreateTopic with another tag value", []string{"Action", "CreateTopic", "Name", "t", "Tags.member.1.Key", "k", "Tags.member.1.Value", "w"}, 400, "InvalidParameter", invalid + "Tags Reason: Topic already exists with different tags"},
	{"CreateTopic with a tag key twice", []string{"Action", "CreateTopic", "Name", "n", "Tags.member.1.Key", "k", "Tags.member.2.Key", "k"}, 400, "InvalidParameter", invalid + "Duplicated keys are not allowed."},
	{"a reserved tag key", []string{"Action", "TagResource", "ResourceArn", topicT, "Tags.member.1.Key", "AWS:x"}, 400, "InvalidParameter", invalid + "Tags Reason: keys that begin with aws: are reserved"},
	{"an empty tag key", []string{"Action", "TagResource", "ResourceArn", topicT, "Tags.member.1.Value", "x"}, 400, "InvalidParameter", invalid + "Tags Reason: a key must have 1 to 128 characters"},
	{"a long tag value", []string{"Action", "TagResource", "ResourceArn", topicT, "Tags.member.1.Key", "x", "Tags.member.1.Value", strings.Repeat("x", 257)}, 400, "InvalidParameter", invalid + "Tags Reason: the value of x must have at most 256 characters"},
	{"TagResource of nothing", []string{"Action", "TagResource", "ResourceArn", absent, "Tags.member.1.Key", "k"}, 404, "ResourceNotFound", "Resource does not exist"},
	{"UntagResource of nothing", []string{"Action", "UntagResource", "ResourceArn", absent, "TagKeys.member.1", "k"}, 404, "ResourceNotFound", "Resource does not exist"},
	{"ListTagsForResource of nothing", []string{"Action", "ListTagsForResource", "ResourceArn", absent}, 404, "ResourceNotFound", "Resource does not exist"},

	{"GetTopicAttributes of nothing", []string{"Action", "GetTopicAttributes", "TopicArn", absent}, 404, "NotFound", "Topic does not exist"},
	{"GetTopicAttributes without an ARN", []string{"Action", "GetTopicAttributes"}, 400, "InvalidParameter", invalid + "TopicArn Reason: no value for required parameter"},
	{"GetTopicAttributes of no ARN", []string{"Action", "GetTopicAttributes", "TopicArn", "randomstring"}, 400, "InvalidParameter", invalid + "TopicArn Reason: An ARN must have at least 6 elements, not 1"},
	{"GetTopicAttributes of what has the elements of an ARN and is none", []string{"Action", "GetTopicAttributes", "TopicArn", "urn:aws:sns:us-east-1:000000000000:t:a:b"}, 400, "InvalidParameter", invalid + "TopicArn"},
	{"Unsubscribe of what has the elements of an ARN and is none", []string{"Action", "Unsubscribe", "SubscriptionArn", "urn" + strings.TrimPrefix(someSub, "arn")}, 400, "InvalidParameter", invalid + "SubscriptionArn"},
	{"GetTopicAttributes in another region", []string{"Action", "GetTopicAttributes", "TopicArn", "arn:aws:sns:eu-west-1:000000000000:t"}, 400, "InvalidParameter", invalid + "TopicArn"},
	{"GetTopicAttributes of another service", []string{"Action", "GetTopicAttributes", "TopicArn", "arn:aws:sqs:us-east-1:000000000000:t"}, 400, "InvalidParameter", invalid + "TopicArn"},
	{"GetTopicAttributes of a subscription", []string{"Action", "GetTopicAttributes", "TopicArn", someSub}, 400, "InvalidParameter", invalid + "TopicArn"},
	{"GetTopicAttributes in another account", []string{"Action", "GetTopicAttributes", "TopicArn", "arn:aws:sns:us-east-1:999999999999:t"}, 404, "NotFound", "Topic does not exist"},
	{"DeleteTopic of no ARN", []string{"Action", "DeleteTopic", "TopicArn", "a:b"}, 400, "InvalidParameter", invalid + "TopicArn Reason: An ARN must have at least 6 elements, not 2"},
	{"SetTopicAttributes of nothing", []string{"Action", "SetTopicAttributes", "TopicArn", absent, "AttributeName", "DisplayName"}, 404, "NotFound", "Topic does not exist"},
	{"SetTopicAttributes of an unknown attribute", []string{"Action", "SetTopicAttributes", "TopicArn", topicT, "AttributeName", "FifoTopic", "AttributeValue", "false"}, 400, "InvalidParameter", invalid + "AttributeName"},
	{"SetTopicAttributes of no attribute", []string{"Action", "SetTopicAttributes", "TopicArn", topicT}, 400, "InvalidParameter", invalid + "AttributeName"},
	{"SetTopicAttributes of a policy", []string{"Action", "SetTopicAttributes", "TopicArn", topicT, "AttributeName", "Policy", "AttributeValue", "{}"}, 400, "InvalidParameter", invalid + "Policy: this server does not enforce access policies yet and keeps none"},
	{"SetTopicAttributes of a delivery status role", []string{"Action", "SetTopicAttributes", "TopicArn", topicT, "AttributeName", "HTTPSuccessFeedbackRoleArn", "AttributeValue", "arn:aws:iam::1:role/x"}, 400, "InvalidParameter", invalid + "HTTPSuccessFeedbackRoleArn" + yet},
	{"SetTopicAttributes of a success sample rate above 100", []string{"Action", "SetTopicAttributes", "TopicArn", topicT, "AttributeName", "HTTPSuccessFeedbackSampleRate", "AttributeValue", "101"}, 400, "InvalidParameter", invalid + "HTTPSuccessFeedbackSampleRate: Invalid value [101]. Must be a whole number from 0 to 100."},
	{"SetTopicAttributes of a success sample rate that is no number", []string{"Action", "SetTopicAttributes", "TopicArn", topicT, "AttributeName", "HTTPSuccessFeedbackSampleRate", "AttributeValue", "+5"}, 400, "InvalidParameter", invalid + "HTTPSuccessFeedbackSampleRate: Invalid value [+5]. Must be a whole number from 0 to 100."},
	{"SetTopicAttributes of another protocol's sample rate", []string{"Action", "SetTopicAttributes", "TopicArn", topicT, "AttributeName", "SQSSuccessFeedbackSampleRate", "AttributeValue", "5"}, 400, "InvalidParameter", invalid + "SQSSuccessFeedbackSampleRate" + yet},
	{"CreateTopic with another success sample rate", []string{"Action", "CreateTopic", "Name", "t", "Attributes.entry.1.key", "HTTPSuccessFeedbackSampleRate", "Attributes.entry.1.value", "5"}, 400, "InvalidParameter", inAttrs + "Topic already exists with different attributes"},
	{"SetTopicAttributes of active tracing", []string{"Action", "SetTopicAttributes", "TopicArn", topicT, "AttributeName", "TracingConfig", "AttributeValue", "Active"}, 400, "InvalidParameter", invalid + "TracingConfig" + yet},
	{"SetTopicAttributes of a signature version there is not", []string{"Action", "SetTopicAttributes", "TopicArn", topicT, "AttributeName", "SignatureVersion", "AttributeValue", "3"}, 400, "InvalidParameter", invalid + "SignatureVersion: Invalid value [3]. Must be 1 or 2."},
	{"SetTopicAttributes of a long display name", []string{"Action", "SetTopicAttributes", "TopicArn", topicT, "AttributeName", "DisplayName", "AttributeValue", strings.Repeat("é", 101)}, 400, "InvalidParameter", invalid + "DisplayName: must have at most 100 characters and no control characters"},
	{"SetTopicAttributes of a subscription's delivery policy", []string{"Action", "SetTopicAttributes", "TopicArn", topicT, "AttributeName", "DeliveryPolicy", "AttributeValue", `{"throttlePolicy":{"maxReceivesPerSecond":1}}`}, 400, "InvalidParameter", invalid + "DeliveryPolicy: Unexpected JSON member: throttlePolicy"},
	{"SetTopicAttributes of a huge delivery policy", []string{"Action", "SetTopicAttributes", "TopicArn", topicT, "AttributeName", "DeliveryPolicy", "AttributeValue", strings.Repeat(" ", 40_000)}, 400, "InvalidParameter", invalid + "DeliveryPolicy: must have at most 32768 bytes"},
	{"ListTopics with a bad token", []string{"Action", "ListTopics", "NextToken", "!"}, 400, "InvalidParameter", invalid + "NextToken"},
	{"ListSubscriptions with a topic list's token", []string{"Action", "ListSubscriptions", "NextToken", "dG9waWNzIGFybjphd3M"}, 400, "InvalidParameter", invalid + "NextToken"},
	{"ListSubscriptionsByTopic of nothing", []string{"Action", "ListSubscriptionsByTopic", "TopicArn", absent}, 404, "NotFound", "Topic does not exist"},
	{"ListSubscriptionsByTopic with another topic's token", []string{"Action", "ListSubscriptionsByTopic", "TopicArn", topicT, "NextToken", "YnktdG9waWMgYXJuOmF3czpzbnM6dXMtZWFzdC0xOjAwMDAwMDAwMDAwMDp1OjE"}, 400, "InvalidParameter", invalid + "NextToken"},

	{"Subscribe to nothing", []string{"Action", "Subscribe", "TopicArn", absent, "Protocol", "http", "Endpoint", "http://a.example"}, 404, "NotFound", "Topic does not exist"},
	{"Subscribe with no ARN", []string{"Action", "Subscribe", "TopicArn", "arn:aws:sns:us-east-1:t", "Protocol", "http", "Endpoint", "http://a.example"}, 400, "InvalidParameter", invalid + "TopicArn Reason: An ARN must have at least 6 elements, not 5"},
	{"Subscribe without a protocol", []string{"Action", "Subscribe", "TopicArn", topicT}, 400, "InvalidParameter", invalid + "Protocol Reason: no value for required parameter"},
	{"Subscribe with an unknown protocol", []string{"Action", "Subscribe", "TopicArn", topicT, "Protocol", "carrier-pigeon", "Endpoint", "x"}, 400, "InvalidParameter", invalid + "Amazon SNS does not support this protocol string: carrier-pigeon"},
	{"Subscribe with a protocol in capitals", []string{"Action", "Subscribe", "TopicArn", topicT, "Protocol", "HTTP", "Endpoint", "http://a.example"}, 400, "InvalidParameter", invalid + "Amazon SNS does not support this protocol string: HTTP"},
	{"Subscribe with a protocol that is not built", []string{"Action", "Subscribe", "TopicArn", topicT, "Protocol", "sqs", "Endpoint", "arn:aws:sqs:us-east-1:000000000000:q"}, 400, "InvalidParameter", invalid + "Protocol Reason: this server does not serve sqs yet, only http and https"},
	{"Subscribe without an endpoint", []string{"Action", "Subscribe", "TopicArn", topicT, "Protocol", "http"}, 400, "InvalidParameter", invalid + "Endpoint Reason: no value for required parameter"},
	{"Subscribe https to an http endpoint", []string{"Action", "Subscribe", "TopicArn", topicT, "Protocol", "https", "Endpoint", "http://a.example"}, 400, "InvalidParameter", invalid + "Endpoint must match the specified protocol"},
	{"Subscribe to something that is no URL", []string{"Action", "Subscribe", "TopicArn", topicT, "Protocol", "http", "Endpoint", "http"}, 400, "InvalidParameter", invalid + "Endpoint must match the specified protocol"},
	{"Subscribe to a URL without a host", []string{"Action", "Subscribe", "TopicArn", topicT, "Protocol", "http", "Endpoint", "http://:80/x"}, 400, "InvalidParameter", invalid + "Endpoint Reason: the URL names no host"},
	{"Subscribe to a broken URL", []string{"Action", "Subscribe", "TopicArn", topicT, "Protocol", "http", "Endpoint", "http://a.example/%zz"}, 400, "InvalidParameter", invalid + "Endpoint Reason: not a valid URL"},
	{"Subscribe to a URL with a line break", []string{"Action", "Subscribe", "TopicArn", topicT, "Protocol", "http", "Endpoint", "http://a.example/\r\nHost: b"}, 400, "InvalidParameter", invalid + "Endpoint Reason: not a valid URL"},
	{"Subscribe to a host with an underscore", []string{"Action", "Subscribe", "TopicArn", topicT, "Protocol", "http", "Endpoint", "http://my_host.example"}, 400, "InvalidParameter", invalid + "Endpoint Reason: a host name must not contain an underscore"},
	{"Subscribe to a port there is not", []string{"Action", "Subscribe", "TopicArn", topicT, "Protocol", "http", "Endpoint", "http://a.example:65536/"}, 400, "InvalidParameter", invalid + "Endpoint Reason: the port must be 1 to 65535"},
	{"Subscribe to a long URL", []string{"Action", "Subscribe", "TopicArn", topicT, "Protocol", "http", "Endpoint", "http://a.example/" + strings.Repeat("x", 2048)}, 400, "InvalidParameter", invalid + "Endpoint Reason: a URL must have at most 2048 bytes"},
	{"Subscribe with a flag that is no boolean", []string{"Action", "Subscribe", "TopicArn", topicT, "Protocol", "http", "Endpoint", "http://a.example", "ReturnSubscriptionArn", "1"}, 400, "InvalidParameter", invalid + "ReturnSubscriptionArn: Invalid value [1]. Must be true or false."},
	{"Subscribe with a wrong raw flag", subscribeWith("RawMessageDelivery", "wrongvalue"), 400, "InvalidParameter", inAttrs + "RawMessageDelivery: Invalid value [wrongvalue]. Must be true or false."},
	{"Subscribe with a filter policy", subscribeWith("FilterPolicy", `{"a":["b"]}`), 400, "InvalidParameter", inAttrs + "FilterPolicy" + yet},
	{"Subscribe with a filter policy scope", subscribeWith("FilterPolicyScope", "MessageBody"), 400, "InvalidParameter", inAttrs + "FilterPolicyScope" + yet},
	{"Subscribe with a role", subscribeWith("SubscriptionRoleArn", "arn:aws:iam::1:role/r"), 400, "InvalidParameter", inAttrs + "SubscriptionRoleArn" + yet},
	{"Subscribe with a replay policy", subscribeWith("ReplayPolicy", "{}"), 400, "InvalidParameter", inAttrs + "ReplayPolicy" + yet},
	{"Subscribe with an unknown attribute", subscribeWith("Colour", "red"), 400, "InvalidParameter", inAttrs + "Unknown attribute: Colour"},
	{"Subscribe with a bad delivery policy", subscribeWith("DeliveryPolicy", `{"healthyRetryPolicy":{"minDelayTarget":0,"maxDelayTarget":1,"numRetries":1}}`), 400, "InvalidParameter", inAttrs + "DeliveryPolicy: healthyRetryPolicy.minDelayTarget must be greater than or equal to 1"},
	{"Subscribe with a bad redrive policy", subscribeWith("RedrivePolicy", `{"deadLetterTargetArn":"q"}`), 400, "InvalidParameter", inAttrs + "RedrivePolicy: deadLetterTargetArn is an invalid arn"},
	{"Subscribe again with other attributes", []string{"Action", "Subscribe", "TopicArn", topicT, "Protocol", "https", "Endpoint", "https://have.example", "Attributes.entry.1.key", "RawMessageDelivery", "Attributes.entry.1.value", "true"}, 400, "InvalidParameter", inAttrs + "Subscription already exists with different attributes"},

	{"ConfirmSubscription of no ARN", []string{"Action", "ConfirmSubscription", "TopicArn", "not-an-arn", "Token", "aa"}, 400, "InvalidParameter", invalid + "Topic"},
	{"ConfirmSubscription in another region", []string{"Action", "ConfirmSubscription", "TopicArn", "arn:aws:sns:eu-west-1:000000000000:t", "Token", "aa"}, 400, "InvalidParameter", invalid + "Topic"},
	{"ConfirmSubscription without a token", []string{"Action", "ConfirmSubscription", "TopicArn", topicT}, 400, "InvalidParameter", invalid + "Token Reason: no value for required parameter"},
	{"ConfirmSubscription with an unknown token", []string{"Action", "ConfirmSubscription", "TopicArn", topicT, "Token", "abc123"}, 400, "InvalidParameter", invalid + "Token"},
	{"ConfirmSubscription with a token of other letters", []string{"Action", "ConfirmSubscription", "TopicArn", topicT, "Token", "randomtoken"}, 400, "InvalidParameter", "Invalid token"},

	{"Unsubscribe of pending confirmation", []string{"Action", "Unsubscribe", "SubscriptionArn", "pending confirmation"}, 400, "InvalidParameter", invalid + "SubscriptionArn Reason: An ARN must have at least 6 elements, not 1"},
	{"Unsubscribe of a short ARN", []string{"Action", "Unsubscribe", "SubscriptionArn", "arn:aws:sns:us-east-1:random"}, 400, "InvalidParameter", invalid + "SubscriptionArn Reason: An ARN must have at least 6 elements, not 5"},
	{"Unsubscribe of a topic", []string{"Action", "Unsubscribe", "SubscriptionArn", topicT}, 400, "InvalidParameter", invalid + "SubscriptionId"},
	{"Unsubscribe of a subscription without a UUID", []string{"Action", "Unsubscribe", "SubscriptionArn", topicT + ":x"}, 400, "InvalidParameter", invalid + "SubscriptionId"},
	{"Unsubscribe without an ARN", []string{"Action", "Unsubscribe"}, 400, "InvalidParameter", invalid + "SubscriptionArn Reason: no value for required parameter"},
	{"Unsubscribe in another region", []string{"Action", "Unsubscribe", "SubscriptionArn", strings.Replace(someSub, "us-east-1", "eu-west-1", 1)}, 400, "InvalidParameter", invalid + "SubscriptionArn"},
	{"GetSubscriptionAttributes of nothing", []string{"Action", "GetSubscriptionAttributes", "SubscriptionArn", someSub}, 404, "NotFound", "Subscription does not exist"},
	{"GetSubscriptionAttributes in another account", []string{"Action", "GetSubscriptionAttributes", "SubscriptionArn", strings.Replace(someSub, "000000000000", "999999999999", 1)}, 404, "NotFound", "Subscription does not exist"},
	{"SetSubscriptionAttributes of nothing", []string{"Action", "SetSubscriptionAttributes", "SubscriptionArn", someSub, "AttributeName", "RawMessageDelivery", "AttributeValue", "true"}, 404, "NotFound", "Subscription does not exist"},
	{"SetSubscriptionAttributes in another account", []string{"Action", "SetSubscriptionAttributes", "SubscriptionArn", strings.Replace(someSub, "000000000000", "999999999999", 1), "AttributeName", "RawMessageDelivery", "AttributeValue", "true"}, 404, "NotFound", "Subscription does not exist"},

	{"Publish to nowhere", []string{"Action", "Publish", "Message", "m"}, 400, "InvalidParameter", invalid + "TopicArn or TargetArn Reason: no value for required parameter"},
	{"Publish to two places", []string{"Action", "Publish", "Message", "m", "TopicArn", topicT, "TargetArn", absent}, 400, "InvalidParameter", invalid + "TopicArn or TargetArn Reason: both are given and differ"},
	{"Publish to a phone", []string{"Action", "Publish", "Message", "m", "PhoneNumber", "+15551234567"}, 400, "InvalidParameter", invalid + "PhoneNumber" + yet},
	{"Publish to a mobile endpoint", []string{"Action", "Publish", "Message", "m", "TargetArn", "arn:aws:sns:us-east-1:000000000000:endpoint/APNS/a/1"}, 400, "InvalidParameter", invalid + "TargetArn Reason: No endpoint found for the target arn specified"},
	{"Publish to nothing", []string{"Action", "Publish", "Message", "m", "TopicArn", absent}, 404, "NotFound", "Topic does not exist"},
	{"Publish of nothing", []string{"Action", "Publish", "TopicArn", topicT}, 400, "InvalidParameter", invalid + "Empty message"},
	{"Publish with an empty subject", []string{"Action", "Publish", "TopicArn", topicT, "Message", "m", "Subject", ""}, 400, "InvalidParameter", invalid + "Subject"},
	{"Publish of too much", []string{"Action", "Publish", "TopicArn", topicT, "Message", strings.Repeat("x", 262145)}, 400, "InvalidParameter", invalid + "Message too long"},
	{"Publish of bad structure", []string{"Action", "Publish", "TopicArn", topicT, "Message", "{", "MessageStructure", "json"}, 400, "InvalidParameter", invalid + "Message Structure - JSON message body failed to parse"},
	{"Publish of structure without a default", []string{"Action", "Publish", "TopicArn", topicT, "Message", `{"http":"x"}`, "MessageStructure", "json"}, 400, "InvalidParameter", invalid + "Message Structure - No default entry in JSON message body"},
	{"Publish with a deduplication id", []string{"Action", "Publish", "TopicArn", topicT, "Message", "m", "MessageDeduplicationId", "d"}, 400, "InvalidParameter", invalid + "MessageDeduplicationId Reason: The request includes MessageDeduplicationId parameter that is not valid for this topic type"},
	{"an attribute without a type", publishWith("attr1", "", "StringValue", "v"), 400, "ValidationError", "1 validation error detected: Value null at 'messageAttributes.attr1.member.dataType' failed to satisfy constraint: Member must not be null"},
	{"an attribute with an empty value", publishWith("attr1", "String", "StringValue", ""), 400, "ParameterValueInvalid", "The message attribute 'attr1' must contain non-empty message attribute value for message attribute type 'String'."},
	{"a string in the binary field", publishWith("attr1", "String", "BinaryValue", "MTIz"), 400, "ParameterValueInvalid", "The message attribute 'attr1' with type 'String' must use field 'String'."},
	{"a number in the binary field", publishWith("attr1", "Number", "BinaryValue", "MTIz"), 400, "ParameterValueInvalid", "The message attribute 'attr1' with type 'Number' must use field 'String'."},
	{"bytes in the string field", publishWith("attr1", "Binary", "StringValue", "123"), 400, "ParameterValueInvalid", "The message attribute 'attr1' with type 'Binary' must use field 'Binary'."},
	{"bytes that are not base64", publishWith("attr1", "Binary", "BinaryValue", "%%%"), 400, "ParameterValueInvalid", "The message attribute 'attr1' with type 'Binary' must hold base64."},
	{"an attribute of a type there is not", publishWith("attr1", "InvalidType", "StringValue", "123"), 400, "ParameterValueInvalid", "The message attribute 'attr1' has an invalid message attribute type, the set of supported type prefixes is Binary, Number, and String."},
	{"an attribute with a bad name", publishWith("a^*?", "String", "StringValue", "123"), 400, "ParameterValueInvalid", "Invalid non-alphanumeric character '#x5E' was found in the message attribute name. Can only include alphanumeric characters, hyphens, underscores, or dots."},

	{"PublishBatch of nothing", []string{"Action", "PublishBatch", "TopicArn", topicT, "PublishBatchRequestEntries", ""}, 400, "EmptyBatchRequest", "The batch request doesn't contain any entries."},
	{"PublishBatch of eleven", batch("", 11, "m"), 400, "TooManyEntriesInBatchRequest", "The batch request contains more entries than permissible."},
	{"PublishBatch of an id twice", append(batch("", 1, "m"), entry(2, "0")...), 400, "BatchEntryIdsNotDistinct", "Two or more batch entries in the request have the same Id."},
	{"PublishBatch of a long id", append(batch("", 1, "m"), entry(2, strings.Repeat("a", 81))...), 400, "InvalidBatchEntryId", "The Id of a batch entry in the batch request is too long: " + strings.Repeat("a", 81)},
	{"PublishBatch of a bad id", append(batch("", 1, "m"), entry(2, "message.id")...), 400, "InvalidBatchEntryId", "The Id of a batch entry in the batch request contains an impermissible character: message.id"},
	{"PublishBatch without an id", append(batch("", 1, "m"), "PublishBatchRequestEntries.member.2.Message", "m"), 400, "InvalidBatchEntryId", "The Id of a batch entry in the batch request contains an impermissible character: "},
	{"PublishBatch of too much", batch("", 2, strings.Repeat("x", 131073)), 400, "BatchRequestTooLong", "The length of all the messages put together is more than the limit."},
	{"PublishBatch to nothing", append(batch("", 1, "m"), "TopicArn", absent), 404, "NotFound", "Topic does not exist"},
	{"PublishBatch with a deduplication id", append(batch("", 1, "m"), "PublishBatchRequestEntries.member.1.MessageDeduplicationId", "d"), 400, "InvalidParameter", invalid + "MessageDeduplicationId Reason: The request includes MessageDeduplicationId parameter that is not valid for this topic type"},
	{"PublishBatch with an attribute without a type", append(batch("", 2, "m"), "PublishBatchRequestEntries.member.2.MessageAttributes.entry.1.Name", "attr1"), 400, "ValidationError", "1 validation error detected: Value null at 'publishBatchRequestEntries.2.member.messageAttributes.attr1.member.dataType' failed to satisfy constraint: Member must not be null"},
	{"PublishBatch with one attribute of a wrong form", append(batch("", 2, "m"), "PublishBatchRequestEntries.member.2.MessageAttributes.entry.1.Name", ".abc", "PublishBatchRequestEntries.member.2.MessageAttributes.entry.1.Value.DataType", "String", "PublishBatchRequestEntries.member.2.MessageAttributes.entry.1.Value.StringValue", "x"), 400, "ParameterValueInvalid", "Invalid message attribute name starting with character '.' was found."},
	{"a list that is not numbered", []string{"Action", "TagResource", "ResourceArn", topicT, "Tags.member.x.Key", "k"}, 400, "InvalidParameter", invalid + "Tags.member must be numbered from 1"},
	{"bytes that are not UTF-8", []string{"Action", "Publish", "TopicArn", topicT, "Message", "\xff"}, 400, "InvalidParameter", invalid + "Message is not UTF-8"},
	{"a value that is echoed is clipped", []string{"Action", strings.Repeat("é", 400)}, 400, "InvalidAction", "There is no action " + strings.Repeat("é", 150) + "…."},
}

func subscribeWith(name, value string) []string {
	return []string{"Action", "Subscribe", "TopicArn", topicT, "Protocol", "http", "Endpoint", "http://a.example", "Attributes.entry.1.key", name, "Attributes.entry.1.value", value}
}

func publishWith(name, kind, field, value string) []string {
	out := []string{"Action", "Publish", "TopicArn", topicT, "Message", "m", "MessageAttributes.entry.1.Name", name, "MessageAttributes.entry.1.Value." + field, value}
	if kind != "" {
		out = append(out, "MessageAttributes.entry.1.Value.DataType", kind)
	}
	return out
}

// batch makes a PublishBatch of n entries whose ids are prefix and 0, 1, 2 …
func batch(prefix string, n int, message string) []string {
	out := []string{"Action", "PublishBatch"}
	for i := range n {
		e := entry(i+1, prefix+strconv.Itoa(i))
		e[3] = message
		out = append(out, e...)
	}
	return out
}

func entry(number int, id string) []string {
	member := "PublishBatchRequestEntries.member." + strconv.Itoa(number)
	return []string{member + ".Id", id, member + ".Message", "m"}
}

func TestEveryRefusalHasItsStatusCodeAndText(t *testing.T) {
	for _, c := range refusals {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.newTopic("t", "Attributes.entry.1.key", "DisplayName", "Attributes.entry.1.value", "shown", "Tags.member.1.Key", "k", "Tags.member.1.Value", "v")
			b.confirmed(topicT, "https://have.example")
			topic, subs := b.directory.topics[topicT], len(b.directory.subs)
			pairs := c.pairs
			if pairs[1] == "PublishBatch" && !strings.Contains(strings.Join(pairs, " "), "TopicArn") {
				pairs = append(pairs[:len(pairs):len(pairs)], "TopicArn", topicT)
			}
			wantRefusal(t, b.post(pairs...), c.status, c.code, c.text)
			now := b.directory.topics[topicT]
			if now.Version != topic.Version || len(b.directory.subs) != subs || len(b.directory.topics) != 1 {
				t.Error("a refused request changed something")
			}
		})
	}
}

func TestAFaultOnOurSideIsA500ThatSaysNothingOfItsCause(t *testing.T) {
	b := newBench(t)
	arn := b.newTopic("t")
	sub := b.confirmed(arn, "http://a.example")
	var logged strings.Builder
	b.Log = slog.New(slog.NewTextHandler(&logged, nil))
	b.directory.fail = errBroken
	for _, pairs := range [][]string{
		{"Action", "CreateTopic", "Name", "u"}, {"Action", "DeleteTopic", "TopicArn", arn}, {"Action", "ListTopics"},
		{"Action", "GetTopicAttributes", "TopicArn", arn}, {"Action", "SetTopicAttributes", "TopicArn", arn, "AttributeName", "DisplayName"},
		{"Action", "TagResource", "ResourceArn", arn}, {"Action", "UntagResource", "ResourceArn", arn}, {"Action", "ListTagsForResource", "ResourceArn", arn},
		{"Action", "Subscribe", "TopicArn", arn, "Protocol", "http", "Endpoint", "http://b.example"},
		{"Action", "ConfirmSubscription", "TopicArn", arn, "Token", "aa"}, {"Action", "Unsubscribe", "SubscriptionArn", sub},
		{"Action", "ListSubscriptions"}, {"Action", "ListSubscriptionsByTopic", "TopicArn", arn},
		{"Action", "GetSubscriptionAttributes", "SubscriptionArn", sub},
		{"Action", "SetSubscriptionAttributes", "SubscriptionArn", sub, "AttributeName", "RawMessageDelivery", "AttributeValue", "true"},
		{"Action", "Publish", "TopicArn", arn, "Message", "m"}, append(batch("", 1, "m"), "TopicArn", arn),
	} {
		logged.Reset()
		r := b.post(pairs...)
		wantRefusal(t, r, 500, "InternalError", "The request failed because of a fault on the server. Send it again.")
		if !strings.Contains(logged.String(), "level=ERROR") || !strings.Contains(logged.String(), errBroken.Error()) || !strings.Contains(logged.String(), "action="+pairs[1]) {
			t.Errorf("%s: logged %q", pairs[1], logged.String())
		}
	}
}

func TestAPushErrorKeepsItsCodeAndTextWhereverItComesFrom(t *testing.T) {
	b := newBench(t)
	b.directory.fail = &push.Error{Code: push.CodeThrottling, Text: "Rate exceeded", Cause: errBroken}
	wantRefusal(t, b.post("Action", "ListTopics"), 429, "Throttling", "Rate exceeded")
	b.directory.fail = push.Errorf(push.CodeUnavailable, "The store is starting.")
	wantRefusal(t, b.post("Action", "ListTopics"), 503, "ServiceUnavailable", "The store is starting.")
	b.directory.fail = context.DeadlineExceeded
	wantRefusal(t, b.post("Action", "ListTopics"), 503, "ServiceUnavailable", "The request took too long. Send it again.")
}

func TestAnUnusableRandomSourceIsAFaultOnOurSide(t *testing.T) {
	b := newBench(t)
	arn := b.newTopic("t")
	b.Random = iotest.ErrReader(errors.New("no entropy"))
	r := b.post("Action", "Subscribe", "TopicArn", arn, "Protocol", "http", "Endpoint", "http://a.example")
	wantRefusal(t, r, 500, "InternalError", "The request failed because of a fault on the server. Send it again.")
	if len(b.directory.subs) != 0 {
		t.Error("a subscription without a token was stored")
	}
}

func TestWhatIsNoQueryRequestGetsAClear4xx(t *testing.T) {
	b := newBench(t)
	serve := func(r Request) Response { return b.Serve(context.Background(), r) }
	wantJSON := "This server speaks the AWS Query protocol only: send application/x-www-form-urlencoded with an Action parameter."
	wantRefusal(t, serve(Request{Method: "POST", Path: "/", Header: http.Header{"X-Amz-Target": {"SNS.ListTopics"}}}), 400, "InvalidAction", wantJSON)
	wantRefusal(t, serve(Request{Method: "POST", Path: "/", Header: http.Header{"Content-Type": {"Application/X-Amz-Json-1.0"}}, Body: []byte("{}")}), 400, "InvalidAction", wantJSON)
	wantRefusal(t, serve(Request{Method: "POST", Path: "/", Body: []byte("{}")}), 400, "MissingAction", "The request names no Action.")
	wantRefusal(t, serve(Request{Method: "POST", Path: "/", Body: []byte("%zz=1")}), 400, "MalformedQueryString", "The query string cannot be read: a parameter's name has a broken percent-encoding.")
	wantRefusal(t, serve(Request{Method: "POST", Path: "/", Body: []byte("A=%z")}), 400, "MalformedQueryString", "The query string cannot be read: A has a broken percent-encoding.")
	wantRefusal(t, serve(Request{Method: "POST", Path: "/", RawQuery: "Action=ListTopics", Body: []byte("Action=DeleteTopic")}), 400, "InvalidParameter", "Invalid parameter: Action is given twice with different values")
	wantRefusal(t, serve(Request{Method: "POST", Path: "/", Body: make([]byte, maxBody+1)}), 413, "RequestEntityTooLarge", "The request is larger than 1048576 bytes.")
	wantRefusal(t, serve(Request{Method: "POST", Path: "/", RawQuery: strings.Repeat("x", maxBody+1)}), 413, "RequestEntityTooLarge", "The request is larger than 1048576 bytes.")
	wantRefusal(t, serve(Request{Method: "POST", Path: "/elsewhere"}), 404, "NotFound", "There is nothing at this path: send requests to /.")
	for _, site := range []string{"cross-site", "same-site"} {
		wantRefusal(t, serve(Request{Method: "POST", Path: "/", Header: http.Header{"Sec-Fetch-Site": {site}}, Body: []byte("Action=ListTopics")}), 403, "AuthorizationError", "Requests from pages of other sites are refused.")
	}
	for _, site := range []string{"same-origin", "none", ""} {
		if r := serve(Request{Method: "POST", Path: "/", Header: http.Header{"Sec-Fetch-Site": {site}}, Body: []byte("Action=ListTopics")}); r.Status != 200 {
			t.Errorf("Sec-Fetch-Site %q: %d", site, r.Status)
		}
	}
	for _, method := range []string{"HEAD", "PUT", "DELETE", "OPTIONS"} {
		r := serve(Request{Method: method, Path: "/", RawQuery: "Action=ListTopics"})
		wantRefusal(t, r, 405, "MethodNotAllowed", "Requests are made by POST, the links in messages by GET.")
		if r.Header.Get("Allow") != "GET, POST" {
			t.Errorf("%s: Allow is %q", method, r.Header.Get("Allow"))
		}
	}
}

func TestOnlyTheLinksOfMessagesAreServedByGET(t *testing.T) {
	b := newBench(t)
	b.newTopic("t")
	for _, name := range []string{"CreateTopic", "DeleteTopic", "Publish", "Subscribe", "ListTopics", "SetTopicAttributes"} {
		wantRefusal(t, b.get("Action", name, "TopicArn", topicT), 405, "MethodNotAllowed", name+" is served by POST only.")
	}
	if len(b.directory.topics) != 1 {
		t.Error("a GET deleted the topic")
	}
}

func TestEveryActionOfSNSIsServedOrRefusedByName(t *testing.T) {
	served := 0
	for _, name := range []string{"CreateTopic", "DeleteTopic", "ListTopics", "GetTopicAttributes", "SetTopicAttributes", "Subscribe", "ConfirmSubscription",
		"Unsubscribe", "ListSubscriptions", "ListSubscriptionsByTopic", "GetSubscriptionAttributes", "SetSubscriptionAttributes", "Publish", "PublishBatch",
		"TagResource", "UntagResource", "ListTagsForResource"} {
		if _, err := find(name, ""); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		served++
	}
	if n := served + len(unserved()); n != 42 { // botocore's model of SNS
		t.Errorf("%d actions are known, SNS has 42", n)
	}
}

func TestARefusalBeforeServeHasTheFormOfAllOthers(t *testing.T) {
	b := newBench(t)
	wantRefusal(t, b.Refuse(push.CodeRequestTooLarge, "too large"), 413, "RequestEntityTooLarge", "too large")
}
