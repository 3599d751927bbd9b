package wholefile_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"postino/shared/wholefile"
)

func TestAFileAppearsOnceWholeAndForItsOwnerAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "secret")
	var made atomic.Int32
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			switch err := wholefile.Create(path, fmt.Appendf(nil, "content %d", n)); {
			case err == nil:
				made.Add(1)
			case !errors.Is(err, fs.ErrExist):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	b, err := os.ReadFile(path)
	if err != nil || len(b) != len("content 0") || made.Load() != 1 {
		t.Errorf("%d made the file, which holds %q (%v)", made.Load(), b, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
	if err := wholefile.Create(filepath.Join(dir, "nowhere", "secret"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without its folder: %v", err)
	}
}

func TestAFileIsReplacedWholeAndForItsOwnerAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, content := range []string{"first, and longer", "second"} {
		if err := wholefile.Replace(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if b, err := wholefile.Read(path, "the file", 100, 0o077); err != nil || string(b) != content {
			t.Errorf("read %q, %v", b, err)
		}
		if err := os.Chmod(path, 0o644); err != nil { // which must not stay
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

func TestOnlyAFileThatCanBeTrustedIsRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if _, err := wholefile.Read(path, "the file", 4, 0o077); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing there: %v", err)
	}
	if err := wholefile.Create(path, []byte("12345")); err != nil {
		t.Fatal(err)
	}
	for where, size := range map[string]int64{path: 4, dir: 1 << 20} {
		if _, err := wholefile.Read(where, "the file", size, 0o007); !errors.Is(err, wholefile.ErrForeign) {
			t.Errorf("%s of %d bytes: %v", where, size, err)
		}
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := wholefile.Read(path, "the file", 5, 0o007); err != nil {
		t.Errorf("a group may read it: %v", err)
	}
	if _, err := wholefile.Read(path, "the file", 5, 0o077); err == nil || err.Error() != "the file "+path+" is open to other users of this machine (mode 0640); run: chmod 600 "+path {
		t.Errorf("a group may not: %v", err)
	}
}
