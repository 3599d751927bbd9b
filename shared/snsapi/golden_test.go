package snsapi

import (
	"bytes"
	"encoding/xml"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"postino/shared/push"
)

var update = flag.Bool("update", false, "write testdata")

// The answers as they go out, one file each, line by line for reading. The
// actions run in this order against one server.
func TestAnswersAreAsRecordedInTestdata(t *testing.T) {
	b := newBench(t)
	b.publisher.failEntry = map[string]error{"bad": push.Invalid("Empty message")}
	var sub, token string
	steps := []struct {
		file  string
		pairs func() []string
	}{
		{"CreateTopic", words("Action", "CreateTopic", "Name", "t", "Tags.member.1.Key", "k", "Tags.member.1.Value", "<v>&\"'\t\r\n\x00")},
		{"ListTopics", words("Action", "ListTopics")},
		{"GetTopicAttributes", words("Action", "GetTopicAttributes", "TopicArn", topicT)},
		{"SetTopicAttributes", words("Action", "SetTopicAttributes", "TopicArn", topicT, "AttributeName", "DisplayName", "AttributeValue", "d")},
		{"TagResource", words("Action", "TagResource", "ResourceArn", topicT, "Tags.member.1.Key", "l", "Tags.member.1.Value", "w")},
		{"ListTagsForResource", words("Action", "ListTagsForResource", "ResourceArn", topicT)},
		{"UntagResource", words("Action", "UntagResource", "ResourceArn", topicT, "TagKeys.member.1", "l")},
		{"Subscribe", words("Action", "Subscribe", "TopicArn", topicT, "Protocol", "https", "Endpoint", "https://a.example/?x=1&y=2")},
		{"ListSubscriptions", words("Action", "ListSubscriptions")},
		{"ConfirmSubscription", func() []string {
			sub, token = b.directory.under("")[0].ARN, b.directory.under("")[0].Token
			return []string{"Action", "ConfirmSubscription", "TopicArn", topicT, "Token", token}
		}},
		{"ListSubscriptionsByTopic", words("Action", "ListSubscriptionsByTopic", "TopicArn", topicT)},
		{"GetSubscriptionAttributes", func() []string { return []string{"Action", "GetSubscriptionAttributes", "SubscriptionArn", sub} }},
		{"SetSubscriptionAttributes", func() []string {
			return []string{"Action", "SetSubscriptionAttributes", "SubscriptionArn", sub, "AttributeName", "RawMessageDelivery", "AttributeValue", "true"}
		}},
		{"Publish", words("Action", "Publish", "TopicArn", topicT, "Message", "m")},
		{"PublishBatch", words(append(append(batch("", 1, "m"), entry(2, "bad")...), "TopicArn", topicT)...)},
		{"Unsubscribe", func() []string { return []string{"Action", "Unsubscribe", "SubscriptionArn", sub} }},
		{"DeleteTopic", words("Action", "DeleteTopic", "TopicArn", topicT)},
		{"error", words("Action", "GetTopicAttributes", "TopicArn", "<&>")},
	}
	for _, s := range steps {
		body := b.post(s.pairs()...).Body
		wellFormed(t, s.file, body)
		golden(t, s.file, body)
	}
}

func words(pairs ...string) func() []string { return func() []string { return pairs } }

func wellFormed(t *testing.T, name string, body []byte) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(body)); ; {
		if _, err := d.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatalf("%s: %v in %s", name, err, body)
		}
	}
}

var tagEnd = regexp.MustCompile(`(</[^>]+>|/>)`)

// golden compares with testdata/<name>.xml, where a line break follows every end
// tag for the reader's sake.
func golden(t *testing.T, name string, body []byte) {
	t.Helper()
	got := tagEnd.ReplaceAllString(string(body), "$1\n")
	file := filepath.Join("testdata", name+".xml")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s: %s", name, d)
	}
}

func TestOnlyActionsWithoutMembersInTheirAnswerHaveNoResult(t *testing.T) {
	for name, want := range map[string]string{
		"Unsubscribe": `<UnsubscribeResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><ResponseMetadata><RequestId>id</RequestId></ResponseMetadata></UnsubscribeResponse>`,
		"TagResource": `<TagResourceResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><TagResourceResult></TagResourceResult><ResponseMetadata><RequestId>id</RequestId></ResponseMetadata></TagResourceResponse>`,
	} {
		if got := string(new(answer).response(name, "id")); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
