package telemetry

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
)

// rotation is a file that is renamed and begun anew when it is full.
type rotation struct {
	path    string
	maxSize int64
	keep    int

	f    io.WriteCloser
	size int64
	// torn: the file does not end with a whole line.
	torn bool
}

// open opens the current file for appending.
func (r *rotation) open() error {
	f, err := os.OpenFile(r.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return err
	}
	r.f, r.size, r.torn = f, info.Size(), false
	if r.size > 0 {
		last := make([]byte, 1)
		_, err := f.ReadAt(last, r.size-1)
		r.torn = err != nil || last[0] != '\n'
	}
	return nil
}

// write appends whole lines and says how many bytes of them are in the file. An
// error with all bytes written is one of rotation.
func (r *rotation) write(lines []byte) (written int, err error) {
	var rotating error
	if r.size > 0 && r.size+int64(len(lines)) > r.maxSize {
		rotating = r.rotate()
	}
	if r.torn { // what broke off gets a line of its own, which no reader can read
		if _, err := r.f.Write([]byte{'\n'}); err != nil {
			return 0, err
		}
		r.size++
		r.torn = false
	}
	written, err = r.f.Write(lines)
	r.size += int64(written)
	if err != nil {
		r.torn = written > 0
		return written, err
	}
	return written, rotating
}

// rotate begins a new file. When that fails the old one goes on.
func (r *rotation) rotate() error {
	for n := r.keep; n > 0; n-- {
		if err := os.Rename(r.older(n-1), r.older(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("rotate: %w", err)
		}
	}
	old := r.f
	if err := r.open(); err != nil {
		return fmt.Errorf("rotate: %w", err)
	}
	return old.Close()
}

// older is the name of the nth older file, the current one for 0.
func (r *rotation) older(n int) string {
	if n == 0 {
		return r.path
	}
	return r.path + "." + strconv.Itoa(n)
}

func (r *rotation) close() error { return r.f.Close() }
