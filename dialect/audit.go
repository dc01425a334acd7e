package dialect

import (
	"github.com/slotsql/slotsql/rewrite/schema"
)

// An Auditor converts values when totals are audited.
type Auditor interface {
	// KeyForm returns how to read the value of a key column, with %s for the column, and
	// how to compare the column with that value later, with %s for a placeholder. Both
	// are "" for a type whose values do not certainly survive that.
	KeyForm(t *schema.Table, column string) (read, bound string)
	// ValueForm returns the expression that a counter is set to, with %s for a
	// placeholder that takes a number as text.
	ValueForm(t *schema.Table, column string) string
}
