package wholefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestWithoutLinksWhatIsThereStaysToo(t *testing.T) {
	dir := t.TempDir()
	temp, path, dangling := filepath.Join(dir, "temp"), filepath.Join(dir, "secret"), filepath.Join(dir, "dangling")
	for name, content := range map[string]string{temp: "new", path: "old"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "gone"), dangling); err != nil {
		t.Fatal(err)
	}
	for _, there := range []string{path, dangling, dir} {
		if err := renameToNew(temp, there); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", there, err)
		}
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "old" {
		t.Errorf("it holds %q, %v", b, err)
	}
	if err := renameToNew(temp, filepath.Join(dir, "fresh")); err != nil {
		t.Error(err)
	}
}
