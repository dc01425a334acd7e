package sqlite

import (
	"fmt"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var _ rewrite.GroupingDialect = (*Dialect)(nil)

// Amount implements rewrite.GroupingDialect.
func (*Dialect) Amount(_ *schema.Column, arg string) string { return arg }

// Stores implements rewrite.GroupingDialect. A value may be of any type, and an integer
// that overflows becomes a REAL, whose sums depend on their order.
func (*Dialect) Stores(_ *schema.Column, ref, _ string) string {
	return fmt.Sprintf("typeof(%s) = 'integer' AND %s BETWEEN %d AND %d", ref, ref, -baseLimit, baseLimit)
}

// Less implements rewrite.GroupingDialect. The cast gives the difference the affinity of
// a column of integers, so that a text is compared with it as with the counter.
func (*Dialect) Less(counter, amount string) string {
	return "CAST(" + counter + " - " + amount + " AS INTEGER)"
}
