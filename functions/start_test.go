package functions_test

import (
	"hash/crc32"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Before its first event a function asks AWS for the signing key, if it signs, and for
// nothing else: each cold start waits for it. Where there is no key yet it makes one.
// The AWS here is a stand-in that has nothing and takes everything.
func TestAFunctionAsksAWSForNothingButTheSigningKeyWhenItStartsWithAStandInForAWS(t *testing.T) {
	for function, want := range map[string][]string{
		"publish": {"GetItem", "PutItem"},
		"deliver": {"GetItem", "PutItem"},
		"fanout":  nil,
		"redrive": nil,
	} {
		t.Run(function, func(t *testing.T) {
			var mu sync.Mutex
			var calls []string
			aws := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
				mu.Lock()
				calls = append(calls, operation)
				mu.Unlock()
				w.Header().Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte("{}"))), 10))
				_, _ = w.Write([]byte("{}"))
			}))
			t.Cleanup(aws.Close)
			env := environment(t.TempDir())
			for name, value := range onAWS("AWS_ENDPOINT_URL", aws.URL) {
				env[name] = value
			}
			launch(t, filepath.Join(binaries(t), function), env)
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(calls, want) {
				t.Errorf("it calls %q, want %q", calls, want)
			}
		})
	}
}
