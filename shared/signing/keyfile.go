package signing

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"time"

	"postino/shared/envelope"
	"postino/shared/wholefile"
)

// certYears is long because subscribers' validators verify with whatever the
// certificate's URL serves; there is no renewal to hook into.
const certYears = 20

// maxKeyFile bounds what is read; a key and its certificate are about 3 KB.
const maxKeyFile = 1 << 20

// LoadOrCreate reads the key and certificate at path, or makes them there when
// the file does not exist: a new RSA-2048 key and a certificate of its own, valid
// for twenty years from now. The file is PEM, a "PRIVATE KEY" (PKCS #8; "RSA
// PRIVATE KEY" is read too) and a "CERTIFICATE" block, of mode 0600.
//
// The file appears whole or not at all, is on disk before LoadOrCreate returns,
// and of two processes that start at once both end up with the same key. The
// folder must exist. An error is one sentence that says what to do.
func LoadOrCreate(path string, now time.Time, l envelope.Links) (*Signer, error) {
	s, err := load(path, l)
	if !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	content, err := newKeyFile(now)
	if err != nil {
		return nil, err
	}
	if err := wholefile.Create(path, content); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("cannot create the signing key %s: %w; make its folder and let this user write there", path, err)
	}
	s, err = load(path, l)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the signing key %s is a link to a file that does not exist; remove the link to have a new key made", path)
	}
	return s, err
}

// load's error is fs.ErrNotExist itself, unexplained, when there is no file.
func load(path string, l envelope.Links) (*Signer, error) {
	content, err := wholefile.Read(path, "the signing key", maxKeyFile, 0o007) // a group may share it
	if errors.Is(err, wholefile.ErrForeign) {
		return nil, fmt.Errorf("the signing key %s is no PEM file; name another path or move it away to have a new key made", path)
	}
	if err != nil {
		return nil, err
	}
	key, certPEM, err := parseKeyFile(content)
	if err == nil {
		var s *Signer
		if s, err = New(key, certPEM, l); err == nil {
			return s, nil
		}
	}
	return nil, fmt.Errorf("the signing key %s is unusable (%w); restore it from a backup, or move it away to have a new one made", path, err)
}

func parseKeyFile(content []byte) (key *rsa.PrivateKey, certPEM []byte, err error) {
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		switch block.Type {
		case "PRIVATE KEY":
			parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
			if err != nil {
				return nil, nil, fmt.Errorf("private key cannot be read: %w", err)
			}
			rsaKey, ok := parsed.(*rsa.PrivateKey)
			if !ok {
				return nil, nil, errors.New("private key is not RSA")
			}
			key = rsaKey
		case "RSA PRIVATE KEY":
			if key, err = x509.ParsePKCS1PrivateKey(block.Bytes); err != nil {
				return nil, nil, fmt.Errorf("private key cannot be read: %w", err)
			}
		case "CERTIFICATE":
			if certPEM == nil {
				certPEM = pem.EncodeToMemory(block)
			}
		}
	}
	if key == nil {
		return nil, nil, errors.New("no private key in PEM form")
	}
	return key, certPEM, nil
}

// newKeyFile makes the content of a key file. Keys and serial numbers are the
// one thing whose randomness is no argument: they must never be predictable.
func newKeyFile(now time.Time) ([]byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, minKeyBits)
	if err != nil {
		return nil, fmt.Errorf("cannot make a signing key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("cannot make a signing key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "Postino message signing"},
		NotBefore:    now.Add(-time.Hour), // for subscribers whose clocks are behind
		NotAfter:     now.AddDate(certYears, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("cannot make a signing certificate: %w", err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("cannot make a signing key: %w", err)
	}
	content := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	return append(content, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...), nil
}
