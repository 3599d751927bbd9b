package signing_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"postino/shared/envelope"
	"postino/shared/push"
	"postino/shared/signing"
)

var (
	links = envelope.Links{PublicURL: "https://push.example.com"}
	now   = time.Date(2024, 2, 29, 23, 59, 59, 7_999_999, time.UTC)
)

const topicARN = "arn:aws:sns:eu-west-1:123456789012:orders"

// signer makes one key for all tests: making it is the slow part.
var signer = sync.OnceValue(func() *signing.Signer {
	dir, err := os.MkdirTemp("", "signing")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	s, err := signing.LoadOrCreate(filepath.Join(dir, "key.pem"), now, links)
	if err != nil {
		panic(err)
	}
	return s
})

func message() push.Message {
	return push.Message{
		ID: "dc1e94d9-56c5-5e96-808d-cc7f68faa162", TopicARN: topicARN, Body: "line one\nline \"two\" <é>", Timestamp: now,
		Attributes: []push.Attribute{{Name: "a", Type: "String", Value: "not signed"}},
	}
}

func withSubject(s string) push.Message {
	m := message()
	m.Subject = s
	return m
}

func confirmation(kind push.Kind) push.Message {
	m := message()
	m.Body, m.Token = envelope.ConfirmationText(kind, topicARN), "0af9"
	return m
}

// Written out by hand from the SNS developer guide.
func TestCanonicalStringsAreExact(t *testing.T) {
	for name, c := range map[string]struct {
		kind push.Kind
		m    push.Message
		want string
	}{
		"notification": {push.Notification, message(),
			"Message\nline one\nline \"two\" <é>\n" +
				"MessageId\ndc1e94d9-56c5-5e96-808d-cc7f68faa162\n" +
				"Timestamp\n2024-02-29T23:59:59.007Z\n" +
				"TopicArn\narn:aws:sns:eu-west-1:123456789012:orders\n" +
				"Type\nNotification\n"},
		"notification with subject": {push.Notification, withSubject("Hi there"),
			"Message\nline one\nline \"two\" <é>\n" +
				"MessageId\ndc1e94d9-56c5-5e96-808d-cc7f68faa162\n" +
				"Subject\nHi there\n" +
				"Timestamp\n2024-02-29T23:59:59.007Z\n" +
				"TopicArn\narn:aws:sns:eu-west-1:123456789012:orders\n" +
				"Type\nNotification\n"},
		"subscription confirmation": {push.SubscriptionConfirm, confirmation(push.SubscriptionConfirm),
			"Message\n" + envelope.ConfirmationText(push.SubscriptionConfirm, topicARN) + "\n" +
				"MessageId\ndc1e94d9-56c5-5e96-808d-cc7f68faa162\n" +
				"SubscribeURL\nhttps://push.example.com/?Action=ConfirmSubscription&TopicArn=arn:aws:sns:eu-west-1:123456789012:orders&Token=0af9\n" +
				"Timestamp\n2024-02-29T23:59:59.007Z\n" +
				"Token\n0af9\n" +
				"TopicArn\narn:aws:sns:eu-west-1:123456789012:orders\n" +
				"Type\nSubscriptionConfirmation\n"},
		"unsubscribe confirmation": {push.UnsubscribeConfirmation, confirmation(push.UnsubscribeConfirmation),
			"Message\n" + envelope.ConfirmationText(push.UnsubscribeConfirmation, topicARN) + "\n" +
				"MessageId\ndc1e94d9-56c5-5e96-808d-cc7f68faa162\n" +
				"SubscribeURL\nhttps://push.example.com/?Action=ConfirmSubscription&TopicArn=arn:aws:sns:eu-west-1:123456789012:orders&Token=0af9\n" +
				"Timestamp\n2024-02-29T23:59:59.007Z\n" +
				"Token\n0af9\n" +
				"TopicArn\narn:aws:sns:eu-west-1:123456789012:orders\n" +
				"Type\nUnsubscribeConfirmation\n"},
	} {
		if got := signing.Canonical(c.kind, c.m, links); got != c.want {
			t.Errorf("%s:\ngot  %q\nwant %q", name, got, c.want)
		}
	}
}

