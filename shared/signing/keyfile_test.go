package signing_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"postino/shared/signing"
)

func TestAKeyIsMadeOnceAndThenKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "signing.pem")
	first, err := signing.LoadOrCreate(path, now, links)
	if err != nil {
		t.Fatal(err)
	}
	second, err := signing.LoadOrCreate(path, now.AddDate(5, 0, 0), links)
	if err != nil {
		t.Fatal(err)
	}
	if first.CertPath() != second.CertPath() {
		t.Errorf("path was %s and is %s after a restart", first.CertPath(), second.CertPath())
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o600 {
		t.Errorf("mode is %v", info.Mode())
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("folder holds %v, %v; want the key alone", entries, err)
	}
}

func TestTheCertificateServesForTwentyYears(t *testing.T) {
	block, _ := pem.Decode(signer().CertPEM())
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if !cert.NotBefore.Before(now) || cert.NotAfter.Before(now.AddDate(20, 0, -1)) {
		t.Errorf("valid from %v to %v", cert.NotBefore, cert.NotAfter)
	}
}

func TestProcessesThatStartAtOnceShareOneKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "signing.pem")
	const processes = 4
	paths, errs := make([]string, processes), make([]error, processes)
	var wg sync.WaitGroup
	for i := range processes {
		wg.Go(func() {
			s, err := signing.LoadOrCreate(path, now, links)
			if errs[i] = err; err == nil {
				paths[i] = s.CertPath()
			}
		})
	}
	wg.Wait()
	for i := range processes {
		if errs[i] != nil || paths[i] != paths[0] {
			t.Errorf("process %d has %q, %v; process 0 has %q", i, paths[i], errs[i], paths[0])
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("folder holds %v, %v; want the key alone", entries, err)
	}
}

func TestAKeyInTheOlderFormIsRead(t *testing.T) {
	key, certPEM := pair(t, 2048)
	path := filepath.Join(t.TempDir(), "signing.pem")
	content := append(certPEM, pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})...)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := signing.LoadOrCreate(path, now, links); err != nil {
		t.Error(err)
	}
}

func TestAnUnusableKeyFileIsLeftAloneAndTheErrorSaysWhatToDo(t *testing.T) {
	key, certPEM := pair(t, 2048)
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	_, otherPEM := pair(t, 2048)
	elliptical, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ecDER, err := x509.MarshalPKCS8PrivateKey(elliptical)
	if err != nil {
		t.Fatal(err)
	}
	whole := string(keyPEM) + string(certPEM)
	for name, c := range map[string]struct {
		content string
		mode    os.FileMode
		want    string
	}{
		"empty":                   {"", 0o600, "no private key in PEM form"},
		"not PEM":                 {"hello", 0o600, "no private key in PEM form"},
		"cut short":               {whole[:len(whole)/3], 0o600, "no private key in PEM form"},
		"key alone":               {string(keyPEM), 0o600, "no certificate in PEM form"},
		"certificate alone":       {string(certPEM), 0o600, "no private key in PEM form"},
		"another's certificate":   {string(keyPEM) + string(otherPEM), 0o600, "certificate does not belong to the key"},
		"broken key":              {string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: []byte("x")})), 0o600, "private key cannot be read"},
		"broken PKCS #8":          {string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")})), 0o600, "private key cannot be read"},
		"elliptic curve":          {string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: ecDER})), 0o600, "private key is not RSA"},
		"far too large":           {strings.Repeat("x", 1<<20+1), 0o600, "is no PEM file"},
		"open to everyone":        {whole, 0o644, "run: chmod 600"},
		"writable for everyone":   {whole, 0o602, "run: chmod 600"},
		"usable, for this test":   {whole, 0o600, ""},
		"a group may read it too": {whole, 0o640, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "signing.pem")
			if err := os.WriteFile(path, []byte(c.content), c.mode); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, c.mode); err != nil { // whatever the umask
				t.Fatal(err)
			}
			_, err := signing.LoadOrCreate(path, now, links)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line with %q and the path", err, c.want)
			}
			if after, err := os.ReadFile(path); err != nil || string(after) != c.content {
				t.Errorf("file was changed: %v", err)
			}
		})
	}
}

func TestAPlaceWhereNoKeyCanBeMadeIsNamed(t *testing.T) {
	dir := t.TempDir()
	dangling := filepath.Join(dir, "link.pem")
	if err := os.Symlink(filepath.Join(dir, "gone"), dangling); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ path, want string }{
		"no folder":    {filepath.Join(dir, "none", "signing.pem"), "make its folder"},
		"a folder":     {dir, "signing key " + dir},
		"broken link":  {dangling, "remove the link"},
		"under a file": {filepath.Join(os.Args[0], "signing.pem"), "cannot read the signing key"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := signing.LoadOrCreate(c.path, time.Time{}, links); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.path) {
				t.Errorf("error %v, want one with %q and %s", err, c.want, c.path)
			}
		})
	}
}
