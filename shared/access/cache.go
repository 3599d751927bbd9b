package access

import (
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2"

	"postino/shared/push"
)

const (
	// cacheFor is how long a key is used after it was read: a revocation takes
	// effect within it.
	cacheFor = 5 * time.Second
	// knownKeys and unknownKeys bound what is remembered.
	knownKeys   = 1000
	unknownKeys = 1000
	// lookups of ids that are not known cost a read each. A flood of made-up ones
	// gets so many at once and so many a second; keys in use are not affected.
	lookupBurst = 100
	lookupEvery = 50 * time.Millisecond
)

// entry is a key in use. Its lock is held while it is read, so that callers at
// once make one read.
type entry struct {
	sync.Mutex
	key    Key
	secret string
	read   time.Time
	gone   bool
}

// cache is usable as its zero value.
type cache struct {
	once    sync.Once
	known   *lru.Cache[string, *entry]
	unknown *lru.Cache[string, time.Time]

	mu sync.Mutex
	// lookup is when the next lookup would be on time (GCRA).
	lookup time.Time
	// empty is what isEmpty found, at emptyAt.
	empty   bool
	emptyAt time.Time
}

func (c *cache) init() {
	c.once.Do(func() {
		c.known, _ = lru.New[string, *entry](knownKeys) // fails for sizes below 1 alone
		c.unknown, _ = lru.New[string, time.Time](unknownKeys)
	})
}

// find gives the entry of id, filled by read where what is known is too old. read
// answers push.CodeNotFound for a key that is not there.
func (c *cache) find(id string, now func() time.Time, read func(*entry) error) (Key, string, error) {
	c.init()
	e, used := c.known.Get(id)
	if !used {
		if at, told := c.unknown.Get(id); told && fresh(at, now()) {
			return Key{}, "", unknownKey(id)
		}
		if !c.mayLook(now()) {
			return Key{}, "", push.Errorf(push.CodeThrottling, "Too many unknown keys are tried. Send the request again.")
		}
		e = &entry{}
	}
	e.Lock()
	defer e.Unlock()
	if e.gone {
		return Key{}, "", unknownKey(id)
	}
	if !fresh(e.read, now()) {
		began := now()
		if err := read(e); push.IsNotFound(err) {
			e.gone = true
			c.known.Remove(id)
			c.unknown.Add(id, began)
			return Key{}, "", unknownKey(id)
		} else if err != nil {
			return Key{}, "", err
		}
		e.read = began
		if !used {
			c.known.Add(id, e)
		}
	}
	return e.key, e.secret, nil
}

// fresh reports whether what was read at a time may be used. A clock that was set
// back makes nothing last longer.
func fresh(at, now time.Time) bool {
	age := now.Sub(at)
	return age >= 0 && age < cacheFor
}

// mayLook counts a lookup.
func (c *cache) mayLook(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lookup.Before(now) {
		c.lookup = now
	}
	if c.lookup.Sub(now) > (lookupBurst-1)*lookupEvery {
		return false
	}
	c.lookup = c.lookup.Add(lookupEvery)
	return true
}

// forget drops what is known of id, after a change of it.
func (c *cache) forget(id string) {
	c.init()
	c.known.Remove(id)
	c.unknown.Remove(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.emptyAt = time.Time{}
}

func (c *cache) isEmpty(now time.Time, ask func() (bool, error)) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !fresh(c.emptyAt, now) {
		empty, err := ask()
		if err != nil {
			return false, err
		}
		c.empty, c.emptyAt = empty, now
	}
	return c.empty, nil
}
