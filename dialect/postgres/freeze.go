package postgres

import "github.com/slotsql/slotsql/rewrite"

var _ rewrite.FreezingDialect = (*Dialect)(nil)

// Freeze writes the lock of a drain of all rows: no session writes slots from then on, until the
// transaction ends. At READ COMMITTED the statement behind it has a snapshot that shows them as they
// are; and where it waits for a row that another transaction changes, PostgreSQL looks at
// its condition once more, with the row as it is then and the slots of that snapshot, which are
// still those that there are. At the higher levels the snapshot may be older than the lock, and what
// has been counted since has to fail the statement: there the rows are drained.
func (d *Dialect) Freeze(t *rewrite.Table) (rewrite.ProofSQL, bool) {
	return rewrite.ProofSQL{
		Lock:    d.Lock(t, rewrite.Scope{})[0],
		Refuted: "SELECT 1 WHERE NOT (" + newSnapshot + ")",
		Holds:   newSnapshot,
	}, true
}
