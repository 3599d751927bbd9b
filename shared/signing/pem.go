package signing

import (
	"fmt"
	"time"

	"postino/shared/envelope"
)

// NewPEM makes a key and its certificate as LoadOrCreate does, for callers that
// keep them elsewhere than in a file: PEM, a "PRIVATE KEY" and a "CERTIFICATE"
// block, valid for twenty years from now.
func NewPEM(now time.Time) ([]byte, error) { return newKeyFile(now) }

// FromPEM makes a Signer of what NewPEM made.
func FromPEM(content []byte, l envelope.Links) (*Signer, error) {
	key, certPEM, err := parseKeyFile(content)
	if err != nil {
		return nil, fmt.Errorf("the signing key is unusable: %w", err)
	}
	s, err := New(key, certPEM, l)
	if err != nil {
		return nil, fmt.Errorf("the signing key is unusable: %w", err)
	}
	return s, nil
}
