package sqlite

import "github.com/slotsql/slotsql/rewrite"

// KeyForm implements dialect.Auditor.
func (*Dialect) KeyForm(*rewrite.Table, string) (read, bound string) { return "%s", "%s" }

// ValueForm implements dialect.Auditor.
func (*Dialect) ValueForm(*rewrite.Table, string) string { return "CAST(%s AS NUMERIC)" }
