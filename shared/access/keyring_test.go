package access

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"postino/shared/push"
)

func TestAKeyHasAnIDAndASecretOfItsOwn(t *testing.T) {
	w := newWorld()
	k, secret := w.add(t, Grant{Actions: []string{"publish"}, Note: "shop"})
	if !regexp.MustCompile(`^POSTINO[A-Z2-7]{13}$`).MatchString(k.ID) || !validID(k.ID) {
		t.Errorf("id %q", k.ID)
	}
	if !regexp.MustCompile(`^[A-Za-z0-9_-]{40}$`).MatchString(secret) {
		t.Errorf("secret %q", secret)
	}
	if strings.Contains(string(k.Sealed), secret) || !k.CreatedAt.Equal(noon) || k.Note != "shop" {
		t.Errorf("kept is %+v", k)
	}
	other, second := w.add(t, Grant{})
	if other.ID == k.ID || second == secret {
		t.Error("two keys are one")
	}
	w.random-- // the source of randomness says the same again
	if again, _ := w.add(t, Grant{}); again.ID == other.ID {
		t.Error("a key took another's place")
	}
	all, err := w.List(t.Context())
	if err != nil || len(all) != 3 {
		t.Errorf("%d keys, %v", len(all), err)
	}
}

func TestAListIsWholeWhateverItsPages(t *testing.T) {
	w := newWorld()
	for n := range 2*listed + 1 {
		id := fmt.Sprintf("%s%013d", IDPrefix, n)
		w.keys[id] = Key{ID: id}
	}
	all, err := w.List(t.Context())
	if err != nil || len(all) != 2*listed+1 || w.lists != 3 {
		t.Errorf("%d keys in %d pages, %v", len(all), w.lists, err)
	}
}

func TestAFaultWhileAKeyIsMadeIsTold(t *testing.T) {
	w := newWorld()
	w.sealErr = errors.New("no KMS")
	if _, _, err := w.Add(t.Context(), Grant{}); !errors.Is(err, w.sealErr) || len(w.keys) > 0 {
		t.Errorf("got %v, %d keys", err, len(w.keys))
	}
	w.sealErr, w.err = nil, errors.New("no store")
	if _, _, err := w.Add(t.Context(), Grant{}); !errors.Is(err, w.err) {
		t.Error(err)
	}
}

func (w *world) found(t *testing.T, id, want string) {
	t.Helper()
	if _, secret, err := w.find(t.Context(), id); err != nil || secret != want {
		t.Errorf("found %q, %v", secret, err)
	}
}

func TestAKeyInUseIsReadEveryFiveSecondsAndOpenedOnce(t *testing.T) {
	w := newWorld()
	k, secret := w.add(t, Grant{})
	for range 100 {
		w.found(t, k.ID, secret)
	}
	w.now = w.now.Add(cacheFor - 1)
	w.found(t, k.ID, secret)
	if w.reads != 1 || w.opens != 1 {
		t.Errorf("%d reads, %d opens", w.reads, w.opens)
	}
	w.now = w.now.Add(1)
	w.found(t, k.ID, secret)
	if w.reads != 2 || w.opens != 1 {
		t.Errorf("%d reads, %d opens after five seconds", w.reads, w.opens)
	}
	w.now = w.now.Add(-time.Hour) // a clock that is set back
	w.found(t, k.ID, secret)
	if w.reads != 3 {
		t.Errorf("%d reads after the clock went back", w.reads)
	}
	changed := w.keys[k.ID]
	changed.Sealed, _ = w.Sealer.Seal(t.Context(), k.ID, "sealed anew")
	w.keys[k.ID] = changed
	w.now = w.now.Add(cacheFor)
	w.found(t, k.ID, "sealed anew")
}

func TestARevokedKeyIsRefusedHereAtOnceAndElsewhereAfterFiveSeconds(t *testing.T) {
	w := newWorld()
	k, secret := w.add(t, Grant{})
	elsewhere := &Keyring{Store: w, Sealer: sealer{w}, Now: w.Now}
	w.found(t, k.ID, secret)
	if _, _, err := elsewhere.find(t.Context(), k.ID); err != nil {
		t.Fatal(err)
	}
	if err := w.Revoke(t.Context(), strings.ToLower(k.ID)); err != nil {
		t.Fatal(err)
	}
	_, _, err := w.find(t.Context(), k.ID)
	wantCode(t, "here", err, push.CodeInvalidClientToken, k.ID+" is no key of this installation")
	w.now = w.now.Add(cacheFor)
	_, _, err = elsewhere.find(t.Context(), k.ID)
	wantCode(t, "elsewhere", err, push.CodeInvalidClientToken, "is no key")
	wantCode(t, "again", w.Revoke(t.Context(), k.ID), push.CodeNotFound, "There is no key")
}

