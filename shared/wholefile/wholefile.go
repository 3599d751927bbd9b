// Package wholefile makes files that hold secrets: they appear whole or not at
// all, for their owner's eyes only, and never in the place of another.
package wholefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Create puts content at path, in one step and durably, with mode 0600, or fails
// with fs.ErrExist when something is there. The folder must exist.
func Create(path string, content []byte) error {
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
	if err != nil {
		return err
	}
	// A link, unlike a rename, does not replace a file that another process has
	// just put there. Where the file system has no links a rename must do.
	err = os.Link(temp.Name(), path)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return err
	}
	return syncDir(dir)
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
