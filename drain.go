package slotsql

import (
	"context"

	"github.com/slotsql/slotsql/internal/upkeep"
)

// DrainOptions are the options of Drain. Zero fields have defaults.
type DrainOptions = upkeep.DrainOptions

// DrainReport is what Drain did to one table. The numbers count slot rows.
type DrainReport = upkeep.DrainReport

// Drain folds all slots of the tables into their base rows. Afterwards the base values
// are the totals, and the plain driver alone is exact, unless applications still count in
// slots. The report shows whether any did so within Watch. An application that counts
// less often, or is started later, is not noticed.
//
// First a roll-up moves slots while increments go on. The rest is folded in one
// transaction, which checks before its commit that the slot table is empty; increments
// wait for that transaction. Drain retries a table that it cannot lock. After an error
// each table is either drained or as it was; totals are exact in both cases.
func Drain(ctx context.Context, c *Connector, o DrainOptions) ([]DrainReport, error) {
	return upkeep.Drain(ctx, c.every, o)
}
