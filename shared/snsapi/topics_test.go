package snsapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestCreateTopicIsIdempotentUnlessWhatItAsksForDiffers(t *testing.T) {
	b := newBench(t)
	full := []string{"Attributes.entry.1.key", "DisplayName", "Attributes.entry.1.value", "d", "Attributes.entry.2.key", "SignatureVersion", "Attributes.entry.2.value", "2",
		"Tags.member.1.Key", "k1", "Tags.member.1.Value", "v1", "Tags.member.2.Key", "k2", "Tags.member.2.Value", "v2"}
	arn := b.newTopic("t", full...)
	if arn != topicT {
		t.Fatalf("ARN %s", arn)
	}
	for _, again := range [][]string{full, nil, full[:4], full[8:12],
		{"Attributes.entry.1.key", "FifoTopic", "Attributes.entry.1.value", "false"},
		{"Attributes.entry.1.key", "TracingConfig", "Attributes.entry.1.value", "PassThrough"}} {
		if got := b.newTopic("t", again...); got != arn {
			t.Errorf("%v: %s", again, got)
		}
	}
	topic := b.directory.topics[arn]
	if topic.DisplayName != "d" || topic.SignatureVersion != "2" || topic.Tags["k2"] != "v2" || topic.Version != 0 || !topic.CreatedAt.Equal(start) {
		t.Errorf("stored %+v", topic)
	}
}

func TestARNsHaveThePartitionOfTheRegion(t *testing.T) {
	for region, want := range map[string]string{"us-east-1": "aws", "cn-north-1": "aws-cn", "us-gov-west-1": "aws-us-gov"} {
		b := newBench(t)
		b.Region = region
		if arn := b.newTopic("t"); arn != "arn:"+want+":sns:"+region+":000000000000:t" {
			t.Errorf("%s: %s", region, arn)
		} else {
			b.ok("Action", "GetTopicAttributes", "TopicArn", arn)
		}
	}
}

