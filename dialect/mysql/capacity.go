package mysql

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// Why no total can overflow.
//
// Let the column hold the values low..high. An increment lands in a slot only
// while, under the lock that it holds on the base row,
//
//	base value    within the middle half of low..high (the lower half when UNSIGNED)
//	slot number   below 4096, the most slots that a configuration may ask for
//	slot value    times (slot number + 1) within -cap..cap after the addition (0..cap when UNSIGNED)
//
// The first is a guard of the increment, the others are CHECK constraints of
// the slot table, so they hold for every writer. They say nothing of the configured
// number of slots: it may change at any time, and processes with different ones
// count side by side, in a slot table that was made for neither. So the bounds add
// up for all of them: all slots together hold at most
//
//	cap * (1 + 1/2 + 1/3 + ... + 1/4096) < 9 * cap
//
// and cap is 1/18 of the range that the guard leaves free on either side, rounded
// down. So after every increment
//
//	|total| <= |base value| + 9 * cap < high
//
// with as much again to spare for additive statements that reach the base row
// past the guard. An increment that the guard turns away affects no row, one
// that a CHECK turns away fails with an error that Overflow knows, as does one
// whose product is out of range itself; all are drained then, and the plain
// statement decides on the exact value whether there is an overflow. Sums are
// DECIMAL(65), so summing never overflows.
//
// A journal has any number of rows. What an increment puts into one is bounded
// where it is bound (package rewrite); the roll-up may put several together, up
// to half of the room. See docs/design/journal.md for what keeps their sum
// within the room.
//
// Narrow columns leave little room, so the planner slots none: a SMALLINT would
// have a cap of 910, of which slot 63 has 14.

// limits are the values that the arithmetic above allows, as SQL literals: of a
// base value, and of the first slot.
type limits struct {
	baseLow, baseHigh string
	slotLow, slotHigh string
}

const (
	maxSlots      = 4096
	harmonicBound = 9 // of 1 + 1/2 + ... + 1/maxSlots
)

func limit(c *schema.Column, counter *schema.Counter) limits {
	var half, free *big.Int
	scale := 0
	one := big.NewInt(1)
	switch c.Numeric {
	case schema.Integer:
		bits := c.Bits
		if bits == 0 {
			bits = 32
		}
		if !c.Unsigned {
			bits--
		}
		half = new(big.Int).Lsh(one, uint(bits-1)) // of 2^bits values above zero
		free = new(big.Int).Sub(half, one)
	case schema.Decimal:
		scale = c.Scale
		p := c.Precision
		if p == 0 {
			p = 10
		}
		ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(p)), nil) // in units of the last digit
		half = new(big.Int).Quo(ten, big.NewInt(2))
		free = new(big.Int).Sub(half, one)
	default:
		return limits{"0", "0", "0", "0"}
	}
	share := int64(2 * harmonicBound)
	if counter.Layout == schema.LayoutJournal {
		share = 2 // of what the roll-up has put together
	}
	slotCap := new(big.Int).Quo(free, big.NewInt(share))
	l := limits{slotHigh: decimal(slotCap, scale), baseHigh: decimal(half, scale), baseLow: "0", slotLow: "0"}
	if !c.Unsigned {
		l.slotLow = decimal(new(big.Int).Neg(slotCap), scale)
		l.baseLow = decimal(new(big.Int).Neg(half), scale)
	}
	return l
}

// decimal writes n units of 10^-scale.
func decimal(n *big.Int, scale int) string {
	if scale == 0 {
		return n.String()
	}
	digits := new(big.Int).Abs(n).String()
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale-len(digits)+1) + digits
	}
	sign := ""
	if n.Sign() < 0 {
		sign = "-"
	}
	return sign + digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
}

// Overflow reports whether an increment that failed with this server error has
// met one of its limits, so that a drain must do it: a CHECK constraint
// failed (4025 MariaDB, 3819 MySQL), a value or a sum out of range (1264,
// 1690), or a constant that an INSERT ... SELECT compares more strictly than an
// UPDATE does (1292). Only the statement itself was rolled back.
func Overflow(number uint16) bool {
	switch number {
	case 1264, 1690, 3819, 4025, 1292:
		return true
	}
	return false
}

func slotType(c *schema.Column) string {
	if c.Numeric == schema.Decimal && c.Precision > 0 {
		return fmt.Sprintf("DECIMAL(%d,%d)", c.Precision, c.Scale)
	}
	return "BIGINT"
}

func totalType(c *schema.Column) string {
	switch {
	case c.Numeric == schema.Decimal:
		return fmt.Sprintf("DECIMAL(%d,%d)", c.Precision, c.Scale)
	case c.Numeric == schema.Float: // of a counter that was an integer
		return "DOUBLE"
	case c.Unsigned:
		return "UNSIGNED"
	}
	return "SIGNED"
}
