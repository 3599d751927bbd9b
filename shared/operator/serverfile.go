package operator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"postino/shared/wholefile"
)

// ServerFileName is the file in the data directory that tells the command line
// how to reach the server that runs on it.
const ServerFileName = "server.json"

// ServerFile is what a running server leaves in its data directory. It holds a
// secret: whoever can read it can operate the server.
type ServerFile struct {
	// URL is where the server is reached from this host, without a path.
	URL     string `json:"url"`
	Token   string `json:"token"`
	PID     int    `json:"pid"`
	Region  string `json:"region"`
	Account string `json:"account"`
}

// WriteServerFile writes dir/server.json for its owner's eyes only, whole or not
// at all.
func WriteServerFile(dir string, s ServerFile) error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := wholefile.Replace(filepath.Join(dir, ServerFileName), append(b, '\n')); err != nil {
		return fmt.Errorf("cannot write %s in the data directory: %w", ServerFileName, err)
	}
	return nil
}

// ReadServerFile reads dir/server.json. A missing file is an error that is
// fs.ErrNotExist; no error quotes the file.
func ReadServerFile(dir string) (ServerFile, error) {
	name := filepath.Join(dir, ServerFileName)
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrPermission) {
		return ServerFile{}, fmt.Errorf("%s cannot be read: run this as the user the server runs as", name)
	}
	if err != nil {
		return ServerFile{}, err
	}
	var s ServerFile
	if json.Unmarshal(b, &s) == nil {
		if u, err := url.Parse(s.URL); err == nil && u.Host != "" && s.Token != "" {
			return s, nil
		}
	}
	return ServerFile{}, fmt.Errorf("%s is damaged: restart the server, which writes it anew", name)
}

// RemoveServerFile removes dir/server.json at a clean stop, if it is still the
// one with s's token: a server started since may have written its own.
func RemoveServerFile(dir string, s ServerFile) error {
	now, err := ReadServerFile(dir)
	if err != nil || now.Token != s.Token {
		return nil //nolint:nilerr // a file that is gone or unreadable is not ours to remove
	}
	return os.Remove(filepath.Join(dir, ServerFileName))
}