func TestANewKeyIsGoodAtOnceThoughItWasAskedForBefore(t *testing.T) {
	w := newWorld()
	k, secret := w.add(t, Grant{})
	if err := w.Revoke(t.Context(), k.ID); err != nil {
		t.Fatal(err)
	}
	_, _, err := w.find(t.Context(), k.ID)
	wantCode(t, "before", err, push.CodeInvalidClientToken, "is no key")
	w.random-- // the same id once more
	again, _ := w.add(t, Grant{})
	if again.ID != k.ID {
		t.Fatalf("the ids differ: %s, %s", again.ID, k.ID)
	}
	w.found(t, k.ID, secret)
}

// madeUp is an id of our form that is no key's, another for each n.
func madeUp(n int) string {
	return IDPrefix + strings.NewReplacer("0", "A", "1", "B", "8", "C", "9", "D").Replace(fmt.Sprintf("%013d", n))
}

func TestAFloodOfUnknownIDsCostsFewReadsAndKeepsNoKeyOut(t *testing.T) {
	w := newWorld()
	k, secret := w.add(t, Grant{})
	other, its := w.add(t, Grant{}) // which this process has not served yet
	w.found(t, k.ID, secret)
	for _, id := range []string{"AKIAIOSFODNN7EXAMPLE", "", IDPrefix, IDPrefix + "AAAAAAAAAAAA1", IDPrefix + "aaaaaaaaaaaaa"} {
		_, _, err := w.find(t.Context(), id)
		wantCode(t, id, err, push.CodeInvalidClientToken, "is no key")
	}
	if w.reads != 1 || w.lists != 0 {
		t.Errorf("%d reads, %d lists for what is no id of ours", w.reads, w.lists)
	}
	w.reads = 0
	flood := func() {
		t.Helper()
		for n := range 5000 {
			_, _, err := w.find(t.Context(), madeUp(n))
			wantCode(t, madeUp(n), err, push.CodeInvalidClientToken, "is no key")
		}
	}
	flood()
	if w.reads > lookupBurst || w.lists != 1 {
		t.Errorf("%d reads, %d lists", w.reads, w.lists)
	}
	w.found(t, k.ID, secret)
	w.found(t, other.ID, its)
	third, secret3 := w.add(t, Grant{}) // made here: good at once
	w.found(t, third.ID, secret3)

	elsewhere := &Keyring{Store: w, Sealer: sealer{w}, Scope: w.Scope, Now: w.Now, Random: w}
	fourth, secret4, err := elsewhere.Add(t.Context(), Grant{})
	if err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(cacheFor)
	w.reads, w.lists = 0, 0
	flood()
	w.found(t, fourth.ID, secret4) // made elsewhere: within five seconds
	if most := int(cacheFor/lookupEvery) + 1; w.reads > most || w.lists != 1 {
		t.Errorf("%d reads, %d lists after five seconds, want at most %d and 1", w.reads, w.lists, most)
	}
}

func TestARevokedKeyThatIsTriedOnCostsFewReads(t *testing.T) {
	w := newWorld()
	k, _ := w.add(t, Grant{})
	w.add(t, Grant{})
	for n := range lookupBurst + 1 {
		_, _, err := w.find(t.Context(), madeUp(n)) // until the list decides
		wantCode(t, "made up", err, push.CodeInvalidClientToken, "is no key")
	}
	delete(w.keys, k.ID) // by another process
	w.reads = 0
	for range 50 {
		_, _, err := w.find(t.Context(), k.ID)
		wantCode(t, "revoked", err, push.CodeInvalidClientToken, "is no key")
	}
	if w.reads != 1 {
		t.Errorf("%d reads", w.reads)
	}
}

func TestAStoreThatIsDownIsNoAnswerAboutIDsAndIsNotFlooded(t *testing.T) {
	w := newWorld()
	w.add(t, Grant{})
	w.err = errors.New("down")
	for n := range 5000 {
		if _, _, err := w.find(t.Context(), madeUp(n)); !errors.Is(err, w.err) || push.CodeOf(err).HTTPStatus() < 500 {
			t.Fatalf("answered with %v", err)
		}
	}
	if w.reads > lookupBurst || w.lists != 1 {
		t.Errorf("%d reads, %d lists", w.reads, w.lists)
	}
	w.err, w.now = nil, w.now.Add(listAgain)
	for n := range 10 {
		_, _, err := w.find(t.Context(), madeUp(n))
		wantCode(t, "once it is up", err, push.CodeInvalidClientToken, "is no key")
	}
}

