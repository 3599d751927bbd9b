//go:build integration

package integration

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func TestAMessageIsPushedOnceAndSigned(t *testing.T) {
	t.Parallel()
	s, e := deployed(t), listen(t)
	topic := s.topic()
	subscription := s.subscribe(topic, e, nil)
	id := s.publish(topic, "through all of it <&> é")
	p := e.next()
	if p.Type != "Notification" || p.MessageId != id || p.Message != "through all of it <&> é" || p.TopicArn != topic {
		t.Errorf("pushed was %s", p.body)
	}
	for name, want := range map[string]string{"X-Amz-Sns-Message-Id": id, "X-Amz-Sns-Topic-Arn": topic, "X-Amz-Sns-Subscription-Arn": subscription} {
		if got := p.header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	verify(t, s, p)
	e.quiet(2 * time.Second)
}

// verify checks a notification's signature with the certificate it names (SNS
// developer guide, verifying message signatures).
func verify(t *testing.T, s *stack, p pushed) {
	t.Helper()
	if !strings.HasPrefix(p.SigningCertURL, s.output("EndpointUrl")+"/") {
		t.Fatalf("the certificate is at %q", p.SigningCertURL)
	}
	status, certificate := fetch(t, p.SigningCertURL)
	block, _ := pem.Decode(certificate)
	if status != http.StatusOK || block == nil {
		t.Fatalf("the certificate's URL answers %d: %s", status, certificate)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := base64.StdEncoding.DecodeString(p.Signature)
	if err != nil {
		t.Fatal(err)
	}
	text := "Message\n" + p.Message + "\nMessageId\n" + p.MessageId + "\nTimestamp\n" + p.Timestamp + "\nTopicArn\n" + p.TopicArn + "\nType\nNotification\n"
	algorithm := map[string]x509.SignatureAlgorithm{"1": x509.SHA1WithRSA, "2": x509.SHA256WithRSA}[p.SignatureVersion]
	if err := c.CheckSignature(algorithm, []byte(text), signature); err != nil {
		t.Errorf("signature: %v", err)
	}
}

// sizeLimit is SNS's of a message, and of a batch's messages together.
const sizeLimit = 256 << 10

// The text is what grows most on its way: quotes are escaped in the envelope, and
// a job is base64.
func TestTheLargestMessageArrivesWhole(t *testing.T) {
	t.Parallel()
	s, enveloped, raw := deployed(t), listen(t), listen(t)
	topic := s.topic()
	s.subscribe(topic, enveloped, nil)
	s.subscribe(topic, raw, map[string]string{"RawMessageDelivery": "true"})
	message := strings.Repeat(`"é\`+"\n", sizeLimit)[:sizeLimit-1] + "."
	s.publish(topic, message)
	if p := enveloped.next(); p.Message != message {
		t.Errorf("pushed were %d bytes, want %d", len(p.Message), len(message))
	}
	if p := raw.next(); p.body != message {
		t.Errorf("pushed raw were %d bytes, want %d", len(p.body), len(message))
	}
}

func TestABatchOfTenThatFillsTheLimitIsPushedEntryByEntry(t *testing.T) {
	t.Parallel()
	s, e := deployed(t), listen(t)
	topic := s.topic()
	s.subscribe(topic, e, nil)
	var messages []string
	for _, m := range ten() {
		messages = append(messages, m+strings.Repeat("x", sizeLimit/10-len(m)))
	}
	s.publishAll(topic, messages...)
	got := e.messages(10)
	for _, m := range messages {
		if got[m] != 1 {
			t.Errorf("%.10q was pushed %d times", m, got[m])
		}
	}
	e.quiet(2 * time.Second)
}

func TestARawLetterKeepsItsBodyAndAttributes(t *testing.T) {
	t.Parallel()
	s, e := deployed(t), listen(t)
	topic := s.topic()
	url, arn := s.queue("it")
	s.subscribe(topic, e, merged(redrive(arn), map[string]string{"RawMessageDelivery": "true"}))
	e.answer(http.StatusGone)
	body := strings.Repeat("<raw> é ", 1000)
	if _, err := s.sns.Publish(t.Context(), &sns.PublishInput{TopicArn: &topic, Message: &body,
		MessageAttributes: map[string]snstypes.MessageAttributeValue{"colour": {DataType: aws.String("String"), StringValue: aws.String("blue")}}}); err != nil {
		t.Fatal(err)
	}
	if p := e.next(); p.body != body {
		t.Errorf("pushed was %.100s", p.body)
	}
	letter := s.takeFrom(url, anything)
	if *letter.Body != body || aws.ToString(attributeOf(letter, "colour").StringValue) != "blue" || !note(t, letter).Raw {
		t.Errorf("the letter is %.100s with %v", *letter.Body, letter.MessageAttributes)
	}
}

func attributeOf(m sqstypes.Message, name string) sqstypes.MessageAttributeValue {
	return m.MessageAttributes[name]
}

// The same token each time: whichever confirmation arrives is as good.
func TestAConfirmationIsRetriedUntilItArrives(t *testing.T) {
	t.Parallel()
	s, e := deployed(t), listen(t)
	topic := s.topic()
	e.on("SubscriptionConfirmation", status(http.StatusServiceUnavailable), status(http.StatusOK))
	s.ask(topic, e, policy(3, 2))
	first := e.next()
	again := e.after(first, 2*time.Second)
	if first.Token == "" || again.Token != first.Token || again.MessageId != first.MessageId {
		t.Errorf("pushed were %s and %s", first.body, again.body)
	}
	s.confirm(again)
	id := s.publish(topic, "confirmed")
	if p := e.next(); p.MessageId != id {
		t.Errorf("pushed was %s", p.body)
	}
	e.quiet(3 * time.Second)
}

// The endpoint's authority is one that the function is told to trust, as an
// operator's own would be.
func TestAnHTTPSEndpointIsPushedToAndItsCertificateChecked(t *testing.T) {
	t.Parallel()
	s, e := own(t, nil), unstarted(t)
	server := httptest.NewTLSServer(e)
	e.serve(server)
	topic, unknown := s.topic(), s.topic()
	s.seed(topic, e.url)
	s.seed(unknown, e.url, noRetries)

	refused := s.publish(unknown, "nobody to trust")
	if n := note(t, s.deadLetter(refused)); n.Fault == "" || n.Status != 0 {
		t.Errorf("the note says %+v", n)
	}
	authority := filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o644); err != nil {
		t.Fatal(err)
	}
	s.change("Deliver", map[string]string{"SSL_CERT_FILE": authority})
	id := s.publish(topic, "over TLS")
	if p := e.next(); p.MessageId != id {
		t.Errorf("pushed was %s", p.body)
	}
	e.quiet(time.Second)
}

// Two stacks side by side share an account, an emulator and the names of topics.
func TestTwoStacksSideBySideDoNotMix(t *testing.T) {
	t.Parallel()
	one, two := deployed(t), own(t, nil)
	in, out := listen(t), listen(t)
	topic := one.topic()
	if twin := two.topicNamed(topic[strings.LastIndexByte(topic, ':')+1:]); twin != topic {
		t.Fatalf("the topics are %s and %s", topic, twin)
	}
	one.subscribe(topic, in, nil)
	two.subscribe(topic, out, nil)
	first, second := one.publish(topic, "to one"), two.publish(topic, "to two")
	if p := in.next(); p.MessageId != first {
		t.Errorf("pushed was %s", p.body)
	}
	p := out.next()
	if p.MessageId != second {
		t.Errorf("pushed was %s", p.body)
	}
	verify(t, two, p)
	in.quiet(2 * time.Second)
	out.quiet(0)
}

// What the stack's operator has not allowed is not called, whoever asks.
func TestAnEndpointOnANetworkThatIsNotAllowedIsNeverCalled(t *testing.T) {
	t.Parallel()
	s, e := own(t, map[string]string{"AllowNetworks": ""}), listen(t)
	topic := s.topic()
	s.seed(topic, e.url)
	id := s.publish(topic, "not here")
	if n := note(t, s.deadLetter(id)); n.Attempts != 1 || n.Fault == "" {
		t.Errorf("the note says %+v", n)
	}
	e.quiet(time.Second)
}
