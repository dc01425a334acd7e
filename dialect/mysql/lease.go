package mysql

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/slotsql/slotsql/dialect"
)

var (
	_ dialect.Fencer    = (*Dialect)(nil)
	_ dialect.PassNoter = (*Dialect)(nil)
)

// CreateLeases writes the table of leases.
func (d *Dialect) CreateLeases() []string {
	return []string{"CREATE TABLE IF NOT EXISTS " + dialect.LeaseTable +
		" (name VARCHAR(64) CHARACTER SET ascii NOT NULL PRIMARY KEY, holder VARCHAR(64) CHARACTER SET ascii NOT NULL, until DATETIME(6) NOT NULL) ENGINE=InnoDB"}
}

// Leased reads the leases that have not run out.
func (d *Dialect) Leased(ctx context.Context, s dialect.Session) (map[string]bool, error) {
	rows, err := s.Query(ctx, "SELECT name FROM "+dialect.LeaseTable+" WHERE until >= UTC_TIMESTAMP(6)")
	return dialect.LeaseNames(rows), err
}

// Lease takes a lease by one statement in autocommit. MySQL assigns from left to
// right, so that until is set only for who is the holder by then.
func (d *Dialect) Lease(ctx context.Context, s dialect.Session, name, holder string, seconds int) (bool, error) {
	err := s.Exec(ctx, fmt.Sprintf("INSERT INTO %s (name, holder, until) VALUES (?, ?, UTC_TIMESTAMP(6) + INTERVAL %d SECOND)"+
		" ON DUPLICATE KEY UPDATE holder = IF(until < UTC_TIMESTAMP(6), VALUES(holder), holder), until = IF(holder = VALUES(holder), VALUES(until), until)",
		dialect.LeaseTable, seconds), name, holder)
	if err != nil {
		return false, err
	}
	rows, err := s.Query(ctx, "SELECT holder FROM "+dialect.LeaseTable+" WHERE name = ?", name)
	return err == nil && len(rows) == 1 && dialect.String(rows[0][0]) == holder, err
}

// Fence locks the lease's row, which any other session's Lease then waits for.
func (d *Dialect) Fence(ctx context.Context, s dialect.Session, name, holder string) (bool, error) {
	rows, err := s.Query(
		ctx,
		"SELECT holder FROM "+dialect.LeaseTable+" WHERE name = "+literal(name)+" AND until >= UTC_TIMESTAMP(6) FOR UPDATE",
	)
	return err == nil && len(rows) == 1 && dialect.String(rows[0][0]) == holder, err
}

// Release ends a lease.
func (d *Dialect) Release(ctx context.Context, s dialect.Session, name, holder string) error {
	return s.Exec(ctx, "DELETE FROM "+dialect.LeaseTable+" WHERE name = ? AND holder = ?", name, holder)
}

// literal writes a name of a lease.
func literal(name string) string { return "'" + strings.ReplaceAll(name, "'", "''") + "'" }

// NotePasses writes all rows by one statement.
func (d *Dialect) NotePasses(ctx context.Context, s dialect.Session, begun map[string]time.Duration) error {
	rows := dialect.PassRows(begun, func(n int64) string { return fmt.Sprintf("UTC_TIMESTAMP(6) - INTERVAL %d MICROSECOND", n) })
	return s.Exec(ctx, "INSERT INTO "+dialect.LeaseTable+" (name, holder, until) VALUES "+rows+
		" ON DUPLICATE KEY UPDATE until = VALUES(until)")
}

// Passes reads them.
func (d *Dialect) Passes(ctx context.Context, s dialect.Session) (map[string]time.Duration, error) {
	rows, err := s.Query(ctx, "SELECT name, TIMESTAMPDIFF(MICROSECOND, until, UTC_TIMESTAMP(6)) FROM "+dialect.LeaseTable+
		" WHERE name LIKE '"+dialect.PassPrefix+"%'")
	if err != nil {
		return nil, err
	}
	return dialect.ReadPasses(rows)
}
