package redrivepolicy

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"postino/shared/push"
)

const queueARN = "arn:aws:sqs:eu-west-1:123456789012:dead"

func TestAPolicyIsReadAndPrintedBack(t *testing.T) {
	for _, arn := range []string{
		queueARN,
		queueARN + ".fifo",
		"arn:aws-cn:sqs:cn-north-1:000000000000:A_b-9",
		"arn:aws:sqs:eu-west-1:123456789012:" + strings.Repeat("q", 80),
	} {
		doc := ` {"deadLetterTargetArn" : "` + arn + `"} `
		p, err := Parse(doc)
		if err != nil {
			t.Fatalf("Parse(%s): %v", doc, err)
		}
		if p.DeadLetterTargetARN != arn {
			t.Errorf("Parse(%s) names %q", doc, p.DeadLetterTargetARN)
		}
		if want := `{"deadLetterTargetArn":"` + arn + `"}`; p.String() != want {
			t.Errorf("printed %s, want %s", p, want)
		}
	}
}

func TestAPolicyThatIsNotOneIsRefusedWithItsReason(t *testing.T) {
	named := func(arn string) string { return `{"deadLetterTargetArn":"` + arn + `"}` }
	const invalidARN = "RedrivePolicy: deadLetterTargetArn is an invalid arn"
	for _, c := range []struct{ doc, want string }{
		{``, "RedrivePolicy: failed to parse JSON. unexpected end of JSON input at byte 0"},
		{`{invalidjson}`, "RedrivePolicy: failed to parse JSON. invalid character 'i' looking for beginning of object key string at byte 2"},
		{named(queueARN) + `x`, "RedrivePolicy: failed to parse JSON. invalid character 'x' after top-level value at byte 66"},
		{`[]`, "RedrivePolicy: must be a JSON object"},
		{`null`, "RedrivePolicy: must be a JSON object"},
		{`"` + queueARN + `"`, "RedrivePolicy: must be a JSON object"},
		{`{}`, "RedrivePolicy: deadLetterTargetArn must be specified"},
		{`{"deadLetterTargetArn":null}`, "RedrivePolicy: deadLetterTargetArn must be specified"},
		{`{"deadLetterTargetArn":5}`, "RedrivePolicy: deadLetterTargetArn must be a string"},
		{`{"deadLetterTargetArn":["` + queueARN + `"]}`, "RedrivePolicy: deadLetterTargetArn must be a string"},
		{`{"deadLetterTargetArn":"` + queueARN + `","maxReceiveCount":5}`, "RedrivePolicy: invalid JSON. Attribute maxReceiveCount is unknown."},
		{`{"DeadLetterTargetArn":"` + queueARN + `"}`, "RedrivePolicy: invalid JSON. Attribute DeadLetterTargetArn is unknown."},
		{"{\"a\\u0007\":1}", "RedrivePolicy: invalid JSON. Attribute a\uFFFD is unknown."},
		{`{"deadLetterTargetArn":"` + queueARN + `","deadLetterTargetArn":"` + queueARN + `"}`, "RedrivePolicy: invalid JSON. Attribute deadLetterTargetArn is given twice."},
		{named(""), invalidARN},
		{named("fake-arn"), invalidARN},
		{named("arn:aws:sns:eu-west-1:123456789012:dead"), invalidARN},
		{named("arn:aws:sqs:eu-west-1:123456789012:"), invalidARN},
		{named("arn:aws:sqs:eu-west-1:123456789012:.fifo"), invalidARN},
		{named("arn:aws:sqs:eu-west-1::dead"), invalidARN},
		{named("arn:aws:sqs::123456789012:dead"), invalidARN},
		{named("arn::sqs:eu-west-1:123456789012:dead"), invalidARN},
		{named("arn:aws:sqs:eu-west-1:123456789012:dead:letter"), invalidARN},
		{named("arn:aws:sqs:eu-west-1:123456789012:de/ad"), invalidARN},
		{named("arn:aws:sqs:eu-west-1:123456789012:" + strings.Repeat("q", 81)), invalidARN},
		{named("https://sqs.eu-west-1.amazonaws.com/123456789012/dead"), invalidARN},
	} {
		p, err := Parse(c.doc)
		if err == nil || err.Error() != c.want {
			t.Errorf("Parse(%s)\n  says  %v\n  wants %s", c.doc, err, c.want)
		}
		if p != (Policy{}) {
			t.Errorf("Parse(%s) returns %v with its error", c.doc, p)
		}
	}
}

