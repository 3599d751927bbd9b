package config

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"postino/shared/pipeline"
)

var update = flag.Bool("update", false, "write the table in docs/configuration.md")

func env(pairs ...string) func(string) string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return m[name] }
}

func defaults() Config {
	return Config{
		Data: "./data", Region: "us-east-1", Account: "000000000000",
		Queues:       pipeline.QueueNames{Attempt: "AttemptQueue", Retry: "RetryQueue", Fanout: "FanoutQueue", DeadLetter: "DeadLetterQueue", Failed: "FailedJobsQueue"},
		InlineFanout: 100, RequestTimeout: 15 * time.Second, MaxQueueDelay: 15 * time.Minute, MaxRedrives: 1, LogLevel: slog.LevelInfo,
	}
}

var comparePrefixes = cmpopts.EquateComparable(netip.Prefix{})

func TestLoadTakesTheDefaultsWhenNothingIsSet(t *testing.T) {
	got, err := Load(env())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(defaults(), got, comparePrefixes); d != "" {
		t.Error(d)
	}
}

func TestLoadReadsEveryVariable(t *testing.T) {
	const sqs = "arn:aws:sqs:eu-west-1:123456789012:"
	got, err := Load(env(
		"POSTINO_DATA", "/var/lib/postino", "POSTINO_PUBLIC_URL", "https://push.example.com:8443/sns/",
		"POSTINO_REGION", "eu-west-1", "AWS_REGION", "us-west-2", "POSTINO_ACCOUNT", "123456789012",
		"POSTINO_ATTEMPT_QUEUE", sqs+"a", "POSTINO_RETRY_QUEUE", sqs+"r", "POSTINO_FANOUT_QUEUE", sqs+"f",
		"POSTINO_DEAD_LETTER_QUEUE", "d_-9", "POSTINO_FAILED_JOBS_QUEUE", strings.Repeat("x", 80),
		"POSTINO_INLINE_FANOUT", "1000", "POSTINO_REQUEST_TIMEOUT", "1500ms", "POSTINO_MAX_REDRIVES", "0", "POSTINO_MAX_QUEUE_DELAY", "10s",
		"POSTINO_ALLOW_NETWORKS", "10.0.0.0/8, fd00::/8\t192.168.1.7", "POSTINO_LOG_LEVEL", "WARN", "POSTINO_KEYS_KMS_KEY", "alias/postino",
		"POSTINO_EVENT_TOPIC_ARN", "arn:aws:sns:eu-west-1:123456789012:events",
		"POSTINO_TABLE", "postino-Table.1_x", "POSTINO_SCHEDULE_GROUP", "postino", "POSTINO_SCHEDULE_ROLE", "arn:aws:iam::123456789012:role/path/send",
		"POSTINO_TRACE", "yes", "POSTINO_STACK", "orders-prod", "POSTINO_SUCCESS_SAMPLE_RATE", "25",
	))
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Data: "/var/lib/postino", PublicURL: "https://push.example.com:8443/sns",
		Region: "eu-west-1", Account: "123456789012",
		Queues:       pipeline.QueueNames{Attempt: sqs + "a", Retry: sqs + "r", Fanout: sqs + "f", DeadLetter: "d_-9", Failed: strings.Repeat("x", 80)},
		InlineFanout: 1000, RequestTimeout: 1500 * time.Millisecond, MaxQueueDelay: 10 * time.Second, MaxRedrives: 0,
		AllowNetworks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8"), netip.MustParsePrefix("192.168.1.7/32")},
		EventTopicARN: "arn:aws:sns:eu-west-1:123456789012:events", LogLevel: slog.LevelWarn, KeysKMSKey: "alias/postino",
		Table: "postino-Table.1_x", ScheduleGroup: "postino", ScheduleRole: "arn:aws:iam::123456789012:role/path/send",
		Trace: true, Stack: "orders-prod", SuccessSampleRate: 25,
	}
	if d := cmp.Diff(want, got, comparePrefixes); d != "" {
		t.Error(d)
	}
}

func TestTheRegionComesFromLambdaWhenPostinoHasNone(t *testing.T) {
	got, err := Load(env("AWS_REGION", "ap-south-2"))
	if err != nil || got.Region != "ap-south-2" {
		t.Errorf("got region %q and error %v", got.Region, err)
	}
}

