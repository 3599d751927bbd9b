// Package wholefile keeps files that hold secrets: they appear whole or not at all
// and for their owner's eyes only.
package wholefile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Create puts content at path, in one step and durably, with mode 0600, or fails
// with fs.ErrExist when something is there. The folder must exist.
//
// On a file system without links a file that another process puts there in the same
// instant is replaced.
func Create(path string, content []byte) error {
	return put(path, content, func(temp string) error {
		err := os.Link(temp, path) // which, unlike a rename, replaces nothing
		if !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrPermission) {
			return err
		}
		return renameToNew(temp, path)
	})
}

// renameToNew is Create's way where there are no links.
func renameToNew(temp, path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return cmp.Or(err, error(&fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}))
	}
	return os.Rename(temp, path)
}

// Replace puts content at path, in one step and durably, with mode 0600, in the
// place of what is there. The folder must exist.
func Replace(path string, content []byte) error {
	return put(path, content, func(temp string) error { return os.Rename(temp, path) })
}

// put writes content beside path and has it moved there.
func put(path string, content []byte, move func(temp string) error) error {
	dir := filepath.Dir(path)
	temp, err := os.CreateTemp(dir, ".whole-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(content)
	if err == nil {
		err = temp.Sync()
	}
	if closeErr := temp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = move(temp.Name())
	}
	if err != nil {
		return err
	}
	return syncDir(dir)
}

// Read gives what is at path, of at most size bytes. what names the file in errors,
// which are one sentence that says what to do; a mode with any of the bits closed is
// refused. The error is fs.ErrNotExist itself when nothing is there.
func Read(path, what string, size int64, closed fs.FileMode) ([]byte, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, unreadable(path, what, err)
	}
	if info.Size() > size || !info.Mode().IsRegular() {
		return nil, ErrForeign
	}
	if mode := info.Mode().Perm(); mode&closed != 0 {
		return nil, fmt.Errorf("%s %s is open to other users of this machine (mode %04o); run: chmod 600 %[2]s", what, path, mode)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, unreadable(path, what, err)
	}
	return content, nil
}

// ErrForeign is Read's answer for what is no file, or too large to be the one meant.
var ErrForeign = errors.New("it is no file, or far too large")

func unreadable(path, what string, err error) error {
	return fmt.Errorf("cannot read %s %s: %w; let this user read it", what, path, err)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if closeErr := d.Close(); err == nil {
		err = closeErr
	}
	return err
}
