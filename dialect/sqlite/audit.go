package sqlite

import (
	"github.com/slotsql/slotsql/rewrite/schema"
)

// KeyForm implements dialect.Auditor.
func (*Dialect) KeyForm(*schema.Table, string) (read, bound string) { return "%s", "%s" }

// ValueForm implements dialect.Auditor.
func (*Dialect) ValueForm(*schema.Table, string) string { return "CAST(%s AS NUMERIC)" }
