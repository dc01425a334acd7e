package sqlite

import (
	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite/lex"
)

var _ dialect.SnapshotAware = (*Dialect)(nil)

// Defers implements dialect.SnapshotAware: BEGIN IMMEDIATE and BEGIN EXCLUSIVE
// look at the database at once.
func (*Dialect) Defers(sql string) bool {
	return !lex.ContainsFold(sql, "immediate") && !lex.ContainsFold(sql, "exclusive")
}

// AsideSession waits for no lock.
func (*Dialect) AsideSession() []string { return []string{"PRAGMA busy_timeout = 0"} }
