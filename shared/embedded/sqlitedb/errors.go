package sqlitedb

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"postino/shared/push"
)

// ErrClosed answers calls made after Close.
var ErrClosed = errors.New("database is closed")

// primary is err's primary SQLite result code, 0 when it has none.
func primary(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// IsFull reports whether err came of a full disk or a full database.
func IsFull(err error) bool {
	return primary(err) == sqlite3.SQLITE_FULL || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// explain turns what SQLite or the file system said into one sentence for the
// operator, and what to do about it. Errors that came of neither pass through.
func (db *DB) explain(err error) error {
	fault := func(code push.Code, format string, args ...any) error {
		return &push.Error{Code: code, Text: fmt.Sprintf(format, args...), Cause: err}
	}
	switch code := primary(err); {
	case IsFull(err):
		return fault(push.CodeUnavailable, "The disk that holds %s is full. Free some space; nothing that was accepted is lost.", db.dir)
	case code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB:
		return db.damaged(err)
	case code == sqlite3.SQLITE_READONLY || code == sqlite3.SQLITE_CANTOPEN || code == sqlite3.SQLITE_PERM:
		return fault(push.CodeUnavailable, "The database %s cannot be written to. Make it and its directory writable for this user, or choose another directory.", db.path)
	case code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED:
		return fault(push.CodeUnavailable, "The database %s is locked by another program. Close that program.", db.path)
	case code == sqlite3.SQLITE_IOERR:
		return fault(push.CodeUnavailable, "The disk that holds %s reports an error. Check the disk.", db.dir)
	case code != 0:
		return fault(push.CodeInternalError, "The database %s cannot be used.", db.path)
	default:
		return err
	}
}

func (db *DB) damaged(cause error) error {
	return &push.Error{Code: push.CodeInternalError, Cause: cause, Text: fmt.Sprintf(
		"The database %s is damaged. Restore it from a backup, or move it away to start with an empty one.", db.path)}
}

// unusable is explain for the directory itself.
func (db *DB) unusable(err error) error {
	if IsFull(err) {
		return db.explain(err)
	}
	reason := err
	if e, ok := errors.AsType[*os.PathError](err); ok {
		reason = e.Err
	}
	return &push.Error{Code: push.CodeUnavailable, Cause: err, Text: fmt.Sprintf(
		"The data directory %s cannot be used: %v. Make it a directory this user can write to, or choose another one.", db.dir, reason)}
}
