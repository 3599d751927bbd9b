package host_test

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/google/go-cmp/cmp"

	"postino/shared/config"
)

// envelope is what a subscriber reads.
type envelope struct {
	Type, MessageId, TopicArn, Message, Timestamp, Token, SubscribeURL string //nolint:revive // SNS's names
	SignatureVersion, Signature, SigningCertURL, UnsubscribeURL        string
	Subject                                                            *string
	MessageAttributes                                                  map[string]struct{ Type, Value string }
}

func read(t *testing.T, body []byte) (e envelope) {
	t.Helper()
	if err := json.Unmarshal(body, &e); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return e
}

// verify checks the signature as the SNS developer guide tells subscribers to
// ("Verifying the signatures of Amazon SNS messages").
func verify(t *testing.T, e envelope) {
	t.Helper()
	lines := []string{"Message", e.Message, "MessageId", e.MessageId}
	if e.Type == "Notification" {
		if e.Subject != nil {
			lines = append(lines, "Subject", *e.Subject)
		}
		lines = append(lines, "Timestamp", e.Timestamp)
	} else {
		lines = append(lines, "SubscribeURL", e.SubscribeURL, "Timestamp", e.Timestamp, "Token", e.Token)
	}
	lines = append(lines, "TopicArn", e.TopicArn, "Type", e.Type, "")
	block, _ := pem.Decode(get(t, e.SigningCertURL))
	if block == nil {
		t.Fatalf("no certificate at %s", e.SigningCertURL)
	}
	certificate := must[*x509.Certificate](t)(x509.ParseCertificate(block.Bytes))
	algorithm := map[string]x509.SignatureAlgorithm{"1": x509.SHA1WithRSA, "2": x509.SHA256WithRSA}[e.SignatureVersion]
	signature := must[[]byte](t)(base64.StdEncoding.DecodeString(e.Signature))
	if err := certificate.CheckSignature(algorithm, []byte(strings.Join(lines, "\n")), signature); err != nil {
		t.Errorf("%s, version %s: %v", e.Type, e.SignatureVersion, err)
	}
}

func TestAPublishedMessageIsPushedInASignedEnvelope(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := receive(t, statuses(200))
	for _, version := range []string{"1", "2"} {
		topic := s.topic("signed-" + version)
		must[*sns.SetTopicAttributesOutput](t)(s.SetTopicAttributes(t.Context(), &sns.SetTopicAttributesInput{TopicArn: &topic,
			AttributeName: aws.String("SignatureVersion"), AttributeValue: &version}))
		must[*sns.SubscribeOutput](t)(s.Subscribe(t.Context(), &sns.SubscribeInput{TopicArn: &topic, Protocol: aws.String("http"), Endpoint: aws.String(r.at("/hook"))}))
		confirmation := read(t, r.confirmation(t, r.at("/hook")).body)
		verify(t, confirmation)
		get(t, confirmation.SubscribeURL) // confirms
		arn := *must[*sns.ListSubscriptionsByTopicOutput](t)(s.ListSubscriptionsByTopic(t.Context(), &sns.ListSubscriptionsByTopicInput{TopicArn: &topic})).Subscriptions[0].SubscriptionArn

		message := "Ünïcødé <&> \"quoted\" \u2028 \x01 🙂\r\n"
		id := *must[*sns.PublishOutput](t)(s.Publish(t.Context(), &sns.PublishInput{TopicArn: &topic, Message: &message, Subject: aws.String("Ordered & paid"),
			MessageAttributes: map[string]types.MessageAttributeValue{
				"kind":   {DataType: aws.String("String"), StringValue: aws.String("paid")},
				"digest": {DataType: aws.String("Binary"), BinaryValue: []byte{0, 1, 255}},
			}})).MessageId
		a := next(t, r.got)
		e := read(t, a.body)
		verify(t, e)
		if e.Message != message || e.MessageId != id || e.TopicArn != topic || e.Subject == nil || *e.Subject != "Ordered & paid" || e.SignatureVersion != version {
			t.Errorf("got %s", a.body)
		}
		want := map[string]struct{ Type, Value string }{"kind": {"String", "paid"}, "digest": {"Binary", "AAH/"}}
		if d := cmp.Diff(want, e.MessageAttributes); d != "" {
			t.Error(d)
		}
		for name, value := range map[string]string{"message-type": "Notification", "message-id": id, "topic-arn": topic, "subscription-arn": arn} {
			if got := a.header.Get("x-amz-sns-" + name); got != value {
				t.Errorf("x-amz-sns-%s is %q, want %q", name, got, value)
			}
		}
		if got := a.header.Get("Content-Type"); got != "text/plain; charset=UTF-8" {
			t.Errorf("content type %q", got)
		}
		if !strings.Contains(e.UnsubscribeURL, "Action=Unsubscribe") {
			t.Errorf("unsubscribe link %q", e.UnsubscribeURL)
		}
	}
}

