package sqlitedb

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTheLogIsMovedIntoTheMainFileBesideTheCommits(t *testing.T) {
	db, err := Open(Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	before := size(t, db.path)
	write(t, db, 2<<20)
	deadline := time.After(30 * time.Second)
	for look := time.NewTicker(50 * time.Millisecond); ; {
		select {
		case <-look.C:
		case <-deadline:
			t.Fatalf("after 30 s the main file still has %d bytes, as before the commit", size(t, db.path))
		}
		if size(t, db.path) >= before+2<<20 {
			return
		}
	}
}

func TestALogThatHasGrownTooLongBeginsAnew(t *testing.T) {
	db, err := Open(Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	write(t, db, 4<<20)
	grown := size(t, db.path+"-wal")
	db.writer.restart.Store(true) // as the checkpointer asks
	for range 4 {
		write(t, db, 512<<10)
	}
	if now := size(t, db.path+"-wal"); now != grown {
		t.Errorf("the log went on from %d to %d bytes instead of beginning anew", grown, now)
	}
}

func write(t *testing.T, db *DB, bytes int) {
	t.Helper()
	err := db.Do(t.Context(), func(tx *Tx) error {
		_, err := tx.Exec(`INSERT INTO subscription VALUES (?, ?) ON CONFLICT (arn) DO UPDATE SET doc = excluded.doc`, "a", strings.Repeat("x", bytes))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func size(t *testing.T, name string) int64 {
	t.Helper()
	st, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return st.Size()
}

func TestACallerThatIsAloneIsNotMadeToWaitForOthers(t *testing.T) {
	w := newWriter(nil, nil)
	w.served = 100
	began := time.Now()
	w.gather() // nobody waits
	w.served = 1
	w.callers.Store(1)
	w.gather()
	if d := time.Since(began); d >= gatherMost {
		t.Errorf("gathering took %v", d)
	}
}

func TestAnEmptyMainFileBesideALogIsDamageAndNotANewDatabase(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"postino.db": "", "postino.db-wal": "frames"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	db, err := Open(Options{Dir: dir})
	if err == nil {
		db.Close()
		t.Fatal("it starts as if nothing had ever been accepted")
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "postino.db-wal")); string(b) != "frames" {
		t.Error("the log was touched")
	}
}
