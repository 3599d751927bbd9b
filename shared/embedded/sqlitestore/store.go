// Package sqlitestore keeps topics, subscriptions, the retry state of
// deliveries and throttle slots in the embedded server's database.
//
// Topics and subscriptions are few and read on every publish and push: they are
// held in memory whole and written through. Deliveries are read from the file,
// where conditional writes of concurrent attempts share group commits.
package sqlitestore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"postino/shared/embedded/sqlitedb"
	"postino/shared/push"
)

// Store implements snsapi.Directory, pipeline.Deliveries and pipeline.Slots.
type Store struct {
	db *sqlitedb.DB

	// change is held by who changes topics or subscriptions, mu only while
	// memory is touched: readers never wait for the disk.
	change sync.Mutex
	mu     sync.RWMutex
	dir    directory

	slots slots
}

// itemVersion is written into every stored document. Its own and all older
// ones are read.
const itemVersion = 1

// versioned is the stored form of topics and subscriptions.
type versioned[T any] struct {
	V    int `json:"v"`
	Item T   `json:"item"`
}

// Open loads topics and subscriptions.
func Open(ctx context.Context, db *sqlitedb.DB) (*Store, error) {
	s := &Store{db: db, dir: newDirectory(), slots: slots{next: map[string]int64{}, dirty: map[string]bool{}}}
	err := db.Read(ctx, func(tx *sqlitedb.Tx) error {
		if err := s.loadDirectory(tx); err != nil {
			return err
		}
		return tx.Query(`SELECT subscription, next_ns FROM slot`, func(r sqlitedb.Row) error {
			s.slots.next[r.Text(0)] = r.Int(1)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Store) loadDirectory(tx *sqlitedb.Tx) error {
	err := tx.Query(`SELECT value FROM meta WHERE name = 'directory'`, func(r sqlitedb.Row) error {
		s.dir.version = r.Int(0)
		return nil
	})
	if err != nil {
		return err
	}
	err = tx.Query(`SELECT arn, version, doc FROM topic`, func(r sqlitedb.Row) error {
		t, err := decodeItem[push.Topic](r.Text(0), r.Text(2))
		t.Version = r.Int(1)
		s.dir.topics[t.ARN] = t
		s.dir.names = append(s.dir.names, t.ARN)
		return err
	})
	if err != nil {
		return err
	}
	err = tx.Query(`SELECT arn, doc FROM subscription`, func(r sqlitedb.Row) error {
		sub, err := decodeItem[push.Subscription](r.Text(0), r.Text(1))
		s.dir.put(sub, true)
		return err
	})
	slices.Sort(s.dir.names)
	slices.Sort(s.dir.live)
	slices.Sort(s.dir.dead)
	return err
}

func encodeItem[T any](item T) (string, error) {
	b, err := json.Marshal(versioned[T]{itemVersion, item})
	return string(b), err
}

func decodeItem[T any](name, doc string) (T, error) {
	var v versioned[T]
	err := json.Unmarshal([]byte(doc), &v)
	if err == nil && (v.V < 1 || v.V > itemVersion) {
		err = fmt.Errorf("version %d, this build reads 1 to %d", v.V, itemVersion)
	}
	if err != nil {
		return v.Item, &push.Error{Code: push.CodeInternalError, Cause: err,
			Text: fmt.Sprintf("The database's record of %s cannot be read. Use the build that wrote it, or restore a backup.", name)}
	}
	return v.Item, nil
}

// page cuts up to limit names behind after out of sorted ones.
func page(sorted []string, after string, limit int) (names []string, next string) {
	from, found := slices.BinarySearch(sorted, after)
	if found {
		from++
	}
	rest := sorted[from:]
	names = rest[:min(max(limit, 0), len(rest))]
	if len(names) > 0 && len(names) < len(rest) {
		next = names[len(names)-1]
	}
	return names, next
}

// insert and remove keep a list sorted and without duplicates.
func insert(sorted []string, name string) []string {
	at, found := slices.BinarySearch(sorted, name)
	if found {
		return sorted
	}
	return slices.Insert(sorted, at, name)
}

func remove(sorted []string, name string) []string {
	at, found := slices.BinarySearch(sorted, name)
	if !found {
		return sorted
	}
	return slices.Delete(sorted, at, at+1)
}

// under gives the part of sorted that are ARNs of the topic's subscriptions.
func under(sorted []string, topicARN string) []string {
	from, _ := slices.BinarySearch(sorted, topicARN+":")
	to, _ := slices.BinarySearch(sorted, topicARN+";") // ';' follows ':'
	return sorted[from:to]
}
