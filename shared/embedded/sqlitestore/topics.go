package sqlitestore

import (
	"context"
	"maps"
	"time"

	"postino/shared/embedded/sqlitedb"
	"postino/shared/push"
)

func noTopic() error        { return push.Errorf(push.CodeNotFound, "Topic does not exist") }
func noSubscription() error { return push.Errorf(push.CodeNotFound, "Subscription does not exist") }

// own gives a topic whose tags are the receiver's own.
func own(t push.Topic) push.Topic {
	t.Tags = maps.Clone(t.Tags)
	return t
}

// Topic implements pipeline.Directory.
func (s *Store) Topic(_ context.Context, arn string) (push.Topic, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, ok := s.dir.topics[arn]
	if !ok {
		return push.Topic{}, noTopic()
	}
	return own(t), nil
}

// Topics implements snsapi.Directory.
func (s *Store) Topics(_ context.Context, after string, limit int) (topics []push.Topic, next string, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	names, next := page(s.dir.names, after, limit)
	for _, n := range names {
		topics = append(topics, own(s.dir.topics[n]))
	}
	return topics, next, nil
}

// CreateTopic implements snsapi.Directory. Version and counts are the store's.
func (s *Store) CreateTopic(ctx context.Context, t push.Topic) (push.Topic, bool, error) {
	s.change.Lock()
	defer s.change.Unlock()
	if have, err := s.Topic(ctx, t.ARN); err == nil {
		return have, false, nil
	}
	t = own(t)
	t.Confirmed, t.Pending, t.Deleted = 0, 0, len(under(s.dir.dead, t.ARN))
	e := newEdit()
	e.topics[t.ARN] = &t
	if err := s.store(ctx, e); err != nil {
		return push.Topic{}, false, err
	}
	return own(t), true, nil
}

// UpdateTopic implements snsapi.Directory. change cannot touch the ARN, the
// version or the counts.
func (s *Store) UpdateTopic(ctx context.Context, arn string, change func(*push.Topic) error) (push.Topic, error) {
	s.change.Lock()
	defer s.change.Unlock()
	before, err := s.Topic(ctx, arn)
	if err != nil {
		return push.Topic{}, err
	}
	draft := own(before)
	if err := change(&draft); err != nil {
		return push.Topic{}, err
	}
	t := own(draft) // change may have kept the draft
	t.ARN, t.CreatedAt = before.ARN, before.CreatedAt
	t.Confirmed, t.Pending, t.Deleted = before.Confirmed, before.Pending, before.Deleted
	e := newEdit()
	e.topics[arn] = &t
	if err := s.store(ctx, e); err != nil {
		return push.Topic{}, err
	}
	return own(t), nil
}

// DeleteTopic implements snsapi.Directory.
func (s *Store) DeleteTopic(ctx context.Context, arn string, now time.Time) error {
	s.change.Lock()
	defer s.change.Unlock()
	if _, err := s.Topic(ctx, arn); err != nil {
		return nil
	}
	e := newEdit()
	for _, name := range under(s.dir.live, arn) {
		sub := s.dir.subs[name]
		sub.DeletedAt = now
		e.subs[name] = &sub
	}
	e.topics[arn] = nil
	return s.store(ctx, e)
}

// store writes an edit and then shows it to readers. The caller holds change.
// It waits for the outcome even when ctx ends: memory and file must agree.
func (s *Store) store(ctx context.Context, e *edit) error {
	version := s.dir.version + 1
	for _, t := range e.topics {
		if t != nil {
			t.Version = version
		}
	}
	err := s.db.Do(context.WithoutCancel(ctx), func(tx *sqlitedb.Tx) error { return e.write(tx, version) })
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dir.version = version
	for arn, t := range e.topics {
		if t == nil {
			delete(s.dir.topics, arn)
			s.dir.names = remove(s.dir.names, arn)
			continue
		}
		s.dir.topics[arn] = *t
		s.dir.names = insert(s.dir.names, arn)
	}
	for arn, sub := range e.subs {
		if sub == nil {
			s.dir.drop(arn)
		} else {
			s.dir.put(*sub, false)
		}
	}
	return nil
}

func (e *edit) write(tx *sqlitedb.Tx, version int64) error {
	_, err := tx.Exec(`INSERT INTO meta VALUES ('directory', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, version)
	if err != nil {
		return err
	}
	for arn, t := range e.topics {
		if t == nil {
			_, err = tx.Exec(`DELETE FROM topic WHERE arn = ?`, arn)
		} else {
			err = writeItem(*t, func(doc string) error {
				_, err := tx.Exec(`INSERT INTO topic VALUES (?, ?, ?) ON CONFLICT (arn) DO UPDATE SET version = excluded.version, doc = excluded.doc`, arn, t.Version, doc)
				return err
			})
		}
		if err != nil {
			return err
		}
	}
	for arn, sub := range e.subs {
		if sub == nil {
			_, err = tx.Exec(`DELETE FROM subscription WHERE arn = ?`, arn)
		} else {
			err = writeItem(*sub, func(doc string) error {
				_, err := tx.Exec(`INSERT INTO subscription VALUES (?, ?) ON CONFLICT (arn) DO UPDATE SET doc = excluded.doc`, arn, doc)
				return err
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func writeItem[T any](item T, write func(doc string) error) error {
	doc, err := encodeItem(item)
	if err != nil {
		return err
	}
	return write(doc)
}
