package slotsql

import (
	"context"

	"github.com/slotsql/slotsql/internal/upkeep"
)

// DrainOptions are the options of Drain. Zero fields are defaults.
type DrainOptions = upkeep.DrainOptions

// DrainReport is what Drain did to one table. Numbers are slot rows.
type DrainReport = upkeep.DrainReport

// Drain folds all slots of the tables into their base rows. Afterwards the base
// values are the totals, and the plain driver alone is exact, unless applications
// still count in slots. The report tells whether any did within Watch; one that
// counts less often, or is started later, is not noticed.
//
// Slots are moved by a roll-up first, while increments go on. The rest is folded
// in one transaction, which checks before its commit that the slot table is empty;
// increments wait for it. A table that cannot be locked is tried again. After an
// error each table is either drained, or as exact as before.
func Drain(ctx context.Context, c *Connector, o DrainOptions) ([]DrainReport, error) {
	return upkeep.Drain(ctx, c.every, o)
}
