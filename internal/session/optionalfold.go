package session

import (
	"context"
	"errors"

	"github.com/slotsql/slotsql/internal/link"
)

// A statement that changes the definition of a counter table folds its slots first. If that fails,
// because of a CHECK constraint that a total violates, say, the statement may be the very one that
// makes it succeed again: DROP CONSTRAINT, a wider type, DROP TABLE. If it leaves what the slots
// hold as it is, it runs without the fold; see rewrite.DrainPlan.FoldOptional.

const (
	optionalSavepoint = "SAVEPOINT slotsql_optional"
	optionalRollback  = "ROLLBACK TO SAVEPOINT slotsql_optional"
	optionalRelease   = "RELEASE SAVEPOINT slotsql_optional"
)

func (r *Run) runOptional(ctx context.Context) (answer, error) {
	marked := false
	if r.conn.Shared.Traits.ErrorAborts {
		var err error
		if marked, err = r.conn.InTransaction(ctx); err != nil {
			return answer{}, err
		}
	}
	if marked {
		if err := r.exec(ctx, optionalSavepoint); err != nil {
			return answer{}, err
		}
	}
	a, err := r.runWithRetries(ctx, r.drainAndRun)
	var refused *link.NotMovedError
	if err != nil && errors.As(err, &refused) && !r.conn.Broken {
		if marked {
			if err := r.exec(ctx, optionalRollback); err != nil {
				return answer{}, err
			}
		}
		plain := *r.Plan.Plan
		plain.Drain.Tables = nil
		without := r.conn.newRun(r.Plan.variant(&plain), r.sender, r.call)
		a, err = without.runWithRetries(ctx, without.drainAndRun)
	}
	if err == nil && marked {
		if a, _, err = a.counted(); err == nil {
			err = r.exec(ctx, optionalRelease)
		}
	}
	return a, err
}
