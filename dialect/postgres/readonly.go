package postgres

import (
	"context"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
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

// HasSnapshot implements dialect.ReadOnlyReader.
func (*Dialect) HasSnapshot(ctx context.Context, s dialect.Session) (bool, error) {
	rows, err := s.Query(ctx, "SHOW transaction_isolation")
	if err != nil || len(rows) == 0 {
		return false, err
	}
	level := dialect.String(rows[0][0])
	return level == "repeatable read" || level == "serializable", nil
}

// Shows implements dialect.ReadOnlyReader.
func (d *Dialect) Shows(t *schema.Table) []string { return []string{rewrite.FullSlots(d, t)} }

// ReadOnlyQuery is SHOW, which takes no snapshot.
func (*Dialect) ReadOnlyQuery() string { return "SHOW transaction_read_only" }

// Refused implements dialect.ReadOnlyWatcher.
func (*Dialect) Refused(t *schema.Table) string {
	return "SELECT 1 FROM " + qualified(t.Schema, t.Name) + " WHERE false FOR UPDATE"
}
