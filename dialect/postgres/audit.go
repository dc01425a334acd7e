package postgres

import "github.com/slotsql/slotsql/rewrite"

// KeyForm implements dialect.Auditor: a value travels as its text, which is the
// same in every type.
func (*Dialect) KeyForm(t *rewrite.Table, column string) (read, bound string) {
	return "CAST(%s AS text)", "CAST(CAST(%s AS text) AS " + t.Column(column).Type + ")"
}

// ValueForm implements dialect.Auditor.
func (*Dialect) ValueForm(t *rewrite.Table, column string) string {
	return "CAST(CAST(%s AS text) AS numeric)"
}
