package sqlitedb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"

	"modernc.org/sqlite"
)

// conn is one SQLite connection with its prepared statements. It speaks to the
// driver directly: database/sql would add a pool, locks and conversions around
// a connection that has exactly one user anyway.
type conn struct {
	driver.Conn
	prepared map[string]driver.Stmt
	args     []driver.NamedValue
	// wrote says that a statement changed something since it was last cleared.
	wrote bool
}

// connect opens path, creating the file when it is missing.
func connect(path string, pragmas ...string) (*conn, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	q := url.Values{"_pragma": append([]string{"busy_timeout(5000)"}, pragmas...)}
	dsn := (&url.URL{Scheme: "file", Path: abs, RawQuery: q.Encode()}).String()
	c, err := (&sqlite.Driver{}).Open(dsn)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, prepared: map[string]driver.Stmt{}}, nil
}

func (c *conn) close() error {
	for _, s := range c.prepared {
		_ = s.Close() // the connection's own Close reports what matters
	}
	clear(c.prepared)
	return c.Close()
}

func (c *conn) prepare(query string) (driver.Stmt, error) {
	if s := c.prepared[query]; s != nil {
		return s, nil
	}
	// A context that can be cancelled makes the driver watch it in a goroutine
	// per statement, so statements run under one that cannot.
	s, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	c.prepared[query] = s
	return s, nil
}

func (c *conn) bind(args []any) ([]driver.NamedValue, error) {
	c.args = c.args[:0]
	for i, a := range args {
		switch v := a.(type) {
		case int:
			a = int64(v)
		case int64, string, []byte, nil:
		default:
			return nil, fmt.Errorf("argument %d has type %T, want int, int64, string, []byte or nil", i+1, a)
		}
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.args, nil
}

func (c *conn) exec(query string, args ...any) (int64, error) {
	s, err := c.prepare(query)
	if err != nil {
		return 0, err
	}
	bound, err := c.bind(args)
	if err != nil {
		return 0, err
	}
	r, err := s.(driver.StmtExecContext).ExecContext(context.Background(), bound)
	clear(bound) // keep no body alive
	if err != nil {
		return 0, err
	}
	n, err := r.RowsAffected()
	c.wrote = c.wrote || n > 0
	return n, err
}

func (c *conn) query(query string, row func(Row) error, args ...any) (err error) {
	s, err := c.prepare(query)
	if err != nil {
		return err
	}
	bound, err := c.bind(args)
	if err != nil {
		return err
	}
	rows, err := s.(driver.StmtQueryContext).QueryContext(context.Background(), bound)
	clear(bound)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := rows.Close(); err == nil {
			err = cerr
		}
	}()
	r := make(Row, len(rows.Columns()))
	for {
		switch err := rows.Next(r); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := row(r); err != nil {
			return err
		}
	}
}

// Row is one result row; it is only valid during the call that hands it out,
// the strings and bytes taken from it stay valid.
type Row []driver.Value

// Int is column i as a number, 0 where it is NULL.
func (r Row) Int(i int) int64 {
	n, _ := r[i].(int64)
	return n
}

// Text is column i as text, "" where it is NULL.
func (r Row) Text(i int) string {
	switch v := r[i].(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}
