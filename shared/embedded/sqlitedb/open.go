// Package sqlitedb opens the embedded server's one database file and commits
// to it in groups: whatever was submitted while the last commit was on its way
// to the disk shares the next one, so that durability costs one flush per
// group and not one per message.
//
// The file is in WAL mode with synchronous=FULL: what Do has answered nil for
// survives a killed process and a lost power supply (SQLite documentation,
// PRAGMA synchronous).
package sqlitedb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"modernc.org/sqlite"

	"postino/shared/push"
)

// Options say where the database is.
type Options struct {
	// Dir is the data directory. It is made, for this user only, when missing.
	Dir string
	// Now stamps schema versions; nil means time.Now.
	Now func() time.Time
	// MaxPages bounds the file to so many pages of 4 KiB, 0 for no bound. A
	// database at its bound behaves like one on a full disk.
	MaxPages int
}

// checkedSize is up to which size a file is checked as a whole when it is
// opened (some 60 ms); larger ones are checked page by page as they are used.
const checkedSize = 64 << 20

// pageSize is SQLite's default. Larger pages made single-message commits
// dearer and grouped ones no cheaper.
const pageSize = 4096

// DB is the open database. Its methods may be called from any goroutine.
type DB struct {
	dir, path string
	lock      *os.File
	// readers are the idle ones of made read connections.
	readers chan *conn
	made    int
	writer  *writer
	mover   *checkpointer
	closing sync.Once
	closed  error
}

// Open opens DIR/postino.db, brings its schema forward and starts the writer.
// Its error is a *push.Error with one sentence for the operator: the directory
// cannot be written to, another server uses it, the file is damaged or newer
// than this build, the disk is full.
func Open(o Options) (*DB, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	db := &DB{dir: o.Dir, path: filepath.Join(o.Dir, "postino.db"), readers: make(chan *conn, 2)}
	if err := db.open(o); err != nil {
		_ = db.release() // why it did not open is what matters
		err = db.explain(err)
		if _, ok := errors.AsType[*push.Error](err); !ok {
			err = db.unusable(err)
		}
		return nil, err
	}
	return db, nil
}

func (db *DB) open(o Options) error {
	if err := db.acquire(); err != nil {
		return err
	}
	// fdatasync flushes what a commit needs and spares the file system's
	// journal the time stamps. Where it is not to be had fsync does the same.
	_, _ = sqlite.Fdatasync(true)
	w, err := connect(db.path, fmt.Sprintf("page_size(%d)", pageSize), "journal_mode(WAL)", "synchronous(FULL)", "wal_autocheckpoint(0)", "cache_size(-4096)")
	if err != nil {
		return err
	}
	db.writer = newWriter(w, db.explain)
	if o.MaxPages > 0 {
		if err := w.query(fmt.Sprintf("PRAGMA max_page_count(%d)", o.MaxPages), func(Row) error { return nil }); err != nil {
			return err
		}
	}
	if err := db.check(w); err != nil {
		return err
	}
	if err := db.migrate(w, migrations, o.Now()); err != nil {
		return err
	}
	// A trial, so that a full disk is found now and not by the first message.
	if _, err := w.exec(`INSERT INTO meta VALUES ('opened', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, o.Now().UnixMilli()); err != nil {
		return err
	}
	for range cap(db.readers) {
		r, err := connect(db.path, "query_only(1)", "cache_size(-2048)")
		if err != nil {
			return err
		}
		db.readers <- r
		db.made++
	}
	if db.mover, err = startCheckpointer(db.path, db.writer); err != nil {
		return err
	}
	go db.writer.run()
	return nil
}

// acquire makes the directory and takes the lock that keeps a second server
// out. The kernel drops it with the process, however that ends.
func (db *DB) acquire() error {
	if err := makeDir(db.dir); err != nil {
		return db.unusable(err)
	}
	f, err := os.OpenFile(filepath.Join(db.dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return db.unusable(err)
	}
	if err := flock(f); err != nil {
		holder, _ := io.ReadAll(io.LimitReader(f, 32))
		_ = f.Close()
		by := ""
		if pid, err := strconv.Atoi(strings.TrimSpace(string(holder))); err == nil {
			by = fmt.Sprintf(" (process %d)", pid)
		}
		return &push.Error{Code: push.CodeUnavailable, Cause: err, Text: fmt.Sprintf(
			"Another Postino server%s uses the data directory %s. Stop it, or choose another directory.", by, db.dir)}
	}
	db.lock = f
	if err := f.Truncate(0); err != nil {
		return db.unusable(err)
	}
	if _, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		return db.unusable(err)
	}
	// The file holds tokens and credentials: SQLite gives its side files the
	// mode of the main one.
	if st, err := os.Stat(db.path); err != nil || st.Size() == 0 {
		if wal, err := os.Stat(db.path + "-wal"); err == nil && wal.Size() > 0 {
			return db.damaged(errors.New("the main file is missing or empty beside a write-ahead log"))
		}
	}
	main, err := os.OpenFile(db.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return db.unusable(err)
	}
	return main.Close()
}

// makeDir makes the directory, where there is none, and keeps git from taking up
// its keys and messages, wherever it lies. A directory of somebody else's making may
// hold more than a server's data, so that nothing is added to it.
func makeDir(dir string) error {
	_, err := os.Stat(dir)
	if err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o600)
}

// flock waits a second for the lock: a server that is just ending, or a child
// that it was starting, may still hold it.
func flock(f *os.File) (err error) {
	for range 20 {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

// check reads a file of moderate size through before anything is built on it.
func (db *DB) check(c *conn) error {
	st, err := os.Stat(db.path)
	if err != nil || st.Size() > checkedSize {
		return err
	}
	finding := "ok"
	err = c.query("PRAGMA quick_check(1)", func(r Row) error {
		finding = r.Text(0)
		return nil
	})
	if err == nil && finding != "ok" {
		err = db.damaged(errors.New(finding))
	}
	return err
}

// Close commits what was submitted lazily, moves the log into the main file and
// lets the directory go. Calls that come later answer ErrClosed.
func (db *DB) Close() error {
	db.writer.stop()
	db.closing.Do(func() { db.closed = db.explain(db.release()) })
	return db.closed
}

// release frees whatever open got hold of.
func (db *DB) release() error {
	var errs []error
	for range db.made { // waits for readers under way
		errs = append(errs, (<-db.readers).close())
	}
	if db.mover != nil {
		errs = append(errs, db.mover.close())
	}
	if db.writer != nil {
		errs = append(errs, db.writer.conn.close()) // the last connection checkpoints
	}
	if db.lock != nil {
		errs = append(errs, db.lock.Close())
	}
	return errors.Join(errs...)
}

// Read runs fn on a connection that sees every commit answered so far and can
// change nothing. It waits for a free one.
func (db *DB) Read(ctx context.Context, fn func(*Tx) error) error {
	select {
	case c := <-db.readers:
		defer func() { db.readers <- c }()
		return db.explain(guard(fn, &Tx{conn: c}))
	case <-db.writer.stopped:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}
