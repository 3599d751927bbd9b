package conformance

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"postino/shared/access"
)

// ExerciseKeys checks the promises of access.Store.
func ExerciseKeys(t *testing.T, h Harness[access.Store]) {
	s := keysSuite{h}
	h.test(t, "a key that is missing is NotFound", s.missing)
	h.test(t, "a key is created once and kept whole", s.create)
	h.test(t, "of many that create one key, one does", s.race)
	h.test(t, "a deleted key is gone at once", s.remove)
	h.test(t, "lists are complete, ordered and cut into pages", s.pages)
	if h.Reopen != nil {
		h.test(t, "a restart keeps keys", s.restart)
	}
}

type keysSuite struct{ Harness[access.Store] }

// newKey is a key numbered n.
func newKey(n int) access.Key {
	return access.Key{ID: fmt.Sprintf("POSTINOKEY%010d", n), Actions: []string{"List*", "Publish"}, Topics: []string{"orders*", topicARN("t")},
		Note: "for tests \u00fc", CreatedAt: epoch.Add(time.Duration(n) * time.Millisecond), Sealed: []byte{0, 1, 255, byte(n)}}
}

func createKey(t *testing.T, s access.Store, k access.Key) {
	t.Helper()
	created, err := s.CreateKey(t.Context(), k)
	must(t, err)
	if !created {
		t.Fatalf("the key %s was there already", k.ID)
	}
}

func wantKey(t *testing.T, s access.Store, want access.Key) {
	t.Helper()
	got, err := s.Key(t.Context(), want.ID)
	must(t, err)
	equal(t, "the key", got, want)
}

func (keysSuite) missing(t *testing.T, s access.Store) {
	_, err := s.Key(t.Context(), newKey(1).ID)
	wantNotFound(t, "Key", err)
	existed, err := s.DeleteKey(t.Context(), newKey(1).ID)
	must(t, err)
	page, next, err := s.Keys(t.Context(), "", long)
	must(t, err)
	if existed || len(page) > 0 || next != "" {
		t.Errorf("deleted %v, listed %v, next %q", existed, page, next)
	}
}

func (keysSuite) create(t *testing.T, s access.Store) {
	want := newKey(1)
	createKey(t, s, want)
	other := want
	other.Note, other.Actions, other.Sealed = "another", nil, []byte("another")
	created, err := s.CreateKey(t.Context(), other)
	must(t, err)
	if created {
		t.Error("a key was put in the place of another")
	}
	wantKey(t, s, want)
	bare := access.Key{ID: newKey(2).ID, CreatedAt: epoch, Sealed: []byte{1}}
	createKey(t, s, bare)
	wantKey(t, s, bare)
}

func (keysSuite) race(t *testing.T, s access.Store) {
	var wg sync.WaitGroup
	var made atomic.Int32
	for n := range 8 {
		wg.Go(func() {
			k := newKey(1)
			k.Sealed = []byte{byte(n)}
			created, err := s.CreateKey(t.Context(), k)
			if err != nil {
				t.Error(err)
			}
			if created {
				made.Add(1)
			}
		})
	}
	wg.Wait()
	if n := made.Load(); n != 1 {
		t.Errorf("%d of 8 created the key", n)
	}
}

func (keysSuite) remove(t *testing.T, s access.Store) {
	createKey(t, s, newKey(1))
	createKey(t, s, newKey(2))
	existed, err := s.DeleteKey(t.Context(), newKey(1).ID)
	must(t, err)
	if !existed {
		t.Error("the key was not there")
	}
	_, err = s.Key(t.Context(), newKey(1).ID)
	wantNotFound(t, "a deleted key", err)
	wantKey(t, s, newKey(2))
	createKey(t, s, newKey(1))
}

func (keysSuite) pages(t *testing.T, s access.Store) {
	var want []access.Key
	for n := range 7 {
		want = append(want, newKey(n))
		createKey(t, s, newKey(6-n))
	}
	var got []access.Key
	pages := 0
	for after := ""; ; pages++ {
		page, next, err := s.Keys(t.Context(), after, 3)
		must(t, err)
		if len(page) > 3 {
			t.Errorf("a page of %d", len(page))
		}
		got = append(got, page...)
		if after = next; next == "" {
			break
		}
	}
	equal(t, "all keys", got, want)
	if pages != 2 {
		t.Errorf("%d pages were followed by another", pages)
	}
}

func (s keysSuite) restart(t *testing.T, store access.Store) {
	createKey(t, store, newKey(1))
	wantKey(t, s.Reopen(t, store), newKey(1))
}
