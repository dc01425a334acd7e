package mysql

import (
	"context"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

var _ dialect.ReadOnlyAsker = (*Dialect)(nil)

// AsksReadOnly implements dialect.ReadOnlyAsker. An account that may write all the same makes no
// tables there, either: on a replica they would be the replica's own.
func (*Dialect) AsksReadOnly(ctx context.Context, s dialect.Session) (bool, error) {
	rows, err := s.Query(ctx, "SHOW VARIABLES WHERE Variable_name IN ('read_only', 'innodb_read_only', 'tx_read_only', 'transaction_read_only')")
	for _, r := range rows {
		if on := dialect.String(r[1]); !strings.EqualFold(on, "OFF") && on != "0" {
			return true, err
		}
	}
	return false, err
}

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
