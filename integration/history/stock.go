package history

import (
	"context"

	"github.com/slotsql/slotsql/integration/twin"
)

// stock has some clients take one unit each of the rows that the plan says, before the history
// begins: slots hold portions then, which a history is too short and its rows too busy for. The rows
// are inserted with as much more.
func (r *runner) stock(ctx context.Context, h *History) error {
	for k, clients := range r.stocked {
		for c := range clients {
			query, args := r.statement(h.Table, &Op{Kind: Take, Key: k, N: 1})
			if err := besideRollUps(func() error {
				tx, err := r.conns[c].BeginTx(ctx, nil)
				if err != nil {
					return err
				}
				defer func() { _ = tx.Rollback() }()
				if _, err := tx.ExecContext(ctx, twin.Placeholders(r.dialect, query), args...); err != nil {
					return err
				}
				return tx.Commit()
			}); err != nil {
				return err
			}
		}
	}
	return nil
}
