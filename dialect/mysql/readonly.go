package mysql

import (
	"context"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
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

// HasSnapshot implements dialect.ReadOnlyReader.
func (d *Dialect) HasSnapshot(ctx context.Context, s dialect.Session) (bool, error) {
	rows, err := s.Query(ctx, "SELECT "+d.level())
	if err != nil || len(rows) == 0 {
		return false, err
	}
	return d.GapLocks(dialect.String(rows[0][0])), nil
}

// Shows implements dialect.ReadOnlyReader: a routine may read with locks, and then reads what is newest. The shared lock is on the gaps
// of the slot table, too.
func (d *Dialect) Shows(t *schema.Table) []string {
	full := rewrite.FullSlots(d, t)
	return []string{full, full + " LOCK IN SHARE MODE"}
}
