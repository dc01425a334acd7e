package postgres

import (
	"github.com/slotsql/slotsql/rewrite/schema"
)

// KeyForm implements dialect.Auditor: a value travels as its text.
func (*Dialect) KeyForm(t *schema.Table, column string) (read, bound string) {
	return textForm(t.Column(column).Type), keyValue(t, column, "CAST(%s AS text)")
}

// ValueForm implements dialect.Auditor.
func (*Dialect) ValueForm(t *schema.Table, column string) string {
	return "CAST(CAST(%s AS text) AS numeric)"
}
