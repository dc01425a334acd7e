package sqlite

import "github.com/slotsql/slotsql/rewrite"

var _ rewrite.FreezingDialect = (*Dialect)(nil)

// Freeze writes nothing: the statement has the one write lock before it reads.
func (*Dialect) Freeze(*rewrite.Table) (rewrite.ProofSQL, bool) { return rewrite.ProofSQL{}, true }
