package history

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"
)

// Killed is the class of a transaction whose session was killed, as an operator, a firewall or a
// failover does. It is never committed: the kill comes before its COMMIT is sent, and no
// statement follows before the server has undone it.
const Killed = "killed"

// When the session of a transaction is killed.
const (
	killBefore = 1 + iota // before the statement is sent
	killDuring            // while it runs, or just after that
)

// pinned is a client's connection, and what the server calls its session.
type pinned struct {
	*sql.Conn
	db      *sql.DB
	session int64
}

// pin opens a client's connection.
func (r *runner) pin(ctx context.Context, db *sql.DB) (p pinned, err error) {
	p.db = db
	if p.Conn, err = db.Conn(ctx); err != nil || r.dialect == "sqlite" {
		return p, err
	}
	query := "SELECT CONNECTION_ID()"
	if r.dialect == "postgres" {
		query = "SELECT pg_backend_pid()"
	}
	return p, p.QueryRowContext(ctx, query).Scan(&p.session)
}

// kill ends the session, and returns when nothing of it is left. SQLite has no server that could do
// so: there the connection is closed as by a process that ends.
func (r *runner) kill(ctx context.Context, p *pinned) error {
	if r.dialect == "sqlite" {
		err := p.Raw(func(any) error { return driver.ErrBadConn })
		if errors.Is(err, driver.ErrBadConn) {
			return nil
		}
		return fmt.Errorf("closing a connection: %w", err)
	}
	kill, left := "KILL %d", "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = %d"
	if r.dialect == "postgres" {
		kill, left = "SELECT pg_terminate_backend(%d)", "SELECT COUNT(*) FROM pg_stat_activity WHERE pid = %d"
	}
	if _, err := r.DB.ExecContext(ctx, fmt.Sprintf(kill, p.session)); err != nil {
		return err
	}
	for until := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Microsecond) {
		var n int
		if err := r.DB.QueryRowContext(ctx, fmt.Sprintf(left, p.session)).Scan(&n); err != nil || n == 0 {
			return err
		}
		if time.Now().After(until) {
			return fmt.Errorf("session %d is still there", p.session)
		}
	}
}

// killing sends the statement while its session is killed, or does not send it. A statement
// whose connection is bad waits in sql.Conn for the end of an sql.Tx, and so has to be the
// latter's own.
func (r *runner) killing(ctx context.Context, p *pinned, tx *sql.Tx, table Table, o *Op) (sent bool, err error) {
	if o.Kill == killBefore || r.dialect == "sqlite" {
		return false, r.kill(ctx, p)
	}
	done := make(chan error, 1)
	go func() { done <- r.kill(ctx, p) }()
	var db querier = p
	if tx != nil {
		db = tx
	}
	_ = r.op(ctx, db, table, o) // which the kill may reach
	return true, <-done
}

// replace gives a client whose session was killed another one.
func (r *runner) replace(ctx context.Context, p *pinned, tx *sql.Tx) (err error) {
	if tx != nil {
		_ = tx.Rollback()
	}
	_ = p.Close()
	*p, err = r.pin(ctx, p.db)
	return err
}
