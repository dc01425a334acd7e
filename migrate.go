package slotsql

import (
	"context"

	"github.com/slotsql/slotsql/internal/upkeep"
)

// Migrate creates the missing slot tables of tables with mode on, passive or shadow, and
// the table of leases, whatever the value of auto_migrate, and returns their names. It
// adapts existing slot tables, and adds to their names what it has done:
//
//   - If the layout has become journal, it widens the slot column.
//   - If columns of counters are missing, it adds them. (docs/operations.md explains when
//     processes may count in them.)
//   - If the base table has changed, it gives the slot table the new column types,
//     foreign key and triggers, and drops columns that are no longer used.
//   - If there is a view of totals (MigrateStored) that is not as it would be created now, it is replaced.
//
// Counters that cannot be slotted are named in the log (WithLogger), with the reason.
//
// It can be run again, and by several processes at once. Problems come as a
// *ConfigError; if the configuration has any, nothing is created.
//
// The foreign key of a slot table takes a short lock on the base table, see
// docs/operations.md. If a statement is not granted the lock soon, Migrate gives it up,
// so that other sessions do not queue behind it, and retries it for a minute. A table
// with foreign_keys: false needs no such lock.
func Migrate(ctx context.Context, c *Connector) (created []string, err error) {
	return upkeep.Migrate(ctx, c.every.Catalog)
}

// DDL returns the statements that create the slot tables of tables with mode on, passive
// or shadow, and the table of leases, whether or not these exist. Comments in the
// statements name the locks that they take on base tables. If the engine has
// transactional DDL, run them in one transaction.
func DDL(ctx context.Context, c *Connector) ([]string, error) {
	return upkeep.DDL(ctx, c.every.Catalog)
}

// MigrateDown drops what Migrate has created: the slot tables, with their triggers, and
// the table of leases, and before these what MigrateStored has created. It returns the names of the dropped tables.
//
// If a slot table holds anything, MigrateDown drops nothing and returns an error: see
// Drain. It checks each table once more under a lock that keeps writers out, so that no
// increment is lost. From then on applications that still count in slots get an error.
func MigrateDown(ctx context.Context, c *Connector) (dropped []string, err error) {
	return upkeep.MigrateDown(ctx, c.every.Catalog)
}