func TestTheServedCertificateVerifiesBothVersions(t *testing.T) {
	s := signer()
	block, rest := pem.Decode(s.CertPEM())
	if block == nil || len(rest) > 0 {
		t.Fatalf("certificate is %q", s.CertPEM())
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	public := cert.PublicKey.(*rsa.PublicKey)
	for _, kind := range []push.Kind{push.Notification, push.SubscriptionConfirm, push.UnsubscribeConfirmation} {
		for version, hash := range map[string]crypto.Hash{"1": crypto.SHA1, "2": crypto.SHA256} {
			signature, err := s.Sign(kind, confirmation(kind), version)
			if err != nil {
				t.Fatal(err)
			}
			if signature.Version != version || signature.CertURL != "https://push.example.com"+s.CertPath() {
				t.Errorf("signature is %+v", signature)
			}
			value, err := base64.StdEncoding.DecodeString(signature.Value)
			if err != nil {
				t.Fatal(err)
			}
			text := []byte(signing.Canonical(kind, confirmation(kind), links))
			digest := func(b []byte) []byte {
				if version == "1" {
					sum := sha1.Sum(b)
					return sum[:]
				}
				sum := sha256.Sum256(b)
				return sum[:]
			}
			if err := rsa.VerifyPKCS1v15(public, hash, digest(text), value); err != nil {
				t.Errorf("%s version %s: %v", kind, version, err)
			}
			if rsa.VerifyPKCS1v15(public, hash, digest(append(text, '\n')), value) == nil {
				t.Errorf("%s version %s verifies another text", kind, version)
			}
		}
	}
}

func TestOtherSignatureVersionsAreRefused(t *testing.T) {
	for _, version := range []string{"", "0", "3", "SHA256"} {
		if signature, err := signer().Sign(push.Notification, message(), version); err == nil {
			t.Errorf("version %q gave %+v", version, signature)
		}
	}
}

func TestCertPathIsTheCertificatesOwn(t *testing.T) {
	form := regexp.MustCompile(`^/SimpleNotificationService-[0-9a-f]{32}\.pem$`)
	key, certPEM := pair(t, 2048)
	a, err := signing.New(key, certPEM, links)
	if err != nil {
		t.Fatal(err)
	}
	again, err := signing.New(key, append([]byte("a note\n"), certPEM...), envelope.Links{PublicURL: "https://elsewhere.example"})
	if err != nil {
		t.Fatal(err)
	}
	if !form.MatchString(a.CertPath()) || a.CertPath() != again.CertPath() || a.CertPath() == signer().CertPath() {
		t.Errorf("paths are %s, again %s, another's %s", a.CertPath(), again.CertPath(), signer().CertPath())
	}
	if string(again.CertPEM()) != string(certPEM) {
		t.Errorf("serves more than the certificate: %q", again.CertPEM())
	}
}

// pair makes a key of the given size and its certificate.
func pair(t testing.TB, bits int) (*rsa.PrivateKey, []byte) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return key, certificate(t, &key.PublicKey, key)
}

func certificate(t testing.TB, public any, key crypto.Signer) []byte {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now, NotAfter: now.AddDate(1, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestKeysThatCannotSignAreRefused(t *testing.T) {
	t.Setenv("GODEBUG", "rsa1024min=0") // so that a weak key can be made to be refused
	key, certPEM := pair(t, 2048)
	weak, weakPEM := pair(t, 1024)
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		key     *rsa.PrivateKey
		certPEM []byte
		want    string
	}{
		"no certificate":        {key, nil, "no certificate"},
		"a key as certificate":  {key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY"}), "no certificate"},
		"broken certificate":    {key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}), "cannot be read"},
		"no key":                {nil, certPEM, "2048 bits"},
		"weak key":              {weak, weakPEM, "2048 bits"},
		"someone else's":        {key, weakPEM, "does not belong"},
		"certificate of no RSA": {key, certificate(t, &other.PublicKey, other), "does not belong"},
	} {
		if _, err := signing.New(c.key, c.certPEM, links); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

func BenchmarkSign(b *testing.B) {
	m := message()
	m.Body = strings.Repeat("0123456789abcdef", 16)
	for _, version := range []string{"1", "2"} {
		b.Run("version="+version, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := signer().Sign(push.Notification, m, version); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
