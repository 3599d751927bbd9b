package snsapi

import (
	"os"
	"strings"
	"testing"

	"postino/shared/push"
)

// What docs/compatibility.md says of actions and attributes, held against the code.
func TestTheCompatibilityPageNamesEveryAction(t *testing.T) {
	page := readPage(t)
	rows := map[string]string{} // action → the second column
	for line := range strings.Lines(page) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			continue
		}
		for name := range strings.SplitSeq(cells[1], ",") {
			rows[strings.TrimSpace(name)] = strings.TrimSpace(cells[2])
		}
	}
	for _, name := range unserved() {
		if rows[name] != "refused" {
			t.Errorf("%s is %q on the page, but refused", name, rows[name])
		}
		delete(rows, name)
	}
	for name, served := range rows {
		if served != "yes" {
			continue
		}
		if _, err := find(name, version); err != nil {
			t.Errorf("%s is served on the page: %v", name, err)
		}
	}
}

func TestTheCompatibilityPageNamesEveryAttributeThatIsRefused(t *testing.T) {
	page := readPage(t)
	for _, name := range []string{"KmsMasterKeyId", "ContentBasedDeduplication", "ArchivePolicy", "FifoThroughputScope", "DataProtectionPolicy", "SuccessFeedbackRoleArn"} {
		if !strings.Contains(page, name) || name != "SuccessFeedbackRoleArn" && !unservedTopicAttribute(name) {
			t.Errorf("topic attribute %s", name)
		}
	}
	for _, name := range []string{"FilterPolicy", "FilterPolicyScope", "SubscriptionRoleArn", "ReplayPolicy"} {
		if _, err := (&API{}).subscriptionAttribute(name, "x"); err == nil || !strings.Contains(page, name) {
			t.Errorf("subscription attribute %s: %v", name, err)
		}
	}
	for _, protocol := range []string{"sqs", "lambda", "firehose", "email", "email-json", "sms", "application"} {
		if _, err := servedProtocol(protocol); push.CodeOf(err) != push.CodeInvalidParameter || !strings.Contains(page, protocol) {
			t.Errorf("protocol %s: %v", protocol, err)
		}
	}
}

func readPage(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
