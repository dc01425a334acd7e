package postgres

import (
	"context"

	"github.com/slotsql/slotsql/dialect"
)

// ReadTx is a transaction that sees one snapshot, on a standby too, where
// SERIALIZABLE cannot be had.
func (*Dialect) ReadTx() dialect.DrainTx {
	return dialect.DrainTx{
		Begin:    []string{"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"},
		Commit:   []string{"COMMIT"},
		Rollback: []string{"ROLLBACK"},
	}
}

// MayLift reports whether the server writes: the session's default does not bind a
// transaction that says otherwise.
func (*Dialect) MayLift(ctx context.Context, s dialect.Session) (bool, error) {
	rows, err := s.Query(ctx, "SELECT pg_catalog.pg_is_in_recovery()")
	if err != nil || len(rows) == 0 {
		return false, err
	}
	replica, _ := rows[0][0].(bool)
	return !replica, nil
}

// Lift comes before a transaction's first query.
func (*Dialect) Lift() []string { return []string{"SET TRANSACTION READ WRITE"} }

// Lower leaves what has been written.
func (*Dialect) Lower() []string { return []string{"SET TRANSACTION READ ONLY"} }

// ReadOnlyQuery is SHOW, which takes no snapshot.
func (*Dialect) ReadOnlyQuery() string { return "SHOW transaction_read_only" }

// AppliedQuery asks for the place in the primary's log. It moves on after a
// transaction has become visible, and before the next one does.
func (*Dialect) AppliedQuery() string {
	return "SELECT COALESCE(CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn()::pg_catalog.text END, '')"
}

// LockPatience is lock_timeout.
func (*Dialect) LockPatience() (ask, set string) {
	return "SHOW lock_timeout", "SELECT pg_catalog.set_config('lock_timeout', $1, true)"
}
