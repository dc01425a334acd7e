package sqlite

import (
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var _ rewrite.ProvingDialect = (*Dialect)(nil)

// Proof writes a predicate that fails ("integer overflow") where the row has slots. It is
// exact because the statement has the one write lock before it reads: no other session counts
// before it is committed.
func (*Dialect) Proof(t *schema.Table, s rewrite.Scope) rewrite.ProofSQL {
	held := and(t.Counter.OfTable(quote, slotAlias+"."), matchTo(slotAlias, t.Counter.SlotKey(), s.Qualifier, t.Counter.Key))
	return rewrite.ProofSQL{Holds: "CASE WHEN EXISTS (SELECT 1 FROM " + slotTable(t) + " AS " + slotAlias + " WHERE " + held +
		") THEN abs(-9223372036854775808) IS NULL ELSE 1 END"}
}