func TestRawDeliveryPushesTheMessageAndNothingElse(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := receive(t, statuses(200))
	topic := s.topic("raw")
	s.subscribe(topic, r, r.at("/raw"), "RawMessageDelivery", "true", "DeliveryPolicy", `{"requestPolicy":{"headerContentType":"application/json"}}`)
	s.publish(topic, `{"é":1}`)
	a := next(t, r.got)
	if string(a.body) != `{"é":1}` || a.header.Get("x-amz-sns-rawdelivery") != "true" || a.header.Get("Content-Type") != "application/json" {
		t.Errorf("got %s with %v", a.body, a.header)
	}
}

func TestEachProtocolGetsItsTextOfAStructuredMessage(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := receive(t, statuses(200))
	topic := s.topic("structured")
	s.subscribe(topic, r, r.at("/s"))
	for structured, want := range map[string]string{`{"default":"d","http":"h","https":"s"}`: "h", `{"default":"d","sqs":"q"}`: "d"} {
		must[*sns.PublishOutput](t)(s.Publish(t.Context(), &sns.PublishInput{TopicArn: &topic, Message: &structured, MessageStructure: aws.String("json")}))
		e := read(t, next(t, r.got).body)
		verify(t, e)
		if e.Message != want {
			t.Errorf("of %s came %q, want %q", structured, e.Message, want)
		}
	}
}

func TestTheLargestMessageGoesThrough(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := receive(t, statuses(503, 200))
	topic := s.topic("large")
	s.subscribe(topic, r, r.at("/l"), "DeliveryPolicy", immediate(1))
	message := strings.Repeat("\x01é", 87_381) + "x" // 262,144 bytes, the worst to escape
	s.publish(topic, message)
	for _, a := range take(t, r.got, 2) {
		if e := read(t, a.body); e.Message != message {
			t.Errorf("%d bytes came of %d", len(e.Message), len(message))
		}
	}
}

// lossy loses the answer to the first request, after the server has given it.
type lossy struct {
	transport http.RoundTripper
	ids       []string
}

func (l *lossy) Do(r *http.Request) (*http.Response, error) {
	resp, err := l.transport.RoundTrip(r)
	l.ids = append(l.ids, r.Header.Get("Amz-Sdk-Invocation-Id"))
	if err == nil && len(l.ids) == 1 {
		resp.Body.Close()
		return nil, lost{}
	}
	return resp, err
}

type lost struct{}

func (lost) Error() string   { return "the connection broke before the answer" }
func (lost) Timeout() bool   { return true }
func (lost) Temporary() bool { return true }

func TestPublishRetriedByTheSDKKeepsItsMessageID(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := receive(t, statuses(200))
	topic := s.topic("again")
	s.subscribe(topic, r, r.at("/a"))
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	l := &lossy{transport: transport}
	retrying := client(t, s.url, func(o *sns.Options) { o.HTTPClient, o.Retryer = l, nil })
	id := *must[*sns.PublishOutput](t)(retrying.Publish(t.Context(), &sns.PublishInput{TopicArn: &topic, Message: aws.String("once")})).MessageId
	if len(l.ids) != 2 || l.ids[0] == "" || l.ids[0] != l.ids[1] {
		t.Fatalf("the SDK called with invocation ids %q", l.ids)
	}
	for _, a := range take(t, r.got, 2) {
		if a.id() != id {
			t.Errorf("message %s came, the SDK answered %s", a.id(), id)
		}
	}
	if other := s.publish(topic, "once"); other == id {
		t.Error("another call made the same message")
	}
}

func TestATraceContextReachesTheEndpointWhereItIsAskedFor(t *testing.T) {
	t.Parallel()
	const parent, state = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "rojo=1"
	for _, on := range []bool{true, false} {
		s := start(t, func(c *config.Config) { c.Trace = on })
		r := receive(t, statuses(503, 200))
		topic := s.topic("traced")
		s.subscribe(topic, r, r.at("/traced"), "DeliveryPolicy", `{"healthyRetryPolicy":{"numRetries":1,"numNoDelayRetries":1,"minDelayTarget":1,"maxDelayTarget":1}}`)
		body := url.Values{"Action": {"Publish"}, "TopicArn": {topic}, "Message": {"m"}}.Encode()
		request := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, strings.NewReader(body)))
		request.Header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Traceparent": {parent}, "Tracestate": {state}}
		answer := must[*http.Response](t)(http.DefaultClient.Do(request))
		ok(t, answer.Body.Close())
		for n := range 2 {
			a := next(t, r.got)
			if got := a.header.Get("Traceparent") + " " + a.header.Get("Tracestate"); got != map[bool]string{true: parent + " " + state, false: " "}[on] {
				t.Errorf("on %v: push %d has %q", on, n+1, got)
			}
		}
	}
}
