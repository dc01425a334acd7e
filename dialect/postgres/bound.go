package postgres

import (
	"fmt"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// Why base and slots together never overflow
//
// A total must stay inside the column's type, because reads cast it back to
// that type and a fold writes it there. An increment therefore refuses (it
// affects no row, and the caller drains and runs the plain statement, which
// then gives the plain error) unless the base value and the slot's new value
// are inside bounds that leave room for each other. Slots are written without
// seeing one another, so the bounds must add up for all of them.
//
// Let M be the integer type's 2^(B-2), half its positive range, B its width.
// The base value must be within [-M, M], and slot number i within
// [-cap(n), cap(n)] with cap(n) = (M-1) / (9n), n the configured number of
// slots. Slot i is only written while n > i, whatever n was at the time, so
// its bound was never wider than cap(i+1). The sum over all slots is then at
// most (M-1)/9 * (1 + 1/2 + ... + 1/4096), 4096 being the most slots that a
// configuration may ask for; that harmonic sum is 8.9. So the slots hold at
// most M-1 together, for any history of configurations, and a total at most
// 2M-1 = 2^(B-1)-1, the type's greatest value; on the other side it is above
// its least.
//
// For numeric(p,s) the same with R = 10^(p-s), which is just above the
// type's greatest value: the base value within R/2, the slots together within
// 8.9/18 R < 0.495 R, and a total of less than 0.995 R fits where p > 2; where
// p <= 2 the bounds of single slots round down to whole units and leave more
// room still. A numeric without precision cannot overflow in practice and has
// no bound.
//
// A new delta is within cap when it is inserted, and a slot with a delta added
// is within 2 cap before the check of its new value, so that the arithmetic in
// between fits a slot column (bigint or unconstrained numeric) too.
//
// A journal has any number of rows. Each is within 1/4096 of the room that the
// base value leaves, so that no fewer than 4096 rows of one key can fill it, and
// the roll-up moves rows long before that: see docs/design/journal.md.
const (
	maxSlots      = 4096
	harmonicBound = 9
)

// bounds returns the greatest magnitude of a base value that may be slotted
// and of a slot, as SQL literals; empty for a column without bounds.
func bounds(c *schema.Column, counter *schema.Counter) (base, slot string) {
	parts := int64(harmonicBound * min(max(counter.Slots, 1), maxSlots))
	if counter.Layout == schema.LayoutJournal {
		parts = maxSlots
	}
	switch {
	case c.Numeric == schema.Float || c.Numeric == schema.Decimal && c.Precision == 0:
		return "", ""
	case c.Numeric == schema.Decimal:
		digits := c.Precision - c.Scale
		const unit = 100_000_000 // 1e8: the factor is cut to eight decimals
		return fmt.Sprintf("5e%d", digits-1), fmt.Sprintf("%de%d", unit/(2*parts), digits-8)
	}
	half := int64(1) << (c.Bits - 2)
	return fmt.Sprint(half), fmt.Sprint((half - 1) / parts)
}

// slotType is the type of a counter's column in the slot table.
func slotType(c *schema.Column) string {
	if c.Numeric == schema.Decimal {
		return "numeric"
	}
	return "bigint"
}
