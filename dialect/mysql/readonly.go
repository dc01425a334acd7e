package mysql

import (
	"context"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

// ReadTx is a transaction that sees one snapshot.
func (*Dialect) ReadTx() dialect.DrainTx {
	return dialect.DrainTx{
		Begin:  []string{"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION WITH CONSISTENT SNAPSHOT"},
		Commit: []string{"COMMIT"}, Rollback: []string{"ROLLBACK"},
	}
}

// MayLift is never: it is for servers that take no writes.
func (*Dialect) MayLift(context.Context, dialect.Session) (bool, error) { return false, nil }

// Lift is empty.
func (*Dialect) Lift() []string { return nil }

// Lower is empty.
func (*Dialect) Lower() []string { return nil }

// ChangeNothing is refused when the table is opened.
func (*Dialect) ChangeNothing(t *rewrite.Table) string {
	return "DELETE FROM " + slotTable(t) + " WHERE FALSE"
}
