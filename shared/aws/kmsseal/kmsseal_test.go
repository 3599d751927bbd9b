package kmsseal_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/kms"

	"postino/shared/access"
	"postino/shared/aws/awstest"
	"postino/shared/aws/kmsseal"
	"postino/shared/push"
)

var (
	_ kmsseal.API   = (*kms.Client)(nil)
	_ access.Sealer = (*kmsseal.Sealer)(nil)
)

func stubbed(t *testing.T, stub awstest.Stub) *kmsseal.Sealer {
	t.Helper()
	return kmsseal.New(kms.NewFromConfig(stub.Config(t)), "alias/postino")
}

func TestTheKeyIDAndTheKMSKeyAreSaidInBothDirections(t *testing.T) {
	s := stubbed(t, func(operation string, body []byte) (int, string, error) {
		var r struct {
			KeyID             string `json:"KeyId"`
			Plaintext         string
			CiphertextBlob    string
			EncryptionContext map[string]string
		}
		if err := json.Unmarshal(body, &r); err != nil || r.KeyID != "alias/postino" || len(r.EncryptionContext) != 1 || r.EncryptionContext["postino:access-key"] != "KEY" {
			t.Errorf("%s of %s (%v)", operation, body, err)
		}
		text := base64.StdEncoding.EncodeToString([]byte("secret"))
		if operation == "Encrypt" && r.Plaintext == text {
			return http.StatusOK, `{"CiphertextBlob":"` + base64.StdEncoding.EncodeToString([]byte("sealed")) + `"}`, nil
		}
		if operation != "Decrypt" || r.CiphertextBlob != base64.StdEncoding.EncodeToString([]byte("sealed")) {
			t.Errorf("%s of %s", operation, body)
		}
		return http.StatusOK, `{"Plaintext":"` + text + `"}`, nil
	})
	sealed, err := s.Seal(t.Context(), "KEY", "secret")
	if err != nil || string(sealed) != "sealed" {
		t.Errorf("%q, %v", sealed, err)
	}
	if secret, err := s.Open(t.Context(), "KEY", sealed); err != nil || secret != "secret" {
		t.Errorf("%q, %v", secret, err)
	}
}

func TestAFaultOfKMSIsOursAndNamesThePermission(t *testing.T) {
	s := stubbed(t, func(string, []byte) (int, string, error) {
		return http.StatusBadRequest, awstest.Refusal("AccessDeniedException", "no"), nil
	})
	_, err := s.Seal(t.Context(), "KEY", "the secret")
	_, err2 := s.Open(t.Context(), "KEY", []byte("sealed"))
	for action, err := range map[string]error{"kms:Encrypt": err, "kms:Decrypt": err2} {
		if push.CodeOf(err).HTTPStatus() != http.StatusInternalServerError || !strings.Contains(err.Error(), action) || !strings.Contains(err.Error(), "alias/postino (POSTINO_KEYS_KMS_KEY)") || strings.Contains(err.Error(), "the secret") {
			t.Errorf("%s: %v", action, err)
		}
	}
}

func TestAMissingKMSKeyIsNamed(t *testing.T) {
	s := kmsseal.New(nil, "")
	_, err := s.Seal(t.Context(), "KEY", "secret")
	_, err2 := s.Open(t.Context(), "KEY", []byte("sealed"))
	for _, err := range []error{err, err2} {
		if err == nil || !strings.Contains(err.Error(), "POSTINO_KEYS_KMS_KEY is not set") {
			t.Errorf("got %v", err)
		}
	}
	if push.CodeOf(err2).HTTPStatus() < 500 {
		t.Errorf("a caller is told that it is his fault: %v", err2)
	}
}
