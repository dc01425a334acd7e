package mysql

import (
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var _ rewrite.ConflictGroupingDialect = (*Dialect)(nil)

// Amount implements rewrite.GroupingDialect. A decimal is bound as a string, which the
// server would add, and compare, as a floating-point number.
func (*Dialect) Amount(c *schema.Column, arg string) string {
	if c.Numeric == schema.Decimal {
		return "CAST(" + arg + " AS DECIMAL(65, " + strconv.Itoa(c.Scale) + "))"
	}
	return arg
}

// Stores implements rewrite.GroupingDialect. Without strict sql_mode the server stores
// the end of a type's range for what lies beyond, and counts a row that it has not
// changed as no row. What leaves the range of 64 bits it refuses in any mode.
func (*Dialect) Stores(c *schema.Column, ref, sum string) string {
	low, high := "", ""
	switch {
	case c.Numeric == schema.Decimal:
		high = "0" + strings.Repeat("9", c.Precision-c.Scale)
		if c.Scale > 0 {
			high += "." + strings.Repeat("9", c.Scale)
		}
		low = "-" + high
	case c.Bits <= 0 || c.Bits >= 64:
		return ""
	case c.Unsigned:
		high = strconv.FormatUint(1<<c.Bits-1, 10)
	default:
		high = strconv.FormatInt(1<<(c.Bits-1)-1, 10)
		low = strconv.FormatInt(-1<<(c.Bits-1), 10)
	}
	if c.Unsigned {
		low = "0"
	}
	return ref + " + " + sum + " BETWEEN " + low + " AND " + high
}

// OnlyIf implements rewrite.ConflictGroupingDialect. A subquery of two rows is an error in
// any sql_mode.
func (*Dialect) OnlyIf(predicate string) (before, after string) {
	return "IF(" + predicate + ", ", ", (SELECT 1 UNION ALL SELECT 2))"
}

// Less implements rewrite.GroupingDialect.
func (*Dialect) Less(counter, amount string) string { return "(" + counter + " - " + amount + ")" }
