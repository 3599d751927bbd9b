package keyseal_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"postino/shared/access"
	"postino/shared/embedded/keyseal"
	"postino/shared/push"
)

var _ access.Sealer = (*keyseal.Sealer)(nil)

func unused(context.Context) (bool, error) { return false, nil }

func open(t *testing.T, path string) *keyseal.Sealer {
	t.Helper()
	s, err := keyseal.Open(path, unused)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func seal(t *testing.T, s *keyseal.Sealer, id, secret string) []byte {
	t.Helper()
	b, err := s.Seal(t.Context(), id, secret)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestWhatIsSealedOpensForItsKeyAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.secret")
	s := open(t, path)
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file is made before it is needed: %v", err)
	}
	a, again := seal(t, s, "KEY-A", "the secret"), seal(t, s, "KEY-A", "the secret")
	if bytes.Contains(a, []byte("secret")) || bytes.Equal(a, again) {
		t.Error("a seal shows what is in it")
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v, %v", info.Mode(), err)
	}
	for _, reader := range []*keyseal.Sealer{s, open(t, path)} { // this process and the next
		if secret, err := reader.Open(t.Context(), "KEY-A", a); err != nil || secret != "the secret" {
			t.Errorf("%q, %v", secret, err)
		}
	}
	wrong := bytes.Clone(a)
	wrong[len(wrong)-1] ^= 1
	for name, c := range map[string]struct {
		id     string
		sealed []byte
	}{"another key": {"KEY-B", a}, "an altered seal": {"KEY-A", wrong}, "a seal cut short": {"KEY-A", a[:11]}, "no seal": {"KEY-A", nil}} {
		if secret, err := s.Open(t.Context(), c.id, c.sealed); err == nil || secret != "" || push.CodeOf(err) != push.CodeInternalError || !strings.Contains(err.Error(), "restore that file") {
			t.Errorf("%s: %q, %v", name, secret, err)
		}
	}
}

func TestSealersAtOnceEndUpWithOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.secret")
	var wg sync.WaitGroup
	sealed := make([][]byte, 8)
	for n := range sealed {
		wg.Go(func() { sealed[n], _ = open(t, path).Seal(t.Context(), "KEY", "s") })
	}
	wg.Wait()
	for n, b := range sealed {
		if secret, err := open(t, path).Open(t.Context(), "KEY", b); err != nil || secret != "s" {
			t.Errorf("seal %d: %v", n, err)
		}
	}
}

func TestAFileThatCannotBeTrustedIsRefused(t *testing.T) {
	good := filepath.Join(t.TempDir(), "keys.secret")
	sealed := seal(t, open(t, good), "KEY", "s")
	content, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		content string
		mode    os.FileMode
		says    string
	}{
		"readable by the group": {string(content), 0o640, "chmod 600 "},
		"readable by all":       {string(content), 0o604, "chmod 600 "},
		"empty":                 {"", 0o600, "is damaged; restore it"},
		"cut short":             {string(content[:20]), 0o600, "is damaged; restore it"},
		"something else":        {strings.Repeat("z", 64), 0o600, "is damaged; restore it"},
	} {
		path := filepath.Join(t.TempDir(), "keys.secret")
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, c.mode); err != nil { // whatever the umask
			t.Fatal(err)
		}
		if _, err := keyseal.Open(path, unused); err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	missing := open(t, filepath.Join(t.TempDir(), "keys.secret"))
	if _, err := missing.Open(t.Context(), "KEY", sealed); err == nil || !strings.Contains(err.Error(), "is gone: restore it from a backup") {
		t.Errorf("gone: %v", err)
	}
	nowhere := open(t, filepath.Join(t.TempDir(), "no such folder", "keys.secret"))
	if _, err := nowhere.Seal(t.Context(), "KEY", "s"); err == nil || !strings.Contains(err.Error(), "let this user write there") {
		t.Errorf("no folder: %v", err)
	}
}

func TestAFileThatIsGoneIsNotReplacedWhileThereAreKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.secret")
	keys, fault := false, error(nil)
	used := func(context.Context) (bool, error) { return keys, fault }
	s, err := keyseal.Open(path, used)
	if err != nil {
		t.Fatal(err)
	}
	seal(t, s, "KEY", "s")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	later, err := keyseal.Open(path, used)
	if err != nil {
		t.Fatal(err)
	}
	keys = true
	for name, s := range map[string]*keyseal.Sealer{"the process that had read it": s, "another": later} {
		_, err := s.Seal(t.Context(), "KEY", "s")
		if failure, ok := errors.AsType[*push.Error](err); !ok || failure.Text != "keys.secret, which secrets are sealed with, is gone: restore it from a backup, or revoke all keys and add others" {
			t.Errorf("%s: %v", name, err)
		}
		fault = errors.New("the store is down")
		if _, err := s.Seal(t.Context(), "KEY", "s"); !errors.Is(err, fault) {
			t.Errorf("%s: %v", name, err)
		}
		fault = nil
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s made the file: %v", name, err)
		}
	}
	keys = false
	for _, s := range []*keyseal.Sealer{s, later} {
		if secret, err := open(t, path).Open(t.Context(), "KEY", seal(t, s, "KEY", "anew")); err != nil || secret != "anew" {
			t.Errorf("after the last key was revoked: %q, %v", secret, err)
		}
	}
}
