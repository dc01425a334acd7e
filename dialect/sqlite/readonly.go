package sqlite

import (
	"context"
	"fmt"

	"github.com/slotsql/slotsql/dialect"
)

// ReadTx is that of the transaction which is open, or of one of its own.
func (d *Dialect) ReadTx() dialect.DrainTx { return d.Drain() }

// MayLift reports whether the session has been told to be read-only.
func (*Dialect) MayLift(ctx context.Context, s dialect.Session) (bool, error) {
	rows, err := s.Query(ctx, "PRAGMA query_only")
	if err != nil || len(rows) == 0 {
		return false, err
	}
	return fmt.Sprint(rows[0][0]) == "1", nil
}

// Lift lets the session write; not to a database that is opened for reading.
func (*Dialect) Lift() []string { return []string{"PRAGMA query_only = 0"} }

// Lower forbids it again.
func (*Dialect) Lower() []string { return []string{"PRAGMA query_only = 1"} }
