//go:build integration

package integration

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"postino/shared/pipeline"
)

func TestAMessageIsPushedOnceAndSigned(t *testing.T) {
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

func TestAFailedAttemptIsRetriedThroughTheRetryQueue(t *testing.T) {
	for name, statuses := range map[string][]int{
		"server errors":     {http.StatusServiceUnavailable, http.StatusInternalServerError, http.StatusOK},
		"too many requests": {http.StatusTooManyRequests, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			s, e := deployed(t), listen(t)
			topic := s.topic()
			s.subscribe(topic, e, policy(5, 2))
			e.answer(statuses...)
			id := s.publish(topic, "again")
			var last time.Time
			for n := range statuses {
				p := e.next()
				if p.MessageId != id {
					t.Errorf("attempt %d pushed %s", n+1, p.body)
				}
				if gap := p.at.Sub(last); n > 0 && gap < 1900*time.Millisecond {
					t.Errorf("attempt %d came %v after the one before, the policy says 2 s", n+1, gap)
				}
				last = p.at
			}
			e.quiet(4 * time.Second)
		})
	}
}

func TestAnExhaustedDeliveryEndsInItsOwnQueueWithTheExactBody(t *testing.T) {
	s, e := deployed(t), listen(t)
	topic := s.topic()
	url, arn := s.queue()
	attributes := policy(1, 1)
	maps.Copy(attributes, redrive(arn))
	s.subscribe(topic, e, attributes)
	e.answer(http.StatusInternalServerError)
	id := s.publish(topic, "never taken")
	first, second := e.next(), e.next()
	letter := s.takeFrom(url, func(sqstypes.Message) bool { return true })
	if *letter.Body != first.body || *letter.Body != second.body {
		t.Errorf("the letter is\n%s\npushed was\n%s\nand\n%s", *letter.Body, first.body, second.body)
	}
	if n := note(t, letter); n.MessageID != id || n.Attempts != 2 || n.Status != http.StatusInternalServerError || n.Refused != "" {
		t.Errorf("the note says %+v", n)
	}
	e.quiet(3 * time.Second)
}

func TestAPermanentRefusalIsNotRetried(t *testing.T) {
	s, e := deployed(t), listen(t)
	topic := s.topic()
	url, arn := s.queue()
	attributes := policy(3, 1)
	maps.Copy(attributes, redrive(arn))
	s.subscribe(topic, e, attributes)
	e.answer(http.StatusNotFound)
	s.publish(topic, "not for me")
	e.next()
	letter := s.takeFrom(url, func(sqstypes.Message) bool { return true })
	if n := note(t, letter); n.Attempts != 1 || n.Status != http.StatusNotFound {
		t.Errorf("the note says %+v", n)
	}
	e.quiet(3 * time.Second)
}

func TestADeadLetterWithoutAUsableQueueGoesToTheInstallationsOwn(t *testing.T) {
	for name, c := range map[string]struct {
		attributes map[string]string
		refused    string
	}{
		"no policy":         {nil, ""},
		"the queue is gone": {redrive("arn:aws:sqs:us-east-1:000000000000:it-no-such-queue"), "does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			s, e := deployed(t), listen(t)
			topic := s.topic()
			s.subscribe(topic, e, c.attributes)
			e.answer(http.StatusForbidden)
			id := s.publish(topic, "unwanted")
			p := e.next()
			letter := s.takeFrom(s.output("DeadLetterQueueUrl"), func(m sqstypes.Message) bool { return strings.Contains(*m.Body, id) })
			if *letter.Body != p.body {
				t.Errorf("the letter is %s, pushed was %s", *letter.Body, p.body)
			}
			if n := note(t, letter); c.refused == "" && n.Refused != "" || !strings.Contains(n.Refused, c.refused) {
				t.Errorf("refused: %q, want %q", n.Refused, c.refused)
			}
		})
	}
}

func redrive(arn string) map[string]string {
	return map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"` + arn + `"}`}
}

func note(t *testing.T, m sqstypes.Message) (n pipeline.DeadLetterNote) {
	t.Helper()
	a, ok := m.MessageAttributes[pipeline.DeadLetterAttribute]
	if !ok || json.Unmarshal([]byte(*a.StringValue), &n) != nil {
		t.Fatalf("the letter has no note: %v", m.MessageAttributes)
	}
	return n
}
