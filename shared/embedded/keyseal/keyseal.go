// Package keyseal seals the secrets of access keys with a key of the data
// directory's own, so that the database alone, or a copy of it, tells no secret.
package keyseal

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"postino/shared/push"
	"postino/shared/wholefile"
)

// maxFile bounds what is read; a key is 65 bytes.
const maxFile = 1 << 10

// Sealer seals with AES-256-GCM. What is sealed begins with a random nonce of 12
// bytes; the access key's id is authenticated with it.
type Sealer struct {
	path string
	used func(context.Context) (bool, error)

	mu   sync.Mutex
	aead cipher.AEAD // nil while there is no file
}

// Open reads the key file at path if there is one. It is made when the first
// secret is sealed, and never replaced: while used reports that there are access
// keys, a file that is gone is a loss to be told, since another would open none of
// their secrets. The error is one sentence that says what to do.
func Open(path string, used func(context.Context) (bool, error)) (*Sealer, error) {
	s := &Sealer{path: path, used: used}
	if err := s.load(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return s, nil
}

// Seal implements access.Sealer.
func (s *Sealer) Seal(ctx context.Context, keyID, secret string) ([]byte, error) {
	aead, err := s.toSeal(ctx)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, aead.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	return aead.Seal(nonce, nonce, []byte(secret), []byte(keyID)), nil
}

// Open implements access.Sealer.
func (s *Sealer) Open(_ context.Context, keyID string, sealed []byte) (string, error) {
	aead, err := s.toOpen()
	if err != nil {
		return "", err
	}
	n := aead.NonceSize()
	if len(sealed) < n {
		return "", s.foreign(keyID, errors.New("too short"))
	}
	secret, err := aead.Open(nil, sealed[:n], sealed[n:], []byte(keyID))
	if err != nil {
		return "", s.foreign(keyID, err)
	}
	return string(secret), nil
}

func (s *Sealer) foreign(keyID string, cause error) error {
	return &push.Error{Code: push.CodeInternalError, Text: "The key's secret cannot be read.",
		Cause: fmt.Errorf("the secret of %s was not sealed with %s: restore that file from a backup, or revoke the key and add another: %w", keyID, s.path, cause)}
}

// toOpen gives the cipher.
func (s *Sealer) toOpen() (cipher.AEAD, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.aead != nil {
		return s.aead, nil
	}
	err := s.load()
	if errors.Is(err, fs.ErrNotExist) {
		err = &push.Error{Code: push.CodeInternalError, Text: "The key's secret cannot be read.",
			Cause: fmt.Errorf("%s, which secrets are sealed with, is gone: restore it from a backup, or revoke the keys and add others: %w", s.path, err)}
	}
	return s.aead, err
}

// toSeal gives the cipher of the file as it is now, and makes the file for the
// first secret. What is sealed with a file that is gone would be lost when this
// process ends.
func (s *Sealer) toSeal(ctx context.Context) (cipher.AEAD, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.load()
	if !errors.Is(err, fs.ErrNotExist) {
		return s.aead, err
	}
	used, err := s.used(ctx)
	if err != nil {
		return nil, err
	}
	if used {
		// Another process may have made the file, and a key, since we looked.
		if err = s.load(); errors.Is(err, fs.ErrNotExist) {
			err = push.Errorf(push.CodeInternalError, "%s, which secrets are sealed with, is gone: restore it from a backup, or revoke all keys and add others", filepath.Base(s.path))
		}
		return s.aead, err
	}
	random := make([]byte, 32)
	if _, err := rand.Read(random); err != nil {
		return nil, err
	}
	if err := wholefile.Create(s.path, []byte(hex.EncodeToString(random)+"\n")); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("cannot create %s, which secrets are sealed with: %w; let this user write there", s.path, err)
	}
	if err = s.load(); errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s, which secrets are sealed with, is a link to a file that does not exist; remove the link to have the file made", s.path)
	}
	return s.aead, err
}

// load's error is fs.ErrNotExist itself when there is no file.
func (s *Sealer) load() error {
	content, err := wholefile.Read(s.path, "the sealing key", maxFile, 0o077)
	if err != nil && !errors.Is(err, wholefile.ErrForeign) {
		return err
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(content)))
	if err != nil || len(key) != 32 {
		return fmt.Errorf("%s, which secrets are sealed with, is damaged; restore it from a backup, or move it away, revoke all keys and add others", s.path)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return err
	}
	s.aead, err = cipher.NewGCM(block)
	return err
}
