package envelope_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"postino/shared/envelope"
	"postino/shared/push"
)

var update = flag.Bool("update", false, "write the golden files anew; review the difference")

const (
	topicARN        = "arn:aws:sns:eu-west-1:123456789012:orders"
	subscriptionARN = topicARN + ":6b0e71bd-7e97-4d97-80ce-4a0994e55286"
)

var links = envelope.Links{PublicURL: "https://push.example.com"}

func message() push.Message {
	return push.Message{
		ID:        "dc1e94d9-56c5-5e96-808d-cc7f68faa162",
		TopicARN:  topicARN,
		Body:      `{"order":7,"note":"<b>&amp;</b> a/b \ ünïcødé 🙂` + "\u2028\ttab\r\n\x01" + `"}`,
		Timestamp: time.Date(2024, 2, 29, 23, 59, 59, 7_000_000, time.UTC),
		Signature: push.Signature{
			Version: "1", Value: "c2lnbmF0dXJl+/8=",
			CertURL: "https://push.example.com/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem",
		},
	}
}

func rich() push.Message {
	m := message()
	m.Subject = `Order "7" arrived`
	m.Attributes = []push.Attribute{
		{Name: "event.type", Type: "String", Value: "order <placed>"},
		{Name: "price", Type: "Number.eur", Value: "12.50"},
		{Name: "tags", Type: "String.Array", Value: `["a","b"]`},
		{Name: "digest", Type: "Binary", Value: "AAEC/w=="},
	}
	return m
}

func confirmation(kind push.Kind, arn string) push.Message {
	m := message()
	m.Body = envelope.ConfirmationText(kind, arn)
	m.Token = strings.Repeat("2336412f37fb687f5d51e6e241d09c80", 9)
	return m
}

func TestRequestsAreTheGoldenFilesByteForByte(t *testing.T) {
	unsigned := message()
	unsigned.Signature = push.Signature{}
	plain := push.Subscription{ARN: subscriptionARN, TopicARN: topicARN}
	raw := plain
	raw.Raw = true
	traced := message()
	traced.Trace = push.Trace{Parent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", State: "rojo=1,congo=2"}
	for name, r := range map[string]envelope.Request{
		"notification-traced":               envelope.Build(push.Notification, traced, raw, "", links),
		"notification":                      envelope.Build(push.Notification, message(), plain, "", links),
		"notification-subject-attributes":   envelope.Build(push.Notification, rich(), plain, "application/json", links),
		"notification-unsigned":             envelope.Build(push.Notification, unsigned, plain, "", links),
		"notification-raw":                  envelope.Build(push.Notification, rich(), raw, "", links),
		"notification-raw-content-type":     envelope.Build(push.Notification, rich(), raw, "text/csv", links),
		"subscription-confirmation":         envelope.Build(push.SubscriptionConfirm, confirmation(push.SubscriptionConfirm, topicARN), raw, "application/json", links),
		"unsubscribe-confirmation":          envelope.Build(push.UnsubscribeConfirmation, confirmation(push.UnsubscribeConfirmation, subscriptionARN), plain, "application/json", links),
		"unsubscribe-confirmation-from-raw": envelope.Build(push.UnsubscribeConfirmation, confirmation(push.UnsubscribeConfirmation, subscriptionARN), raw, "", links),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", name+".http")
			got := text(r)
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("request differs (-golden +got):\n%s", diff)
			}
		})
	}
}

// text is the request as HTTP/1.1 sends it, headers in byte order.
func text(r envelope.Request) string {
	var lines []string
	for key, values := range r.Header {
		for _, value := range values {
			lines = append(lines, key+": "+value)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n\n" + string(r.Body)
}

func TestHeadersOfTwoRequestsShareNothing(t *testing.T) {
	s := push.Subscription{ARN: subscriptionARN}
	first := envelope.Build(push.Notification, message(), s, "", links)
	for key := range first.Header {
		first.Header[key][0] = "changed"
		first.Header[key] = append(first.Header[key], "added")
	}
	for key, values := range envelope.Build(push.Notification, message(), s, "", links).Header {
		if len(values) != 1 || values[0] == "changed" {
			t.Errorf("%s = %q after another request's headers were changed", key, values)
		}
	}
}

func TestAppendingToOneHeaderLeavesTheOthersAlone(t *testing.T) {
	h := envelope.Build(push.Notification, message(), push.Subscription{ARN: subscriptionARN}, "", links).Header
	before := h.Clone()
	for key := range h {
		h[key] = append(h[key], "added")
	}
	for key, values := range h {
		if diff := cmp.Diff(append(before[key], "added"), values); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
}

func TestAnyTextMakesJSONThatReadsBackTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := message()
		m.Body, m.Subject = rapid.String().Draw(t, "body"), rapid.String().Draw(t, "subject")
		m.Attributes = []push.Attribute{{Name: "n", Type: "String", Value: rapid.String().Draw(t, "value")}}
		body := envelope.Build(push.Notification, m, push.Subscription{ARN: subscriptionARN}, "", links).Body
		var got struct {
			Message, Subject  string
			MessageAttributes map[string]struct{ Type, Value string }
		}
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatalf("%v in %q", err, body)
		}
		if got.Message != m.Body || got.Subject != m.Subject || got.MessageAttributes["n"].Value != m.Attributes[0].Value {
			t.Fatalf("wrote %q, %q, %q; read %+v", m.Body, m.Subject, m.Attributes[0].Value, got)
		}
	})
}

