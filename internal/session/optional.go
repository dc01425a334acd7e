package session

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/slotsql/slotsql/internal/link"
)

// A statement that changes a counter table's definition folds its slots first. Where
// that fails, for a CHECK constraint that a total violates, say, the statement may
// be what has it succeed again: DROP CONSTRAINT, a wider type, DROP TABLE. Where it
// leaves what slots hold as it is, it runs without the fold; see
// rewrite.DrainPlan.FoldOptional.

const (
	optionalSavepoint = "SAVEPOINT slotsql_optional"
	optionalRollback  = "ROLLBACK TO SAVEPOINT slotsql_optional"
	optionalRelease   = "RELEASE SAVEPOINT slotsql_optional"
)

func (r *Run) execOptional(ctx context.Context) (driver.Result, error) {
	marked := false
	if r.conn.Shared.Traits.ErrorAborts {
		var err error
		if marked, err = r.conn.InTransaction(ctx); err != nil {
			return nil, err
		}
	}
	if marked {
		if err := r.control(ctx, optionalSavepoint); err != nil {
			return nil, err
		}
	}
	res, err := r.execWhole(ctx, r.drainAndExec)
	var refused *link.NotMovedError
	if err != nil && errors.As(err, &refused) && !r.conn.Broken {
		if marked {
			if err := r.control(ctx, optionalRollback); err != nil {
				return nil, err
			}
		}
		plain := *r.Plan.Plan
		plain.Drain.Tables = nil
		without := r.conn.run(&plan{Plan: &plain, tally: r.Plan.tally, learned: &learned{}}, r.via, r.call)
		res, err = without.execWhole(ctx, without.drainAndExec)
	}
	if err == nil && marked {
		err = r.control(ctx, optionalRelease)
	}
	return res, err
}
