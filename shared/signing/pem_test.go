package signing_test

import (
	"strings"
	"testing"
	"time"

	"postino/shared/push"
	"postino/shared/signing"
)

func TestAKeyKeptElsewhereThanInAFileSigns(t *testing.T) {
	content, err := signing.NewPEM(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	one, err := signing.FromPEM(content, links)
	if err != nil {
		t.Fatal(err)
	}
	other, err := signing.FromPEM(content, links)
	if err != nil {
		t.Fatal(err)
	}
	a, err := one.Sign(push.Notification, message(), "2")
	if err != nil {
		t.Fatal(err)
	}
	if b, err := other.Sign(push.Notification, message(), "2"); err != nil || a != b {
		t.Errorf("two signers of one key sign %+v and %+v (%v)", a, b, err)
	}
}

func TestAKeyThatIsNoneIsRefused(t *testing.T) {
	content, err := signing.NewPEM(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	withoutCertificate, _, _ := strings.Cut(string(content), "-----BEGIN CERTIFICATE")
	for _, bad := range []string{"", "no PEM", withoutCertificate} {
		if _, err := signing.FromPEM([]byte(bad), links); err == nil || !strings.Contains(err.Error(), "unusable") {
			t.Errorf("%.20q: got %v", bad, err)
		}
	}
}
