package sqlitedb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"postino/shared/push"
)

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// held keeps the writer busy until release is called, so that what is
// submitted meanwhile shares a commit.
func held(t *testing.T, db *DB) (release func()) {
	t.Helper()
	busy, free, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	db.Submit(func(*Tx) error { close(busy); <-free; return nil }, func(err error) { done <- err })
	<-busy
	return func() {
		close(free)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// together submits all functions into one commit and gives their answers.
func together(t *testing.T, db *DB, fns ...func(*Tx) error) []error {
	t.Helper()
	release := held(t, db)
	errs := make([]error, len(fns))
	var wg sync.WaitGroup
	for i, fn := range fns {
		wg.Add(1)
		db.Submit(fn, func(err error) { errs[i] = err; wg.Done() })
	}
	release()
	wg.Wait()
	return errs
}

func TestWhatIsSubmittedTogetherCommitsTogether(t *testing.T) {
	db := open(t, Options{})
	var seen []int
	var fns []func(*Tx) error
	for i := range 20 {
		fns = append(fns, func(tx *Tx) error {
			n := 0
			if err := tx.Query(`SELECT count(*) FROM meta WHERE name <> 'opened'`, func(r Row) error { n = int(r.Int(0)); return nil }); err != nil {
				return err
			}
			if committed := len(names(t, db)); committed != 0 {
				t.Errorf("%d were committed before the last of the group ran", committed)
			}
			seen = append(seen, n)
			return set(fmt.Sprint(i), i)(tx)
		})
	}
	for i, err := range together(t, db, fns...) {
		if err != nil || seen[i] != i {
			t.Errorf("function %d: %v, saw %d before it", i, err, seen[i])
		}
	}
	if got := names(t, db); len(got) != 20 {
		t.Errorf("%d of 20 are there", len(got))
	}
}

func TestAnErrorUndoesItsOwnWritesOnly(t *testing.T) {
	db := open(t, Options{})
	no := errors.New("no")
	hooks := make([]int, 5)
	hooked := func(i int, fn func(*Tx) error) func(*Tx) error {
		return func(tx *Tx) error {
			tx.OnCommit(func() { hooks[i]++ })
			return fn(tx)
		}
	}
	errs := together(t, db,
		hooked(0, set("good", 1)),
		hooked(1, func(tx *Tx) error { return errors.Join(set("undone", 1)(tx), no) }),
		hooked(2, func(*Tx) error { return no }),
		hooked(3, func(tx *Tx) error { _ = set("undone too", 1)(tx); panic("oops") }),
		hooked(4, set("good too", 1)),
	)
	if errs[0] != nil || !errors.Is(errs[1], no) || !errors.Is(errs[2], no) || errs[3] == nil || errs[4] != nil {
		t.Errorf("answers are %v", errs)
	}
	if got := names(t, db); !slices.Equal(got, []string{"good", "good too"}) {
		t.Errorf("found %v", got)
	}
	if !slices.Equal(hooks, []int{1, 0, 0, 0, 1}) {
		t.Errorf("hooks ran %v times", hooks)
	}
}

func TestAWrongStatementFailsAlone(t *testing.T) {
	db := open(t, Options{})
	errs := together(t, db, set("a", 1), func(tx *Tx) error {
		_, err := tx.Exec(`INSERT INTO nowhere VALUES (1)`)
		return err
	}, func(tx *Tx) error {
		_, err := tx.Exec(`INSERT INTO meta VALUES (?, ?)`, "b", 1.5)
		return err
	}, set("c", 1))
	if errs[0] != nil || errs[1] == nil || errs[2] == nil || errs[3] != nil {
		t.Errorf("answers are %v", errs)
	}
	if got := names(t, db); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("found %v", got)
	}
}

func TestDoEndsWithItsContext(t *testing.T) {
	db := open(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	release := held(t, db)
	done := make(chan error, 1)
	go func() { done <- db.Do(ctx, set("late", 1)) }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Do answered %v", err)
	}
	release()
	if err := db.Do(ctx, set("never", 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("Do answered %v", err)
	}
	if err := db.Read(ctx, func(*Tx) error { return ctx.Err() }); !errors.Is(err, context.Canceled) {
		t.Errorf("Read answered %v", err)
	}
}

func TestALazyWriteRidesWithTheNextCommitOrGoesAloneSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := open(t, Options{})
		committed := make(chan time.Time, 1)
		lazy := func(tx *Tx) error {
			tx.OnCommit(func() { committed <- time.Now() })
			return set("lazy", 1)(tx)
		}
		start := time.Now()
		db.Lazy(lazy)
		if alone := (<-committed).Sub(start); alone != lazyFor {
			t.Errorf("committed after %v with nobody to ride with, want %v", alone, lazyFor)
		}
		start = time.Now()
		db.Lazy(lazy)
		if err := db.Do(t.Context(), set("a", 1)); err != nil {
			t.Fatal(err)
		}
		if rode := (<-committed).Sub(start); rode != 0 {
			t.Errorf("rode with a commit after %v", rode)
		}
	})
}

func TestALazyWriteIsTriedUntilItSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := open(t, Options{})
		tries := 0
		db.Lazy(func(tx *Tx) error {
			if tries++; tries < 4 {
				return errors.Join(set("half", 1)(tx), errors.New("not yet"))
			}
			return set("lazy", 1)(tx)
		})
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := names(t, db); !slices.Equal(got, []string{"lazy"}) {
			t.Errorf("after %d tries found %v", tries, got)
		}
	})
}

func TestCloseCommitsWhatIsPending(t *testing.T) {
	dir := t.TempDir()
	db, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	db.Lazy(func(tx *Tx) error {
		tx.OnCommit(func() { db.Lazy(set("lazily after it", 1)) })
		return set("lazy", 1)(tx)
	})
	db.Submit(set("submitted", 1), func(err error) {
		if err != nil {
			t.Error(err)
		}
	})
	for range 2 {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Do(t.Context(), set("late", 1)); !errors.Is(err, ErrClosed) {
		t.Errorf("Do after Close answered %v", err)
	}
	if err := db.Read(t.Context(), func(*Tx) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("Read after Close answered %v", err)
	}
	if got := names(t, open(t, Options{Dir: dir})); !slices.Equal(got, []string{"lazily after it", "lazy", "submitted"}) {
		t.Errorf("found %v", got)
	}
}

func TestCloseGivesUpALazyWriteThatFails(t *testing.T) {
	db, err := Open(Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	db.Lazy(func(*Tx) error { return errors.New("never") })
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestReadersCannotWriteAndSeeEveryAnsweredCommit(t *testing.T) {
	db := open(t, Options{})
	if err := db.Read(t.Context(), set("a", 1)); err == nil {
		t.Error("a reader wrote")
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 10 {
				name := fmt.Sprint(i, "/", j)
				if err := db.Do(t.Context(), set(name, 1)); err != nil {
					t.Error(err)
				}
				if !slices.Contains(names(t, db), name) {
					t.Errorf("%s was answered and is not seen", name)
				}
			}
		})
	}
	wg.Wait()
}

// A database at its bound stands in for a full disk: SQLite answers both with
// SQLITE_FULL.
func TestAFullDiskFailsWritesWholeAndHealsWhenThereIsRoom(t *testing.T) {
	db := open(t, Options{MaxPages: 120})
	var accepted []string
	full := false
	big := func(name string) func(*Tx) error {
		return func(tx *Tx) error {
			if _, err := tx.Exec(`INSERT INTO topic VALUES (?, 1, ?)`, name, strings.Repeat("x", 10_000)); err != nil {
				return err
			}
			return set(name, 1)(tx)
		}
	}
	for i := range 200 {
		name := fmt.Sprintf("%03d", i)
		switch err := db.Do(t.Context(), big(name)); {
		case err == nil:
			accepted = append(accepted, name)
		default:
			full = true
			sentence(t, err, "is full", "Free some space")
			if push.CodeOf(err) != push.CodeUnavailable {
				t.Errorf("code %s", push.CodeOf(err))
			}
		}
	}
	if !full || len(accepted) < 10 {
		t.Fatalf("%d of 200 were accepted", len(accepted))
	}
	if got := names(t, db); !slices.Equal(got, accepted) {
		t.Errorf("accepted %v, found %v", accepted, got)
	}
}

func TestALazyDeletionMakesRoomThoughItsGroupFoundNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := open(t, Options{MaxPages: 120})
		big := func(tx *Tx) error { return set(strings.Repeat("x", 400_000), 1)(tx) }
		if err := db.Do(t.Context(), set(strings.Repeat("y", 100_000), 1)); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		deleted := make(chan time.Time, 1)
		release := held(t, db)
		db.Lazy(func(tx *Tx) error {
			tx.OnCommit(func() { deleted <- time.Now() })
			_, err := tx.Exec(`DELETE FROM meta WHERE name LIKE 'y%'`)
			return err
		})
		failed := make(chan error, 1)
		db.Submit(big, func(err error) { failed <- err })
		release()
		if err := <-failed; !IsFull(err) {
			t.Errorf("inserted into a full database: %v", err)
		}
		if after := (<-deleted).Sub(start); after != 0 {
			t.Errorf("the deletion waited %v", after)
		}
		if err := db.Do(t.Context(), big); err != nil {
			t.Errorf("with room again: %v", err)
		}
	})
}

func TestAFileDamagedWhileOpenIsSaid(t *testing.T) {
	dir := t.TempDir()
	db, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if err := db.Do(t.Context(), set(strings.Repeat("x", 1000)+fmt.Sprint(i), i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open(t, Options{Dir: dir})
	size, err := os.Stat(db.path)
	if err != nil {
		t.Fatal(err)
	}
	garbage := []byte(strings.Repeat("\xa5", int(size.Size())-pageSize))
	f, err := os.OpenFile(db.path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(garbage, pageSize); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	err = db.Read(t.Context(), func(tx *Tx) error {
		return tx.Query(`SELECT sum(value), max(name) FROM meta`, func(Row) error { return nil })
	})
	sentence(t, err, "is damaged")
}
