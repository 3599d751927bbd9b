package sqlitedb

import (
	"fmt"
	"time"

	"postino/shared/push"
)

// migrations bring an older file forward, one transaction each; migration i
// makes schema version i+1. What has been released is never edited: changes
// are appended.
var migrations = []string{
	// Times are Unix milliseconds. message.body stands last so that reading the
	// scheduling columns does not walk over the pages of large bodies.
	`CREATE TABLE meta (
		name  TEXT PRIMARY KEY,
		value INTEGER NOT NULL
	) WITHOUT ROWID;
	CREATE TABLE queue (
		id            INTEGER PRIMARY KEY,
		name          TEXT NOT NULL UNIQUE,
		visibility_ms INTEGER NOT NULL,
		max_receive   INTEGER NOT NULL,
		dead_letter   TEXT NOT NULL
	);
	CREATE TABLE message (
		seq        INTEGER PRIMARY KEY,
		queue      INTEGER NOT NULL,
		due_ms     INTEGER NOT NULL,
		sent_ms    INTEGER NOT NULL,
		receives   INTEGER NOT NULL,
		tenant     TEXT NOT NULL,
		attributes TEXT,
		body       TEXT NOT NULL
	);
	CREATE TABLE timer (
		name       TEXT PRIMARY KEY,
		at_ms      INTEGER NOT NULL,
		queue      TEXT NOT NULL,
		tenant     TEXT NOT NULL,
		attributes TEXT,
		body       TEXT NOT NULL
	);
	CREATE INDEX timer_at ON timer (at_ms);
	CREATE TABLE topic (
		arn     TEXT PRIMARY KEY,
		version INTEGER NOT NULL,
		doc     TEXT NOT NULL
	);
	CREATE TABLE subscription (
		arn TEXT PRIMARY KEY,
		doc TEXT NOT NULL
	);
	CREATE TABLE delivery (
		id           INTEGER PRIMARY KEY,
		subscription TEXT NOT NULL,
		message_id   TEXT NOT NULL,
		generation   TEXT NOT NULL,
		attempt      INTEGER NOT NULL,
		state        TEXT NOT NULL,
		owner        TEXT NOT NULL,
		lease_end_ms INTEGER NOT NULL,
		next_at_ms   INTEGER NOT NULL,
		updated_ms   INTEGER NOT NULL,
		expires_ms   INTEGER NOT NULL,
		doc          TEXT NOT NULL,
		UNIQUE (subscription, message_id, generation)
	);
	CREATE INDEX delivery_message ON delivery (message_id);
	CREATE INDEX delivery_state   ON delivery (state, updated_ms);
	CREATE INDEX delivery_expires ON delivery (expires_ms);
	CREATE TABLE slot (
		subscription TEXT PRIMARY KEY,
		next_ns      INTEGER NOT NULL
	) WITHOUT ROWID;`,
	`CREATE TABLE access_key (
		id  TEXT PRIMARY KEY,
		doc TEXT NOT NULL
	) WITHOUT ROWID;`,
}

// migrate brings the file to the newest of steps and refuses one that is
// newer still.
func (db *DB) migrate(c *conn, steps []string, now time.Time) error {
	if _, err := c.exec(`CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY, applied_ms INTEGER NOT NULL)`); err != nil {
		return err
	}
	var have int64
	err := c.query(`SELECT coalesce(max(version), 0) FROM schema_version`, func(r Row) error {
		have = r.Int(0)
		return nil
	})
	if err != nil {
		return err
	}
	if have > int64(len(steps)) {
		return push.Errorf(push.CodeInternalError,
			"The database %s has schema version %d and this build knows versions up to %d. Use the build that wrote it, or a newer one.", db.path, have, len(steps))
	}
	for v := int(have); v < len(steps); v++ {
		if err := apply(c, steps[v], v+1, now); err != nil {
			return fmt.Errorf("migration to schema version %d: %w", v+1, err)
		}
	}
	return nil
}

// apply runs one migration in a transaction of its own.
func apply(c *conn, script string, version int, now time.Time) error {
	if _, err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	_, err := c.exec(script)
	if err == nil {
		_, err = c.exec(`INSERT INTO schema_version VALUES (?, ?)`, version, now.UnixMilli())
	}
	if err == nil {
		_, err = c.exec("COMMIT")
	}
	if err != nil {
		_, _ = c.exec("ROLLBACK") // SQLite may have rolled back by itself
	}
	return err
}
