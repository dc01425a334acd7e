package slotsql

import (
	"context"

	"github.com/slotsql/slotsql/internal/upkeep"
)

// Migrate creates the missing slot tables of tables with mode on, passive or
// shadow, and the table of leases, whatever auto_migrate says, and returns their
// names. Slot tables that exist are adapted, and named with what was done:
//
//   - one whose layout becomes journal is widened,
//   - one that lacks columns of counters gets them (docs/operations.md says when
//     processes may count in them),
//   - one whose base table has changed gets the new column types, foreign key and
//     triggers, and loses columns that are no longer used.
//
// It can be run again, and by several processes at once. Problems come as a
// *ConfigError; if the configuration has any, nothing is created.
//
// The foreign key of a slot table takes a short lock on the base table, see
// docs/operations.md. Migrate gives up a statement that does not get the lock
// soon, so that other sessions do not queue behind it, and retries it for a
// minute. A table with foreign_keys: false needs no such lock.
func Migrate(ctx context.Context, c *Connector) (created []string, err error) {
	return upkeep.Migrate(ctx, c.every.Catalog)
}

// DDL returns the statements that create the slot tables of tables with mode on,
// passive or shadow, and the table of leases, whether these exist or not. Comments
// in them name the locks that they take on base tables. Where the engine has
// transactional DDL, run them in one transaction.
func DDL(ctx context.Context, c *Connector) ([]string, error) {
	return upkeep.DDL(ctx, c.every.Catalog)
}

// MigrateDown drops what Migrate has created: the slot tables, with their
// triggers, and the table of leases. It returns the tables that it has dropped.
//
// If a slot table holds anything it drops nothing and returns an error: see
// Drain. Each table is checked once more under a lock that keeps writers out, so
// that no increment is dropped. From then on applications that still count in
// slots get an error.
func MigrateDown(ctx context.Context, c *Connector) (dropped []string, err error) {
	return upkeep.MigrateDown(ctx, c.every.Catalog)
}
