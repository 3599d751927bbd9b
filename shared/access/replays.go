package access

import (
	"encoding/hex"
	"sync"

	"github.com/hashicorp/golang-lru/v2"
)

// remembered bounds the signatures kept, of 32 bytes each. One that is older than
// sigv4.Window need not be kept, since its date refuses it; a process that serves
// more than 72 calls a second forgets some sooner.
const remembered = 1 << 16

// replays remembers signatures that were served, in this process. Its zero value
// is usable.
type replays struct {
	once sync.Once
	seen *lru.Cache[[32]byte, struct{}]
}

// first reports whether a signature, in hexadecimal, is seen for the first time.
func (r *replays) first(signature string) bool {
	r.once.Do(func() { r.seen, _ = lru.New[[32]byte, struct{}](remembered) })
	var key [32]byte
	if _, err := hex.Decode(key[:], []byte(signature)); err != nil {
		return true // none that was verified
	}
	before, _ := r.seen.ContainsOrAdd(key, struct{}{})
	return !before
}
