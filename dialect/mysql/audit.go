package mysql

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// KeyForm implements dialect.Auditor.
func (*Dialect) KeyForm(t *schema.Table, column string) (read, bound string) {
	f := keyForm(t, column)
	return f.read, strings.Replace(f.bound, "?", "%s", 1)
}

// ValueForm implements dialect.Auditor. Text would be compared, and rounded, as
// a floating-point number.
func (*Dialect) ValueForm(t *schema.Table, column string) string {
	return "CAST(%s AS DECIMAL(65, 10))"
}
