package sqlitedb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"postino/shared/push"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, o Options) *DB {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	db, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// set stores a number under a name, count reads how many there are.
func set(name string, value int) func(*Tx) error {
	return func(tx *Tx) error {
		_, err := tx.Exec(`INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, value)
		return err
	}
}

func names(t *testing.T, db *DB) (found []string) {
	t.Helper()
	err := db.Read(t.Context(), func(tx *Tx) error {
		return tx.Query(`SELECT name FROM meta WHERE name <> 'opened' ORDER BY name`, func(r Row) error {
			found = append(found, r.Text(0))
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// sentence checks that err is one line for the operator that says what it must.
func sentence(t *testing.T, err error, parts ...string) {
	t.Helper()
	e, ok := errors.AsType[*push.Error](err)
	if !ok {
		t.Fatalf("error is %T %v, want a *push.Error", err, err)
	}
	for _, p := range parts {
		if !strings.Contains(e.Text, p) {
			t.Errorf("the text lacks %q: %s", p, e.Text)
		}
	}
	if strings.ContainsAny(e.Text, "\n\r") || strings.Contains(e.Text, "goroutine") || !strings.HasSuffix(e.Text, ".") {
		t.Errorf("not a plain sentence: %q", e.Text)
	}
}

func TestACommitSurvivesReopening(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "on the way?#%")
	db, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Do(t.Context(), set("a", 1)); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "postino.db-wal")); !os.IsNotExist(err) {
		t.Errorf("the log was not moved into the file at closing: %v", err)
	}
	db = open(t, Options{Dir: dir})
	if got := names(t, db); len(got) != 1 {
		t.Errorf("found %v", got)
	}
}

// A kill loses nothing either way; a lost power supply does without this.
func TestCommitsAreFlushed(t *testing.T) {
	db := open(t, Options{})
	got := map[string]string{}
	err := db.Do(t.Context(), func(tx *Tx) error {
		for _, pragma := range []string{"synchronous", "journal_mode"} {
			if err := tx.Query("PRAGMA "+pragma, func(r Row) error { got[pragma] = fmt.Sprint(r[0]); return nil }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || got["synchronous"] != "2" || got["journal_mode"] != "wal" {
		t.Errorf("settings are %v, %v; want synchronous 2 (FULL) and wal", got, err)
	}
}

func TestFilesAreForTheirUserOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	db := open(t, Options{Dir: dir})
	if err := db.Do(t.Context(), set("a", 1)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "postino.db", "postino.db-wal", "postino.db-shm", "lock"} {
		st, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if st.Mode().Perm()&0o077 != 0 {
			t.Errorf("%q has mode %v", name, st.Mode())
		}
	}
}

func TestASecondServerIsKeptOut(t *testing.T) {
	dir := t.TempDir()
	db, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(Options{Dir: dir})
	sentence(t, err, "Another Postino server (process ", dir, "Stop it")
	if err := db.Do(t.Context(), set("a", 1)); err != nil {
		t.Errorf("the first one was disturbed: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, Options{Dir: dir}) // the lock has gone with the first
}

func TestAnUnusableDirectoryIsSaid(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "sub"), "/proc/postino"} {
		_, err := Open(Options{Dir: dir})
		sentence(t, err, "The data directory "+dir+" cannot be used", "choose another")
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "postino.db"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Open(Options{Dir: dir})
	sentence(t, err, "cannot be used: is a directory")
}

func TestADamagedFileIsSaid(t *testing.T) {
	healthy := t.TempDir()
	db, err := Open(Options{Dir: healthy})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		if err := db.Do(t.Context(), set(strings.Repeat("x", 500)+string(rune('a'+i)), i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(healthy, "postino.db"))
	if err != nil {
		t.Fatal(err)
	}
	damage := map[string]func([]byte) []byte{
		"not a database":     func(b []byte) []byte { return []byte(strings.Repeat("This is not a database. ", 400)) },
		"a destroyed header": func(b []byte) []byte { copy(b, make([]byte, 64)); return b },
		"a destroyed page": func(b []byte) []byte {
			copy(b[len(b)-2*pageSize:], strings.Repeat("\xff", pageSize))
			return b
		},
		"a file cut short":   func(b []byte) []byte { return b[:len(b)/2] },
		"destroyed at large": func(b []byte) []byte { copy(b[200:], strings.Repeat("\xa5", len(b)-200)); return b },
	}
	for name, do := range damage {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "postino.db"), do(append([]byte(nil), whole...)), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Open(Options{Dir: dir})
			sentence(t, err, filepath.Join(dir, "postino.db")+" is damaged", "Restore it from a backup")
		})
	}
}

func TestAFileOfANewerSchemaIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	db, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Do(t.Context(), func(tx *Tx) error {
		_, err := tx.Exec(`INSERT INTO schema_version VALUES (99, 0)`)
		return err
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	_, err = Open(Options{Dir: dir})
	sentence(t, err, "has schema version 99", "newer one")
}

func TestAFileOfEachOlderSchemaIsBroughtForwardWithWhatItHolds(t *testing.T) {
	for n := 1; n < len(migrations); n++ {
		dir := t.TempDir()
		c, err := connect(filepath.Join(dir, "postino.db"), "journal_mode(WAL)")
		if err != nil {
			t.Fatal(err)
		}
		if err := (&DB{}).migrate(c, migrations[:n], epoch); err != nil {
			t.Fatal(err)
		}
		_, err = c.exec(`INSERT INTO topic VALUES ('kept', 7, '{}')`)
		if err := errors.Join(err, c.close()); err != nil {
			t.Fatal(err)
		}
		db, err := Open(Options{Dir: dir})
		if err != nil {
			t.Fatalf("version %d: %v", n, err)
		}
		var version, kept int64
		err = db.Read(t.Context(), func(tx *Tx) error {
			err := tx.Query(`SELECT max(version) FROM schema_version`, func(r Row) error { version = r.Int(0); return nil })
			return errors.Join(err, tx.Query(`SELECT version FROM topic WHERE arn = 'kept'`, func(r Row) error { kept = r.Int(0); return nil }))
		})
		if err := errors.Join(err, db.Close()); err != nil || version != int64(len(migrations)) || kept != 7 {
			t.Errorf("of version %d became %d, the topic's version is %d (%v)", n, version, kept, err)
		}
	}
}

func TestMigrationsGoForwardOnceAndStopWhereOneFails(t *testing.T) {
	c, err := connect(filepath.Join(t.TempDir(), "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	db := &DB{path: "x.db"}
	steps := []string{"CREATE TABLE one (a); INSERT INTO one VALUES (1)", "CREATE TABLE two (a); SELECT * FROM nowhere", "CREATE TABLE three (a)"}
	count := func(query string) (n int64) {
		t.Helper()
		if err := c.query(query, func(r Row) error { n = r.Int(0); return nil }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for range 2 {
		if err := db.migrate(c, steps, epoch); err == nil {
			t.Fatal("a failing migration was passed over")
		}
		if n := count(`SELECT count(*) FROM one`); n != 1 {
			t.Errorf("the first migration ran %d times", n)
		}
		if n := count(`SELECT count(*) FROM sqlite_schema WHERE name IN ('two', 'three')`); n != 0 {
			t.Error("a failed migration left something behind")
		}
	}
	steps[1] = "CREATE TABLE two (a)"
	if err := db.migrate(c, steps, epoch); err != nil {
		t.Fatal(err)
	}
	if n := count(`SELECT max(version) * 100 + count(*) FROM schema_version WHERE applied_ms > 0`); n != 303 {
		t.Errorf("versions are %d", n)
	}
}

func TestADirectoryMadeForAServerIsNotTakenUpByGitAndNoOtherIsChanged(t *testing.T) {
	made, found := filepath.Join(t.TempDir(), "any name"), t.TempDir()
	for range 2 { // a second opening finds the directory
		for _, dir := range []string{made, found} {
			db, err := Open(Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}
		if b, err := os.ReadFile(filepath.Join(made, ".gitignore")); string(b) != "*\n" {
			t.Errorf("it holds %q, %v", b, err)
		}
		if _, err := os.Stat(filepath.Join(found, ".gitignore")); !os.IsNotExist(err) {
			t.Errorf("somebody else's directory was added to: %v", err)
		}
	}
}
