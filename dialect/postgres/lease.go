package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/slotsql/slotsql/dialect"
)

var (
	_ dialect.Fencer    = (*Dialect)(nil)
	_ dialect.PassNoter = (*Dialect)(nil)
)

// CreateLeases writes the table of leases, behind a lock for the same reason as
// CreateSlots.
func (d *Dialect) CreateLeases() []string {
	return []string{
		"SELECT pg_catalog.pg_advisory_xact_lock(7021694113508213863)",
		"CREATE TABLE IF NOT EXISTS " + dialect.LeaseTable + " (name text PRIMARY KEY, holder text NOT NULL, until timestamp with time zone NOT NULL)",
	}
}

// Leased reads the leases that have not run out.
func (d *Dialect) Leased(ctx context.Context, s dialect.Session) (map[string]bool, error) {
	rows, err := s.Query(ctx, "SELECT name FROM "+dialect.LeaseTable+" WHERE until >= pg_catalog.clock_timestamp()")
	return dialect.LeaseNames(rows), err
}

// Lease takes a lease by one statement in autocommit.
func (d *Dialect) Lease(ctx context.Context, s dialect.Session, name, holder string, seconds int) (bool, error) {
	rows, err := s.Query(
		ctx,
		fmt.Sprintf("INSERT INTO %s AS l (name, holder, until) VALUES ($1, $2, pg_catalog.clock_timestamp() + interval '%d seconds')"+
			" ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until"+
			" WHERE l.holder = excluded.holder OR l.until < pg_catalog.clock_timestamp() RETURNING 1", dialect.LeaseTable, seconds),
		name,
		holder,
	)
	return len(rows) == 1, err
}

// Fence locks the lease's row, which any other session's Lease then waits for.
func (d *Dialect) Fence(ctx context.Context, s dialect.Session, name, holder string) (bool, error) {
	rows, err := s.Query(
		ctx,
		"SELECT 1 FROM "+dialect.LeaseTable+" WHERE name = $1 AND holder = $2 AND until >= pg_catalog.clock_timestamp() FOR UPDATE",
		name,
		holder,
	)
	return len(rows) == 1, err
}

// Release ends a lease.
func (d *Dialect) Release(ctx context.Context, s dialect.Session, name, holder string) error {
	return s.Exec(ctx, "DELETE FROM "+dialect.LeaseTable+" WHERE name = $1 AND holder = $2", name, holder)
}

// NotePasses writes all rows by one statement.
func (d *Dialect) NotePasses(ctx context.Context, s dialect.Session, begun map[string]time.Duration) error {
	rows := dialect.PassRows(begun, func(n int64) string {
		// Before PostgreSQL 15 an interval that is written in microseconds takes 35 minutes at most.
		return fmt.Sprintf("pg_catalog.clock_timestamp() - %d * interval '1 microsecond'", n)
	})
	return s.Exec(ctx, "INSERT INTO "+dialect.LeaseTable+" (name, holder, until) VALUES "+rows+
		" ON CONFLICT (name) DO UPDATE SET until = excluded.until")
}

// Passes reads them.
func (d *Dialect) Passes(ctx context.Context, s dialect.Session) (map[string]time.Duration, error) {
	rows, err := s.Query(ctx, "SELECT name, CAST(EXTRACT(EPOCH FROM pg_catalog.clock_timestamp() - until) * 1000000 AS bigint) FROM "+dialect.LeaseTable+
		" WHERE name LIKE '"+dialect.PassPrefix+"%'")
	if err != nil {
		return nil, err
	}
	return dialect.ReadPasses(rows)
}
