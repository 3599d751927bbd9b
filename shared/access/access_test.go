package access

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"postino/shared/push"
	"postino/shared/sigv4"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// world is a keyring over memory, with a clock that tests set.
type world struct {
	*Keyring
	now time.Time

	mu                  sync.Mutex
	keys                map[string]Key
	reads, opens, lists int
	err                 error // of the store
	sealErr             error
	random              byte
	afterRead           func() // when not nil, is called between a read and its answer
}

func (w *world) wasRead() {
	if w.afterRead != nil {
		w.afterRead()
	}
}

func newWorld() *world {
	w := &world{now: noon, keys: map[string]Key{}}
	w.Keyring = &Keyring{Store: w, Sealer: sealer{w}, Scope: Scope{Actions: []string{"CreateTopic", "ListSubscriptions", "ListTopics", "Publish", "PublishBatch"}, Region: "us-east-1", Account: "000000000000"},
		Now: func() time.Time { return w.now }, Random: w}
	return w
}

// Read gives other bytes each time.
func (w *world) Read(b []byte) (int, error) {
	w.random++
	for i := range b {
		b[i] = w.random * byte(i+1)
	}
	return len(b), nil
}

func (w *world) CreateKey(_ context.Context, k Key) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, taken := w.keys[k.ID]; taken {
		return false, nil
	}
	w.keys[k.ID] = k
	return true, w.err
}

func (w *world) Key(_ context.Context, id string) (Key, error) {
	defer w.wasRead()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads++
	if w.err != nil {
		return Key{}, w.err
	}
	k, ok := w.keys[id]
	if !ok {
		return k, push.Errorf(push.CodeNotFound, "Access key does not exist")
	}
	return k, nil
}

func (w *world) Keys(_ context.Context, after string, limit int) (page []Key, next string, err error) {
	defer w.wasRead()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lists++
	for _, id := range slices.Sorted(maps.Keys(w.keys)) {
		if id > after && len(page) < limit {
			page = append(page, w.keys[id])
			next = id
		}
	}
	if len(page) < limit {
		next = ""
	}
	return page, next, w.err
}

func (w *world) DeleteKey(_ context.Context, id string) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, existed := w.keys[id]
	delete(w.keys, id)
	return existed, w.err
}

// sealer writes secrets backwards, with the key's id before them.
type sealer struct{ w *world }

func (s sealer) Seal(_ context.Context, id, secret string) ([]byte, error) {
	b := []byte(secret)
	slices.Reverse(b)
	return append([]byte(id), b...), s.w.sealErr
}

func (s sealer) Open(_ context.Context, id string, sealed []byte) (string, error) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.w.opens++
	rest, ok := strings.CutPrefix(string(sealed), id)
	if !ok || s.w.sealErr != nil {
		return "", errors.Join(errors.New("sealed for another"), s.w.sealErr)
	}
	b := []byte(rest)
	slices.Reverse(b)
	return string(b), nil
}

func (w *world) add(t *testing.T, g Grant) (Key, string) {
	t.Helper()
	k, secret, err := w.Add(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	return k, secret
}

// gate is one that is always on.
func (w *world) gate() *Gate {
	return &Gate{Keys: w.Keyring, PublicURL: "https://push.example.com/sns", Now: func() time.Time { return w.now }}
}

const host = "abc.lambda-url.us-east-1.on.aws"

// call is a request that the SDK has signed for url, as it arrives: at host, with
// the path cut down to /.
func (w *world) call(t testing.TB, id, secret, url string, header http.Header) sigv4.Request {
	t.Helper()
	const body = "Action=Publish"
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(r.Header, header)
	sum := sha256.Sum256([]byte(body))
	if err := v4.NewSigner().SignHTTP(t.Context(), aws.Credentials{AccessKeyID: id, SecretAccessKey: secret}, r, hex.EncodeToString(sum[:]), "sns", "us-east-1", w.now); err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Host", host)
	return sigv4.Request{Method: r.Method, Path: "/", Header: r.Header, Body: []byte(body)}
}

func wantCode(t *testing.T, what string, err error, code push.Code, says string) {
	t.Helper()
	if err == nil || push.CodeOf(err) != code || !strings.Contains(err.Error(), says) {
		t.Errorf("%s: %v, want %s that says %q", what, err, code, says)
	}
}

const orders, invoices = "arn:aws:sns:us-east-1:000000000000:orders", "arn:aws:sns:us-east-1:000000000000:invoices"