func TestLoadNamesTheVariableThatCannotBeUsed(t *testing.T) {
	cases := []struct{ name, value, problem string }{
		{"POSTINO_DATA", "a\x00b", "no directory name"},
		{"POSTINO_PUBLIC_URL", "push.example.com", "must be a URL"},
		{"POSTINO_PUBLIC_URL", "ftp://push.example.com", "must be a URL"},
		{"POSTINO_PUBLIC_URL", "https://:443", "must be a URL"},
		{"POSTINO_PUBLIC_URL", "https://u:hunter2@h", "password"},
		{"POSTINO_PUBLIC_URL", "https://h/?a=b", "no query"},
		{"POSTINO_PUBLIC_URL", "https://h/#", "no fragment"},
		{"POSTINO_REGION", "us east", "region's name"},
		{"POSTINO_REGION", strings.Repeat("a", 33), "region's name"},
		{"POSTINO_ACCOUNT", "12345678901", "12 digits"},
		{"POSTINO_ACCOUNT", "12345678901x", "12 digits"},
		{"POSTINO_ATTEMPT_QUEUE", "a.b", "1 to 80"},
		{"POSTINO_RETRY_QUEUE", strings.Repeat("x", 81), "1 to 80"},
		{"POSTINO_FANOUT_QUEUE", "pages.fifo", "FIFO"},
		{"POSTINO_DEAD_LETTER_QUEUE", "arn:aws:sns:us-east-1:000000000000:q", "ARN of an SQS queue"},
		{"POSTINO_DEAD_LETTER_QUEUE", "arn:aws:sqs:us-east-1:000000000000:", "1 to 80"},
		{"POSTINO_FAILED_JOBS_QUEUE", "DeadLetterQueue", "same queue as POSTINO_DEAD_LETTER_QUEUE"},
		{"POSTINO_FAILED_JOBS_QUEUE", "arn:aws:sqs:us-east-1:000000000000:RetryQueue", "same queue as POSTINO_RETRY_QUEUE"},
		{"POSTINO_INLINE_FANOUT", "0", "1 to 1000"},
		{"POSTINO_INLINE_FANOUT", "many", "1 to 1000"},
		{"POSTINO_REQUEST_TIMEOUT", "15", "duration"},
		{"POSTINO_REQUEST_TIMEOUT", "51s", "duration"},
		{"POSTINO_MAX_QUEUE_DELAY", "900", "whole seconds"},
		{"POSTINO_MAX_QUEUE_DELAY", "9s", "10s to 15m"},
		{"POSTINO_MAX_QUEUE_DELAY", "901s", "10s to 15m"},
		{"POSTINO_MAX_QUEUE_DELAY", "10500ms", "whole seconds"},
		{"POSTINO_REQUEST_TIMEOUT", "99ms", "duration"},
		{"POSTINO_MAX_REDRIVES", "-1", "0 to 100"},
		{"POSTINO_MAX_REDRIVES", "99999999999999999999", "0 to 100"},
		{"POSTINO_ALLOW_NETWORKS", "10.0.0.0/8,localhost", `"localhost"`},
		{"POSTINO_ALLOW_NETWORKS", "10.1.2.3/8", "write 10.0.0.0/8"},
		{"POSTINO_ALLOW_NETWORKS", "fe80::1%eth0", "CIDR"},
		{"POSTINO_EVENT_TOPIC_ARN", "events", "topic's ARN"},
		{"POSTINO_EVENT_TOPIC_ARN", "arn:aws:sns:us-east-1:000000000000:t:id", "topic's ARN"},
		{"POSTINO_EVENT_TOPIC_ARN", "arn:aws:sns:eu-west-1:000000000000:t", "region us-east-1"},
		{"POSTINO_EVENT_TOPIC_ARN", "arn:aws:sns:us-east-1:111111111111:t", "account 000000000000"},
		{"POSTINO_TABLE", "ab", "3 to 255"},
		{"POSTINO_TABLE", "arn:aws:dynamodb:us-east-1:000000000000:table/a b", "3 to 255"},
		{"POSTINO_SCHEDULE_GROUP", "a b", "1 to 64"},
		{"POSTINO_SCHEDULE_ROLE", "arn:aws:iam::123456789012:user/me", "a role's ARN"},
		{"POSTINO_KEYS_KMS_KEY", "a key", "id, ARN or alias"},
		{"POSTINO_STACK", "1st stack", "begins with a letter"},
		{"POSTINO_TRACE", "on", "neither yes nor no"},
		{"POSTINO_SUCCESS_SAMPLE_RATE", "101", "0 to 100"},
		{"POSTINO_SUCCESS_SAMPLE_RATE", "5%", "0 to 100"},
		{"POSTINO_LOG_LEVEL", "loud", "debug, info, warn or error"},
	}
	for _, c := range cases {
		t.Run(c.name+"="+c.value, func(t *testing.T) {
			_, err := Load(env(c.name, c.value))
			var e *Error
			if !errors.As(err, &e) || e.Variable != c.name || !strings.Contains(err.Error(), c.problem) {
				t.Fatalf("got %v, want one that names %s and says %q", err, c.name, c.problem)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error shows a password: %v", err)
			}
		})
	}
}

func TestEveryDefaultIsAcceptedWhenWrittenOut(t *testing.T) {
	var pairs []string
	for _, v := range Variables() {
		pairs = append(pairs, v.Name, v.Default)
	}
	got, err := Load(env(pairs...))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(defaults(), got, comparePrefixes); d != "" {
		t.Error(d)
	}
}

func TestTheDocumentedTableIsTheOneTheCodeReads(t *testing.T) {
	const path, begin, end = "../../docs/configuration.md", "<!-- variables: begin -->\n", "<!-- variables: end -->\n"
	var table strings.Builder
	table.WriteString("| variable | default | meaning |\n|---|---|---|\n")
	for _, v := range Variables() {
		standard := "unset"
		if v.Default != "" {
			standard = "`" + v.Default + "`"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", v.Name, standard, v.Meaning)
	}
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(doc), begin)
	written, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no table between its two markers", path)
	}
	if *update {
		if err := os.WriteFile(path, []byte(head+begin+table.String()+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(table.String(), written); d != "" {
		t.Errorf("run go test ./shared/config -update\n%s", d)
	}
}