func TestBytesAreEscapedOnlyWhereNeeded(t *testing.T) {
	for in, want := range map[string]string{
		"<a href='x'>&/</a>": "<a href='x'>&/</a>",
		"\u2028\u2029":       "\u2028\u2029",
		"\x7f":               "\x7f",
		"\"\\":               `\"\\`,
		"\b\f\n\r\t":         `\b\f\n\r\t`,
		"\x00\x1f":           `\u0000\u001f`,
		"a\xffb":             "a\uFFFDb",
		"\xed\xa0\x80":       "\uFFFD\uFFFD\uFFFD", // a surrogate half in UTF-8
		"\uFFFD":             "\uFFFD",
		"\uFFFE\uFFFF":       `\ufffe\uffff`,
		"😀":                  "😀",
	} {
		m := message()
		m.Body = in
		body := string(envelope.Build(push.Notification, m, push.Subscription{ARN: subscriptionARN}, "", links).Body)
		if line := `  "Message" : "` + want + "\",\n"; !strings.Contains(body, line) {
			t.Errorf("%q: no line %q in\n%s", in, line, body)
		}
	}
}

func TestADeadLetterIsWhatWouldHaveBeenDelivered(t *testing.T) {
	plain := push.Subscription{ARN: subscriptionARN}
	body, attributes := envelope.DeadLetter(rich(), plain, links)
	if want := string(envelope.Build(push.Notification, rich(), plain, "", links).Body); body != want || attributes != nil {
		t.Errorf("envelope's dead letter is %s with attributes %v, want %s and none", body, attributes, want)
	}
	raw := push.Subscription{ARN: subscriptionARN, Raw: true}
	body, attributes = envelope.DeadLetter(rich(), raw, links)
	if want := string(envelope.Build(push.Notification, rich(), raw, "", links).Body); body != want {
		t.Errorf("raw dead letter is %q, want %q", body, want)
	}
	if diff := cmp.Diff(rich().Attributes, attributes); diff != "" {
		t.Errorf("raw dead letter's attributes (-want +got):\n%s", diff)
	}
}

func TestConfirmationTextHasTwoLinesThatNameTheARNAndTheLink(t *testing.T) {
	for kind, arn := range map[push.Kind]string{push.SubscriptionConfirm: topicARN, push.UnsubscribeConfirmation: subscriptionARN} {
		first, second, _ := strings.Cut(envelope.ConfirmationText(kind, arn), "\n")
		if !strings.Contains(first, arn+".") && !strings.Contains(first, arn+" ") {
			t.Errorf("%s: first line %q does not name %s", kind, first, arn)
		}
		if !strings.Contains(second, "visit the SubscribeURL") || strings.Contains(second, "\n") {
			t.Errorf("%s: second line is %q", kind, second)
		}
	}
}

func TestLinksKeepARNsReadableAndEscapeTheRest(t *testing.T) {
	for got, want := range map[string]string{
		links.Confirm(topicARN, "0af9"):     "https://push.example.com/?Action=ConfirmSubscription&TopicArn=arn:aws:sns:eu-west-1:123456789012:orders&Token=0af9",
		links.Unsubscribe(subscriptionARN):  "https://push.example.com/?Action=Unsubscribe&SubscriptionArn=arn:aws:sns:eu-west-1:123456789012:orders:6b0e71bd-7e97-4d97-80ce-4a0994e55286",
		links.Unsubscribe("a:b&Action=x%#"): "https://push.example.com/?Action=Unsubscribe&SubscriptionArn=a:b%26Action%3Dx%25%23",
	} {
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	m := message()
	m.Body = strings.Repeat("0123456789abcdef", 16)
	m.Signature.Value = strings.Repeat("A", 344)
	for name, s := range map[string]push.Subscription{"envelope": {ARN: subscriptionARN}, "raw": {ARN: subscriptionARN, Raw: true}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				envelope.Build(push.Notification, m, s, "", links)
			}
		})
	}
}