func TestATopicsDeliveryPolicyIsStoredNormalisedShownAndRemovedByTheEmptyString(t *testing.T) {
	b := newBench(t)
	arn := b.newTopic("t")
	get := func() string { return b.ok("Action", "GetTopicAttributes", "TopicArn", arn) }
	set := func(value string) {
		b.ok("Action", "SetTopicAttributes", "TopicArn", arn, "AttributeName", "DeliveryPolicy", "AttributeValue", value)
	}
	plain := attribute(get(), "EffectiveDeliveryPolicy")
	if attribute(get(), "DeliveryPolicy") != "" || !strings.Contains(plain, `"minDelayTarget":20`) {
		t.Errorf("a topic without policy shows %s", get())
	}
	set(`{ "http": {"defaultHealthyRetryPolicy": {"minDelayTarget": 5, "maxDelayTarget": 6, "numRetries": 1}}}`)
	if got, want := attribute(get(), "DeliveryPolicy"), `{"http":{"defaultHealthyRetryPolicy":{"minDelayTarget":5,"maxDelayTarget":6,"numRetries":1},"disableSubscriptionOverrides":false}}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if effective := attribute(get(), "EffectiveDeliveryPolicy"); !strings.Contains(effective, `"minDelayTarget":5,"maxDelayTarget":6`) {
		t.Errorf("effective %s", effective)
	}
	set("")
	if strings.Contains(get(), "<key>DeliveryPolicy</key>") || attribute(get(), "EffectiveDeliveryPolicy") != plain {
		t.Errorf("after removal %s", get())
	}
}

func TestTopicAttributesAreSetAndRead(t *testing.T) {
	b := newBench(t)
	arn := b.newTopic("t")
	b.ok("Action", "SetTopicAttributes", "TopicArn", arn, "AttributeName", "DisplayName", "AttributeValue", "<b>é&\"")
	b.ok("Action", "SetTopicAttributes", "TopicArn", arn, "AttributeName", "SignatureVersion", "AttributeValue", "2")
	b.ok("Action", "SetTopicAttributes", "TopicArn", arn, "AttributeName", "HTTPSuccessFeedbackSampleRate", "AttributeValue", "25")
	b.ok("Action", "SetTopicAttributes", "TopicArn", arn, "AttributeName", "KmsMasterKeyId", "AttributeValue", "") // removes nothing
	b.pending(arn, "http://a.example")
	b.confirmed(arn, "http://b.example")
	body := b.ok("Action", "GetTopicAttributes", "TopicArn", arn)
	for key, want := range map[string]string{"DisplayName": "<b>é&\"", "SignatureVersion": "2", "Owner": "000000000000", "TopicArn": arn,
		"SubscriptionsPending": "1", "SubscriptionsConfirmed": "1", "SubscriptionsDeleted": "0", "KmsMasterKeyId": "", "HTTPSuccessFeedbackSampleRate": "25"} {
		if got := attribute(body, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	var policy struct {
		ID        string `json:"Id"`
		Statement []struct {
			Action    []string
			Resource  string
			Condition map[string]map[string]string
		}
	}
	if err := json.Unmarshal([]byte(attribute(body, "Policy")), &policy); err != nil {
		t.Fatal(err)
	}
	s := policy.Statement[0]
	if policy.ID != "__default_policy_ID" || len(s.Action) != 8 || s.Resource != arn || s.Condition["StringEquals"]["AWS:SourceOwner"] != "000000000000" {
		t.Errorf("default policy %+v", policy)
	}
}

func TestASampleRateOfNothingIsTheInstallations(t *testing.T) {
	b := newBench(t)
	arn := b.newTopic("t", "Attributes.entry.1.key", "HTTPSuccessFeedbackSampleRate", "Attributes.entry.1.value", "0")
	if got := attribute(b.ok("Action", "GetTopicAttributes", "TopicArn", arn), "HTTPSuccessFeedbackSampleRate"); got != "0" {
		t.Errorf("it is %q", got)
	}
	b.ok("Action", "SetTopicAttributes", "TopicArn", arn, "AttributeName", "HTTPSuccessFeedbackSampleRate", "AttributeValue", "")
	if body := b.ok("Action", "GetTopicAttributes", "TopicArn", arn); strings.Contains(body, "SampleRate") {
		t.Errorf("after removal %s", body)
	}
}

func TestDeleteTopicIsIdempotent(t *testing.T) {
	b := newBench(t)
	arn := b.newTopic("t")
	for range 2 {
		b.ok("Action", "DeleteTopic", "TopicArn", arn)
		wantRefusal(t, b.post("Action", "GetTopicAttributes", "TopicArn", arn), 404, "NotFound", "Topic does not exist")
	}
}

func TestTagsAreAddedReplacedRemovedAndListed(t *testing.T) {
	b := newBench(t)
	arn := b.newTopic("t", "Tags.member.1.Key", "k1", "Tags.member.1.Value", "v1")
	before := b.directory.topics[arn].Tags
	b.ok("Action", "TagResource", "ResourceArn", arn, "Tags.member.1.Key", "k2", "Tags.member.1.Value", "v2", "Tags.member.2.Key", "k1", "Tags.member.2.Value", "v1b")
	b.ok("Action", "UntagResource", "ResourceArn", arn, "TagKeys.member.1", "k2", "TagKeys.member.2", "unknown")
	body := b.ok("Action", "ListTagsForResource", "ResourceArn", arn)
	if !strings.Contains(body, "<Tags><member><Key>k1</Key><Value>v1b</Value></member></Tags>") {
		t.Error(body)
	}
	if before["k1"] != "v1" || len(before) != 1 {
		t.Error("the stored map was changed in place")
	}
}

func TestATopicHasAtMostFiftyTags(t *testing.T) {
	b := newBench(t)
	var pairs []string
	for i := range 50 {
		pairs = append(pairs, fmt.Sprintf("Tags.member.%d.Key", i+1), fmt.Sprint("k", i))
	}
	arn := b.newTopic("t", pairs...)
	b.ok("Action", "TagResource", "ResourceArn", arn, "Tags.member.1.Key", "k7", "Tags.member.1.Value", "new")
	wantRefusal(t, b.post("Action", "TagResource", "ResourceArn", arn, "Tags.member.1.Key", "k50"), 400, "TagLimitExceeded", "Could not complete request: tag quota of per resource exceeded")
	pairs = append(pairs, "Tags.member.51.Key", "k50")
	wantRefusal(t, b.post(append([]string{"Action", "CreateTopic", "Name", "u"}, pairs...)...), 400, "TagLimitExceeded", "Could not complete request: tag quota of per resource exceeded")
	if len(b.directory.topics[arn].Tags) != 50 {
		t.Error("a refused tag was stored")
	}
}

func TestListsComeInPagesOfOneHundred(t *testing.T) {
	b := newBench(t)
	for i := range 250 {
		b.newTopic(fmt.Sprintf("t%03d", i))
	}
	arn := b.newTopic("many")
	other := b.newTopic("other")
	for i := range 201 {
		b.pending(arn, fmt.Sprintf("http://a.example/%d", i))
	}
	b.pending(other, "http://a.example/")
	for _, c := range []struct {
		pairs []string
		item  string
		sizes []int
	}{
		{[]string{"Action", "ListTopics"}, "<TopicArn>", []int{100, 100, 52}},
		{[]string{"Action", "ListSubscriptions"}, "<SubscriptionArn>PendingConfirmation</SubscriptionArn>", []int{100, 100, 2}},
		{[]string{"Action", "ListSubscriptionsByTopic", "TopicArn", arn}, "<SubscriptionArn>PendingConfirmation</SubscriptionArn>", []int{100, 100, 1}},
	} {
		token, pages := "", 0
		for {
			body := b.ok(append(c.pairs[:len(c.pairs):len(c.pairs)], "NextToken", token)...)
			if pages == len(c.sizes) {
				t.Fatalf("%s: more than %d pages", c.pairs[1], pages)
			}
			if n := strings.Count(body, c.item); n != c.sizes[pages] {
				t.Errorf("%s: page %d has %d items, want %d", c.pairs[1], pages, n, c.sizes[pages])
			}
			pages++
			if token = between(body, "NextToken"); token == "" {
				break
			}
		}
		if pages != len(c.sizes) {
			t.Errorf("%s: %d pages", c.pairs[1], pages)
		}
	}
}
