package session

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/slotsql/slotsql/integration/twin"
)

// An increment that is sent as a query has no rows, and is counted once. One that returns
// rows may be executed.
func TestGroupedQueriesWithoutRows(t *testing.T) {
	forGroups(t, func(t *testing.T, dialect string, p *twin.Pair) {
		const times = 40
		drawn := "UPDATE stock SET n = n + 1 WHERE id = 3"
		if dialect != "mysql" {
			drawn = "UPDATE stock SET n = n + 1 WHERE id = 3 RETURNING n"
		}
		crowd(t, times, func(ctx context.Context, caller, i int) error {
			var n int64
			err := p.Wrapped.QueryRowContext(ctx, "UPDATE stock SET n = n + 1, note = 'x' WHERE id = 1").Scan(&n)
			if !errors.Is(err, sql.ErrNoRows) {
				return fmt.Errorf("a row of an UPDATE: %d, %w", n, err)
			}
			res, err := p.Wrapped.ExecContext(ctx, drawn)
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); n != 1 || err != nil {
				return fmt.Errorf("%d rows affected: %w", n, err)
			}
			return nil
		})
		if got, want := value(t, p.Wrapped, "SELECT SUM(n) FROM stock WHERE id <> 2"), fmt.Sprint(2*times*clients); got != want {
			t.Errorf("total %s, want %s", got, want)
		}
	})
}
