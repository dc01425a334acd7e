package slotsql

import (
	"context"

	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/upkeep"
)

// TableStatus is what Check found of one configured table:
//
//   - Table is the table's name, Mode its mode (on, passive, shadow or off), Key its key
//     columns and Counters its counters.
//   - SlotTable is the name of its slot table, and Layout its layout: dedicated, shared or
//     journal. Missing is set if the slot table does not exist yet. Slots is the maximum
//     number of slot rows per row of the table; 0: none. LeftOver is set if there is a slot table although
//     the configuration has slots: 0.
//   - NoForeignKey is set if the slot table has no foreign key to the table: a DELETE of its
//     rows drains. Risks lists what deletes rows inside the database, unseen by slotsql.
//   - Stored are the functions and views that MigrateStored has created.
//   - Views are the views over the table, and Unnamed is a warning of those that the
//     configuration does not name.
//   - Lacks is what the session's user lacks to use the slot table, or to create it where auto_migrate
//     demands that: with such a lack a program fails to connect. FoldLacks is what it lacks to move
//     slots into base rows: statements that drain fail while there are slots.
type TableStatus = upkeep.TableStatus

// CounterStatus is one counter of a table. Column is its column. If Slotted is false,
// increments of it run on the base row; Reason is why.
type CounterStatus = upkeep.CounterStatus

// ViewStatus is one view over a configured table: View is its name, and Named reports
// whether the configuration names it. Statements that name the view drain.
type ViewStatus = catalog.ViewStatus

// Check compares the configuration with the database and changes nothing. It
// returns the tables that have no problem, and all problems of the others
// together as a *ConfigError.
func Check(ctx context.Context, c *Connector) ([]TableStatus, error) {
	return upkeep.Check(ctx, c.every.Catalog)
}
