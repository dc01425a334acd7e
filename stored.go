package slotsql

import (
	"context"

	"github.com/slotsql/slotsql/internal/upkeep"
)

// Stored says what of slotsql's is to be stored in the database, for triggers and for programs
// that do not use slotsql:
//
//   - Functions: <table>_count, with the values of the key, a delta for each counter and the values of
//     companions. It does what an UPDATE of the row with these would do, in a slot if another
//     transaction holds the row, and returns how many rows that would have affected. A companion
//     that is NULL stays as it is. PostgreSQL, MySQL and MariaDB have functions.
//   - Views: <table>_totals, with the table's columns in their order, and totals in place of base values.
//   - Definer: functions that are created have the rights of their owner, not those of their
//     caller.
type Stored = upkeep.Stored

// StoredStatus is a function or view of slotsql's that Check has found: its Kind, function or
// view, and Name. Older reports whether slotsql would create another one now.
type StoredStatus = upkeep.StoredStatus

// StoredDDL returns the statements that create the functions and views. Comments name
// rights that have to be granted, and why a table has no function.
func StoredDDL(ctx context.Context, c *Connector, what Stored) ([]string, error) {
	return upkeep.StoredDDL(ctx, c.every.Catalog, what)
}

// MigrateStored creates the functions and views, replaces those that are not what StoredDDL
// returns, and returns their names. The slot tables must exist: see Migrate. It can be run again. It does not
// replace anything that slotsql has not created.
//
// Functions of other arguments, and views whose columns have changed, are dropped and created. Rights on these
// have to be granted again.
func MigrateStored(ctx context.Context, c *Connector, what Stored) (created []string, err error) {
	return upkeep.MigrateStored(ctx, c.every.Catalog, what)
}

// DropStored drops the functions and views that MigrateStored has created, and returns their
// names. It drops nothing while a trigger or routine calls one of the functions.
func DropStored(ctx context.Context, c *Connector, what Stored) (dropped []string, err error) {
	return upkeep.DropStored(ctx, c.every.Catalog, what)
}

// TriggerDDL returns triggers, functions and procedures that increment a configured counter, with
// calls of the functions of StoredDDL in place of the UPDATE. Nothing is changed. Comments name what is left as it was,
// and why: an upsert, a statement that changes several rows or has other conditions than the key, a rule, dynamic SQL.
func TriggerDDL(ctx context.Context, c *Connector) ([]string, error) {
	return upkeep.TriggerDDL(ctx, c.every.Catalog)
}
