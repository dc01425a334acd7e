package dialect

import "github.com/slotsql/slotsql/rewrite"

// An Auditor says how values travel when totals are audited.
type Auditor interface {
	// KeyForm is how a key column's value leaves the database, with %s for the
	// column, and how it comes back as what the column is compared with, with %s
	// for a placeholder. Both are "" for a type whose values are not certain to
	// come back as the same.
	KeyForm(t *rewrite.Table, column string) (read, bound string)
	// ValueForm is what a counter is set to, with %s for a placeholder, which
	// takes a number as text.
	ValueForm(t *rewrite.Table, column string) string
}
