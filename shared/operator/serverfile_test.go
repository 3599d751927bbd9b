package operator

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheServerFileIsForItsOwnerAloneAndReadsBack(t *testing.T) {
	dir := t.TempDir()
	want := ServerFile{URL: "http://127.0.0.1:4575", Token: "s3cret", PID: 42, Region: "us-east-1", Account: "000000000000"}
	for range 2 { // the second replaces the first
		if err := WriteServerFile(dir, want); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(filepath.Join(dir, ServerFileName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v and error %v", info.Mode(), err)
	}
	got, err := ReadServerFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left %d files behind", len(left))
	}
}

func TestADamagedServerFileIsToldWithoutItsContent(t *testing.T) {
	for _, content := range []string{"", "{", `{"token":"s3cret"}`, `{"url":"http://h","tok":"s3cret"}`, `{"url":"h","token":"s3cret"}`, "\x00"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, ServerFileName), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadServerFile(dir)
		if err == nil || !strings.Contains(err.Error(), "is damaged: restart the server") || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q gave %v", content, err)
		}
	}
}

func TestWritingWhereNothingCanBeWrittenFails(t *testing.T) {
	if err := WriteServerFile(filepath.Join(t.TempDir(), "missing"), ServerFile{}); err == nil {
		t.Error("no error")
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ServerFileName, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteServerFile(dir, ServerFile{}); err == nil {
		t.Error("no error where a directory stands in the file's place")
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left %d files, want the directory alone", len(left))
	}
}

func TestACleanStopRemovesOnlyItsOwnFile(t *testing.T) {
	dir := t.TempDir()
	old, successor := ServerFile{URL: "http://h:1", Token: "old"}, ServerFile{URL: "http://h:2", Token: "new"}
	if err := RemoveServerFile(dir, old); err != nil {
		t.Errorf("removing nothing: %v", err)
	}
	if err := WriteServerFile(dir, successor); err != nil {
		t.Fatal(err)
	}
	if err := RemoveServerFile(dir, old); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadServerFile(dir); err != nil || got != successor {
		t.Errorf("the successor's file is gone: %+v, %v", got, err)
	}
	if err := RemoveServerFile(dir, successor); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadServerFile(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
