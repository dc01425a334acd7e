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

// foldOptional runs such a statement.
func foldOptional(ctx context.Context, r *Run) (a answer, done bool, err error) {
	if !r.Plan.Drain.FoldOptional {
		return answer{}, false, nil
	}
	a, err = r.drainOf(&r.Plan.Drain).optional(ctx)
	return a, true, err
}

// optional drains and runs the statement, or only runs it if the fold fails.
func (dr *drain) optional(ctx context.Context) (answer, error) {
	marked := false
	if dr.conn.Shared.Traits.ErrorAborts {
		var err error
		if marked, err = dr.conn.InTransaction(ctx); err != nil {
			return answer{}, err
		}
	}
	if marked {
		if err := dr.run.exec(ctx, optionalSavepoint); err != nil {
			return answer{}, err
		}
	}
	a, err := dr.retried(ctx)
	var refused *link.NotMovedError
	if err != nil && errors.As(err, &refused) && !dr.conn.Rare.Any(link.Broken) {
		if marked {
			if err := dr.run.exec(ctx, optionalRollback); err != nil {
				return answer{}, err
			}
		}
		without := *dr.form
		without.Tables = nil
		a, err = dr.run.drainOf(&without).retried(ctx)
	}
	if err == nil && marked {
		if a, _, err = a.counted(); err == nil {
			err = dr.run.exec(ctx, optionalRelease)
		}
	}
	return a, err
}
