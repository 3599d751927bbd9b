package access

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"postino/shared/push"
)

const (
	// cacheFor is how long a key, or the list of ids, is used after it was read: a
	// revocation takes effect within it.
	cacheFor = 5 * time.Second
	// knownKeys bounds the keys in use that are remembered.
	knownKeys = 1000
	// Ids that nobody has used here yet are read one by one, so many at once and so
	// many a second: a new key is good at once. Beyond that, in a flood of made-up
	// ids, the list of all ids decides, and an id in it is always read.
	lookupBurst = 100
	lookupEvery = time.Second
	// listAgain is how long a listing that failed stands, so that a store that is
	// down is not asked for every made-up id.
	listAgain = time.Second
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
	once  sync.Once
	known *lru.Cache[string, *entry]
	// lookups is the budget of single reads.
	lookups *rate.Limiter

	mu sync.Mutex
	// changes counts calls of forget: what was read before one must not be kept
	// after it.
	changes int
	// ids are those that there were at the last listing.
	ids map[string]struct{}

	// listing is held while ids are listed, so that callers at once make one list.
	listing  sync.Mutex
	listedAt time.Time // guarded by mu, as failed and failedAt
	failed   error
	failedAt time.Time

	emptying sync.Mutex
	// empty is what isEmpty found, at emptyAt.
	empty   bool
	emptyAt time.Time
}

func (c *cache) init() {
	c.once.Do(func() {
		c.known, _ = lru.New[string, *entry](knownKeys) // fails for sizes below 1 alone
		c.lookups = rate.NewLimiter(rate.Every(lookupEvery), lookupBurst)
	})
}

// source reads what the cache does not hold.
type source struct {
	// read fills an entry; push.CodeNotFound for a key that is not there.
	read func(*entry) error
	// list gives the ids of all keys.
	list func() (map[string]struct{}, error)
}

// find gives the entry of id, filled by from where what is known is too old.
func (c *cache) find(ctx context.Context, id string, now func() time.Time, from source) (Key, string, error) {
	c.init()
	e, used := c.known.Get(id)
	if !used {
		if there, err := c.worthReading(ctx, id, now, from.list); err != nil {
			return Key{}, "", err
		} else if !there {
			return Key{}, "", unknownKey(id)
		}
		e = &entry{}
	}
	e.Lock()
	defer e.Unlock()
	if e.gone {
		return Key{}, "", unknownKey(id)
	}
	if !fresh(e.read, now(), cacheFor) {
		began, changes := now(), c.changed()
		if err := from.read(e); push.IsNotFound(err) {
			e.gone = true
			c.drop(id, e)
			return Key{}, "", unknownKey(id)
		} else if err != nil {
			return Key{}, "", err
		}
		e.read = began
		if !used {
			c.keep(id, e, changes)
		}
	}
	return e.key, e.secret, nil
}

func (c *cache) changed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes
}

// keep remembers a key for others, unless one has changed since the read of it
// began: that one may be gone.
func (c *cache) keep(id string, e *entry, changes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes == changes {
		c.known.Add(id, e)
	}
}

// drop forgets a key that is not there any more.
func (c *cache) drop(id string, e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now, ok := c.known.Peek(id); ok && now == e {
		c.known.Remove(id)
	}
	delete(c.ids, id)
}

// worthReading reports whether id, which is not in use here, may be a key's.
func (c *cache) worthReading(ctx context.Context, id string, now func() time.Time, list func() (map[string]struct{}, error)) (bool, error) {
	if c.listed(id) || c.lookups.AllowN(now(), 1) {
		return true, nil
	}
	c.listing.Lock()
	defer c.listing.Unlock()
	began := now()
	c.mu.Lock()
	known, failed, changes := fresh(c.listedAt, began, cacheFor), c.failed, c.changes
	if !fresh(c.failedAt, began, listAgain) {
		failed = nil
	}
	c.mu.Unlock()
	if !known {
		if failed != nil {
			return false, failed
		}
		ids, err := list()
		c.mu.Lock()
		defer c.mu.Unlock()
		if err != nil {
			if ctx.Err() == nil { // what stopped one caller says nothing to others
				c.failed, c.failedAt = err, began
			}
			return false, err
		}
		if c.ids = ids; c.changes == changes {
			c.listedAt = began
		}
		_, there := ids[id]
		return there, nil
	}
	return c.listed(id), nil
}

func (c *cache) listed(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, there := c.ids[id]
	return there
}

// fresh reports whether what was read at a time may be used. A clock that was set
// back makes nothing last longer.
func fresh(at, now time.Time, most time.Duration) bool {
	age := now.Sub(at)
	return age >= 0 && age < most
}

// forget drops what is known of id, after a change of it.
func (c *cache) forget(id string) {
	c.init()
	c.mu.Lock()
	c.changes++
	c.known.Remove(id)
	delete(c.ids, id)
	c.listedAt, c.failedAt = time.Time{}, time.Time{}
	c.mu.Unlock()
	c.emptying.Lock()
	defer c.emptying.Unlock()
	c.emptyAt = time.Time{}
}

func (c *cache) isEmpty(now time.Time, ask func() (bool, error)) (bool, error) {
	c.emptying.Lock()
	defer c.emptying.Unlock()
	if !fresh(c.emptyAt, now, cacheFor) {
		empty, err := ask()
		if err != nil {
			return false, err
		}
		c.empty, c.emptyAt = empty, now
	}
	return c.empty, nil
}
