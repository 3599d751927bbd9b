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