func TestACallerThatGoesAwayWhileIDsAreListedIsNoFaultForOthers(t *testing.T) {
	w := newWorld()
	k, secret := w.add(t, Grant{})
	for n := range lookupBurst {
		_, _, err := w.find(t.Context(), madeUp(n))
		wantCode(t, "made up", err, push.CodeInvalidClientToken, "is no key")
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	w.err = context.Canceled
	if _, _, err := w.find(gone, k.ID); !errors.Is(err, context.Canceled) {
		t.Errorf("the caller that went away: %v", err)
	}
	w.err = nil
	w.found(t, k.ID, secret)
}

// TestWhatWasReadBeforeARevocationIsNotKeptAfterIt has the key revoked between the
// read of it in the store and the end of that read, on a first use and while ids
// are listed.
func TestWhatWasReadBeforeARevocationIsNotKeptAfterIt(t *testing.T) {
	for name, used := range map[string]bool{"on a first use": false, "on a later one": true} {
		w := newWorld()
		k, secret := w.add(t, Grant{})
		if used {
			w.found(t, k.ID, secret)
			w.now = w.now.Add(cacheFor)
		}
		w.afterRead = func() {
			w.afterRead = nil
			if err := w.Revoke(t.Context(), k.ID); err != nil {
				t.Error(err)
			}
		}
		w.found(t, k.ID, secret) // it was there when it was read
		_, _, err := w.find(t.Context(), k.ID)
		wantCode(t, name, err, push.CodeInvalidClientToken, "is no key")
	}
}

func TestAKeyThatIsMadeWhileIDsAreListedIsGoodAtOnce(t *testing.T) {
	w := newWorld()
	for n := range lookupBurst {
		_, _, err := w.find(t.Context(), madeUp(n))
		wantCode(t, "made up", err, push.CodeInvalidClientToken, "is no key")
	}
	var k Key
	var secret string
	w.afterRead = func() {
		w.afterRead = nil
		k, secret = w.add(t, Grant{})
	}
	_, _, err := w.find(t.Context(), madeUp(lookupBurst))
	wantCode(t, "made up", err, push.CodeInvalidClientToken, "is no key")
	w.found(t, k.ID, secret)
}

func TestAFaultOfStoreOrSealerIsOursAndPasses(t *testing.T) {
	w := newWorld()
	k, secret := w.add(t, Grant{})
	for name, fail := range map[string]func(error){
		"store":  func(err error) { w.err = err },
		"sealer": func(err error) { w.sealErr = err },
	} {
		fault := errors.New(name + " is down")
		fail(fault)
		_, _, err := w.find(t.Context(), k.ID)
		if !errors.Is(err, fault) || push.CodeOf(err).HTTPStatus() < 500 {
			t.Errorf("%s: %v", name, err)
		}
		fail(nil)
		w.found(t, k.ID, secret)
		w.cache.forget(k.ID)
	}
	w.found(t, k.ID, secret)
	w.err = errors.New("the store is down")
	w.now = w.now.Add(cacheFor)
	if _, _, err := w.find(t.Context(), k.ID); !errors.Is(err, w.err) {
		t.Errorf("a key that cannot be read again: %v", err)
	}
}

func TestCallersAtOnceMakeOneRead(t *testing.T) {
	w := newWorld()
	k, secret := w.add(t, Grant{})
	w.found(t, k.ID, secret)
	w.now = w.now.Add(cacheFor)
	w.reads = 0
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { w.found(t, k.ID, secret) })
	}
	wg.Wait()
	if w.reads != 1 {
		t.Errorf("%d reads", w.reads)
	}
}

func TestEmptyIsAskedEveryFiveSecondsAndAfterEachChange(t *testing.T) {
	w := newWorld()
	want := func(empty bool, lists int) {
		t.Helper()
		for range 3 {
			if got, err := w.Empty(context.Background()); err != nil || got != empty {
				t.Errorf("empty: %v, %v, want %v", got, err, empty)
			}
		}
		if w.lists != lists {
			t.Errorf("%d lists, want %d", w.lists, lists)
		}
	}
	want(true, 1)
	k, _ := w.add(t, Grant{})
	want(false, 2)
	w.now = w.now.Add(cacheFor)
	want(false, 3)
	if err := w.Revoke(t.Context(), k.ID); err != nil {
		t.Fatal(err)
	}
	want(true, 4)
	w.err, w.now = errors.New("down"), w.now.Add(cacheFor)
	if _, err := w.Empty(t.Context()); !errors.Is(err, w.err) {
		t.Error(err)
	}
}