func TestDeepNestingIsRefusedAndHarmless(t *testing.T) {
	for _, doc := range []string{
		strings.Repeat("[", 1_000_000),
		`{"deadLetterTargetArn":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`,
		`{"` + strings.Repeat("x", 100_000) + `":1}`,
	} {
		_, err := Parse(doc)
		if err == nil || len(err.Error()) > 400 {
			t.Errorf("Parse(%.20s…): %.100v", doc, err)
		}
	}
}

func TestTheQueueMustFitTheTopic(t *testing.T) {
	const standard = "arn:aws:sns:eu-west-1:123456789012:orders"
	for _, c := range []struct{ name, topic, queue, want string }{
		{"a standard queue behind a standard topic fits", standard, queueARN, ""},
		{"a FIFO queue behind a FIFO topic fits", standard + ".fifo", queueARN + ".fifo", ""},
		{"another account is refused", standard, "arn:aws:sqs:eu-west-1:999999999999:dead", "RedrivePolicy: deadLetterTargetArn must be in the same account as the topic"},
		{"another region is refused", standard, "arn:aws:sqs:eu-west-2:123456789012:dead", "RedrivePolicy: deadLetterTargetArn must be in the same region as the topic"},
		{"another partition is refused", standard, "arn:aws-cn:sqs:eu-west-1:123456789012:dead", "RedrivePolicy: deadLetterTargetArn must be in the same partition as the topic"},
		{"a standard queue behind a FIFO topic is refused", standard + ".fifo", queueARN, "RedrivePolicy: must use a FIFO queue as DLQ for a FIFO Subscription to a FIFO Topic."},
		{"a FIFO queue behind a standard topic is refused", standard, queueARN + ".fifo", "RedrivePolicy: must use a standard queue as DLQ for a Subscription to a standard Topic."},
		{"the zero policy is refused", standard, "", "RedrivePolicy: deadLetterTargetArn is an invalid arn"},
	} {
		t.Run(c.name, func(t *testing.T) {
			topic, err := push.ParseARN(c.topic)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := (Policy{DeadLetterTargetARN: c.queue}).Check(topic); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestExactlyTheMatchingQueuesPass compares Check with the rule in words.
func TestExactlyTheMatchingQueuesPass(t *testing.T) {
	parts := func(t *rapid.T, service string) push.ARN {
		return push.ARN{
			Partition: rapid.SampledFrom([]string{"aws", "aws-cn"}).Draw(t, "partition"),
			Service:   service,
			Region:    rapid.SampledFrom([]string{"eu-west-1", "eu-west-2"}).Draw(t, "region"),
			Account:   rapid.SampledFrom([]string{"111111111111", "222222222222"}).Draw(t, "account"),
			Resource:  rapid.SampledFrom([]string{"a", "a.fifo"}).Draw(t, "name"),
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		topic, queue := parts(t, "sns"), parts(t, "sqs")
		same := topic.Partition == queue.Partition && topic.Region == queue.Region &&
			topic.Account == queue.Account && topic.Resource == queue.Resource
		if err := (Policy{DeadLetterTargetARN: queue.String()}).Check(topic); (err == nil) != same {
			t.Fatalf("%s behind %s: %v", queue, topic, err)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(`{"deadLetterTargetArn":"` + queueARN + `"}`)
	f.Add(`{"deadLetterTargetArn":"` + queueARN + `.fifo","deadLetterTargetArn":1}`)
	f.Add(`{"deadLetterTarget\u0041rn":"fake-arn"}`)
	f.Add("{\"\xff\":[[{}]]}")
	f.Fuzz(func(t *testing.T, doc string) {
		p, err := Parse(doc)
		if err != nil {
			if s := err.Error(); !strings.HasPrefix(s, "RedrivePolicy: ") || !utf8.ValidString(s) || len(s) > 500 {
				t.Fatalf("error text %q", s)
			}
			return
		}
		again, err := Parse(p.String())
		if err != nil || again != p {
			t.Fatalf("%v printed and read again is %v, %v", p, again, err)
		}
	})
}
