package dialect

import (
	"context"
	"database/sql/driver"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// A ReadOnlyAsker is for an engine whose parent may close the connection on which a write was
// refused (rejectReadOnly of go-sql-driver/mysql), so that slotsql asks before it writes for itself.
type ReadOnlyAsker interface {
	// AsksReadOnly reports whether the server, or the session, accepts no writes.
	AsksReadOnly(ctx context.Context, s Session) (bool, error)
}

// A ReadOnlyReader is for an engine with transactions that see one snapshot of the
// database: if that shows no slots, base values are totals.
type ReadOnlyReader interface {
	// ReadTx writes a transaction of slotsql's own whose queries see one snapshot.
	ReadTx() DrainTx
	// HasSnapshot reports whether all queries of the open transaction see one snapshot.
	HasSnapshot(ctx context.Context, s Session) (bool, error)
	// Shows writes queries, each of which returns a row if there are slots: in the snapshot, and, where
	// statements that lock rows read newer ones, in those, which they keep as they are until the transaction ends.
	Shows(t *schema.Table) []string
}

// A ReadOnlyWatcher is for an engine where an error aborts the transaction, so that
// slotsql has to know beforehand whether a transaction may write.
type ReadOnlyWatcher interface {
	// ConnReadOnly reports whether transactions of the connection may be READ ONLY
	// without a statement that requests it.
	ConnReadOnly(driver.Conn) bool
	// ReadOnlyQuery asks whether the open transaction is: "on". It takes no snapshot.
	ReadOnlyQuery() string
	// Refused writes a statement that such a transaction refuses at once, without waiting for a row.
	Refused(t *schema.Table) string
}
