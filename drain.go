package slotsql

import (
	"context"
	"time"

	"github.com/slotsql/slotsql/internal/upkeep"
)

// DrainOptions are the options of Drain. Zero fields have defaults.
type DrainOptions struct {
	// Tables are the names of the counter tables to drain. The default is all configured
	// tables.
	Tables []string
	// Patience is how long Drain keeps trying to lock a table that other sessions have
	// locked. The default is one minute.
	Patience time.Duration
	// Watch is how long Drain looks for new slot rows after the last table has been
	// drained. The default is one second.
	Watch time.Duration
	// Progress, if set, is called with the number of slot rows after each step.
	Progress func(rows int)
}

// DrainReport is what Drain did to one table. The numbers count slot rows:
//
//   - Table is the table's name. NoSlots is set if the table has none (slots: 0).
//   - Moved is how many slot rows were folded while increments went on, and Folded how many
//     were added since, or were locked, and have been folded with the table locked.
//   - Orphans is how many had no base row and were deleted.
//   - Refilled is how many slot rows appeared afterwards: applications still count in slots.
//   - Empty is when the table was last seen without slot rows, under a lock that keeps
//     increments out; zero for a table that has not been drained. Took is how long the
//     drain took.
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
	return upkeep.Drain(ctx, c.every, upkeep.DrainOptions(o))
}
