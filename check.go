package slotsql

import (
	"context"

	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/upkeep"
)

// TableStatus is what Check found of one configured table.
type TableStatus = upkeep.TableStatus

// CounterStatus is one counter of a table. Increments of a counter that is not
// slotted run on the base row, for the reason given.
type CounterStatus = upkeep.CounterStatus

// ViewStatus is one view over a configured table, and whether the
// configuration names it. Statements that name the view drain.
type ViewStatus = catalog.ViewStatus

// Check compares the configuration with the database and changes nothing. It
// returns the tables that have no problem, and all problems of the others
// together as a *ConfigError.
func Check(ctx context.Context, c *Connector) ([]TableStatus, error) {
	return upkeep.Check(ctx, c.every.Catalog)
}
