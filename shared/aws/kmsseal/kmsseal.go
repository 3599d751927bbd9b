// Package kmsseal seals the secrets of access keys with AWS KMS: whoever reads the
// table, or a copy of it, learns no secret without the permission to decrypt.
package kmsseal

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/kms"

	"postino/shared/aws/awscall"
	"postino/shared/push"
)

// API are the calls the sealer makes; *kms.Client has them.
type API interface {
	Encrypt(context.Context, *kms.EncryptInput, ...func(*kms.Options)) (*kms.EncryptOutput, error)
	Decrypt(context.Context, *kms.DecryptInput, ...func(*kms.Options)) (*kms.DecryptOutput, error)
}

// KeyVariable is the environment variable that names the KMS key.
const KeyVariable = "POSTINO_KEYS_KMS_KEY"

// Sealer implements access.Sealer.
type Sealer struct {
	client API
	key    string
}

// New makes no call. key is the KMS key's id, ARN or alias; without one nothing is
// sealed or opened.
func New(client API, key string) *Sealer { return &Sealer{client, key} }

// callLimit bounds one call, its tries included.
const callLimit = 6 * time.Second

// bind is the encryption context: KMS decrypts under the same one alone, and
// CloudTrail shows it.
func bind(keyID string) map[string]string { return map[string]string{"postino:access-key": keyID} }

// Seal needs the permission kms:Encrypt.
func (s *Sealer) Seal(ctx context.Context, keyID, secret string) ([]byte, error) {
	if s.key == "" {
		return nil, push.Errorf(push.CodeInvalidParameter, "%s is not set: it names the KMS key that secrets are sealed with", KeyVariable)
	}
	call, cancel := awscall.Bound(ctx, callLimit)
	defer cancel()
	out, err := s.client.Encrypt(call, &kms.EncryptInput{KeyId: &s.key, Plaintext: []byte(secret), EncryptionContext: bind(keyID)})
	if err != nil {
		return nil, s.explain(ctx, "kms:Encrypt", err)
	}
	return out.CiphertextBlob, nil
}

// Open needs the permission kms:Decrypt. The key is named, so that nothing sealed
// with somebody else's is taken.
func (s *Sealer) Open(ctx context.Context, keyID string, sealed []byte) (string, error) {
	if s.key == "" {
		return "", errors.New(KeyVariable + " is not set: it names the KMS key that secrets are sealed with")
	}
	call, cancel := awscall.Bound(ctx, callLimit)
	defer cancel()
	out, err := s.client.Decrypt(call, &kms.DecryptInput{KeyId: &s.key, CiphertextBlob: sealed, EncryptionContext: bind(keyID)})
	if err != nil {
		return "", s.explain(ctx, "kms:Decrypt", err)
	}
	return string(out.Plaintext), nil
}

func (s *Sealer) explain(ctx context.Context, action string, err error) error {
	c := awscall.Call{Service: "KMS", Action: action, Resource: "the KMS key " + s.key + " (" + KeyVariable + ")"}
	return c.Explain(ctx, err)
}
