// Package signing makes the RSA signatures that SNS subscribers verify, and
// keeps the key and certificate they are made with.
//
// A signature costs about a millisecond with RSA-2048: make it once per message,
// not per delivery, and only when some subscription is not raw.
package signing

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"

	"postino/shared/envelope"
	"postino/shared/push"
)

// Signer signs messages with one key. It is safe for concurrent use.
type Signer struct {
	key      *rsa.PrivateKey
	certPEM  []byte
	certPath string
	links    envelope.Links
}

// minKeyBits is the smallest key that is still held to be safe (NIST SP 800-131A).
const minKeyBits = 2048

// New makes a Signer of a key and the certificate that verifies it, one PEM
// block "CERTIFICATE". The key must be the certificate's and have at least 2,048
// bits. l must be the Links that envelopes are built with.
func New(key *rsa.PrivateKey, certPEM []byte, l envelope.Links) (*Signer, error) {
	block, _ := pem.Decode(certPEM)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New("no certificate in PEM form")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("certificate cannot be read: %w", err)
	}
	if key == nil || key.N.BitLen() < minKeyBits {
		return nil, fmt.Errorf("key must be RSA with at least %d bits", minKeyBits)
	}
	if !key.PublicKey.Equal(cert.PublicKey) {
		return nil, errors.New("certificate does not belong to the key")
	}
	sum := sha256.Sum256(cert.Raw)
	return &Signer{
		key: key,
		// Encoded afresh: nothing that stood beside the block must be served.
		certPEM:  pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}),
		certPath: "/SimpleNotificationService-" + hex.EncodeToString(sum[:16]) + ".pem",
		links:    l,
	}, nil
}

// CertPath is the path under which the server serves CertPEM,
// "/SimpleNotificationService-<32 hex digits>.pem". The digits are a hash of the
// certificate, so that the path holds as long as the certificate does and caches
// may keep it.
func (s *Signer) CertPath() string { return s.certPath }

// CertPEM is the certificate as it is served. Do not change it.
func (s *Signer) CertPEM() []byte { return s.certPEM }

// Sign makes m's signature: RSA PKCS #1 v1.5 over SHA-1 for version "1", over
// SHA-256 for version "2" (SNS developer guide, signature versions). SHA-1 is
// weak; version 1 is for subscribers that know no other. Other versions are an
// error, as is a key that cannot sign.
func (s *Signer) Sign(kind push.Kind, m push.Message, version string) (push.Signature, error) {
	text := []byte(Canonical(kind, m, s.links))
	var hash crypto.Hash
	var digest []byte
	switch version {
	case "1":
		sum := sha1.Sum(text)
		hash, digest = crypto.SHA1, sum[:]
	case "2":
		sum := sha256.Sum256(text)
		hash, digest = crypto.SHA256, sum[:]
	default:
		return push.Signature{}, fmt.Errorf("signature version %q is neither 1 nor 2", version)
	}
	// No random source: the scheme is deterministic.
	value, err := rsa.SignPKCS1v15(nil, s.key, hash, digest)
	if err != nil {
		return push.Signature{}, fmt.Errorf("signing a message: %w", err)
	}
	return push.Signature{
		Version: version,
		Value:   base64.StdEncoding.EncodeToString(value),
		CertURL: s.links.PublicURL + s.certPath,
	}, nil
}
