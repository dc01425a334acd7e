package session

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
)

// A role may be allowed to select a view, but not to move slots into the rows that the view reads.
// If the tables have no slots in the snapshot that the statement sees, their base values are the
// totals there, and nothing has to be moved. It is certain that the snapshot is the same in two
// ways: the query looks for slots itself (dialect.QueryGuard), or it runs in a transaction that
// has one snapshot for all its statements. Otherwise, or if there are slots, the error names the
// rights to grant.

// byViewAlone reports whether a statement drains only because it names views, and the
// session's user may not drain.
func (r *Run) byViewAlone(ctx context.Context) (bool, error) {
	if !r.Plan.Drain.ByView || len(r.Plan.Drain.Before)+len(r.Plan.Drain.After) > 0 {
		return false, nil
	}
	err := r.learnGrants(ctx)
	return err == nil && len(r.ungranted) > 0, err
}

// errGranted is returned, with nothing run, if the user has been granted the rights since the
// facts were read: membership in a role leaves no mark that the watch would notice.
var errGranted = errors.New("slotsql: rights have been granted")

// refuseUnlessGranted returns the error of a statement that would have to move slots. If the user
// may do so by now, that is errGranted, and the facts are read again for later statements.
func (r *Run) refuseUnlessGranted(ctx context.Context, or string) error {
	t := r.Plan.Drain.Tables[0].Table
	if !r.conn.Shared.Traits.RightsAreFacts {
		if err := r.askGrants(ctx); err != nil {
			return r.conn.Lost(err)
		}
		if len(r.ungranted) == 0 {
			r.conn.Shared.Expire()
			return errGranted
		}
	}
	return r.notGranted(t, or)
}

// runByView runs such a statement.
func (r *Run) runByView(ctx context.Context) (a answer, err error) {
	isBare := r.bareToAll
	if r.call.wantsRows {
		isBare = r.bare
	}
	if g, ok := r.conn.Shared.Dialect.(dialect.QueryGuard); ok && r.call.wantsRows {
		var checks []string
		for _, d := range r.Plan.Drain.Tables {
			checks = append(checks, rewrite.FullSlots(r.conn.Dialect(), d.Table))
		}
		if query := g.Guarded(r.Plan.SQL, checks); query != "" {
			a.rows, err = r.queryGuarded(ctx, g, query)
			return a, err
		}
	}
	err = r.inOneSnapshot(ctx, isBare, func() (err error) {
		a, _, err = r.sendCounted(ctx)
		return err
	})
	if err != nil {
		return answer{}, err
	}
	return a, nil
}

// queryGuarded runs a query that fails if there are slots. In a transaction it runs under a
// savepoint, so that the transaction can go on.
func (r *Run) queryGuarded(ctx context.Context, g dialect.QueryGuard, query string) (driver.Rows, error) {
	open, err := r.conn.InTransaction(ctx)
	if err != nil {
		return nil, err
	}
	guarded := *r.Plan.Plan
	guarded.SQL = query
	for tries := 0; ; tries++ {
		if open {
			if err := r.exec(ctx, savepoint); err != nil {
				return nil, err
			}
		}
		rows, err := direct{r.conn}.querySQL(ctx, &guarded, r.call)
		if err == nil {
			rows, err = readBuffered(rows)
		}
		found := err != nil && g.Guard(err)
		if open && (err == nil || found) {
			if found {
				if err := r.exec(ctx, rollbackSavepoint); err != nil {
					return nil, err
				}
			}
			if err := r.exec(ctx, releaseSavepoint); err != nil {
				return nil, err
			}
		}
		switch {
		case found:
		case err != nil:
			return nil, err
		default:
			return rows, nil
		}
		if err := r.foldAsideOrRefuse(ctx, tries); err != nil {
			return nil, err
		}
	}
}

// inOneSnapshot runs a statement in a transaction with one snapshot that shows no slots: the
// application's, if it has such a snapshot, or else one of slotsql's own.
func (r *Run) inOneSnapshot(ctx context.Context, isBare func(context.Context) (bool, error), statement func() error) error {
	c := r.conn
	d := c.Shared.Dialect.(dialect.RightsReader)
	open, err := c.InTransaction(ctx)
	if err != nil {
		return err
	}
	if open {
		if has, err := r.hasSnapshot(ctx, d); err != nil {
			return err
		} else if !has {
			return r.refuseUnlessGranted(ctx, "; or read the view outside a transaction, or at REPEATABLE READ")
		}
	}
	for tries := 0; ; tries++ {
		before, after := d.SnapshotTx()
		if !open {
			if err := c.Session().ExecAll(ctx, before); err != nil {
				return err
			}
		}
		end, err := c.BeginOwn(ctx)
		if err != nil {
			return err
		}
		if !open {
			err = c.Session().ExecAll(ctx, after)
		}
		bare := false
		if err == nil {
			bare, err = isBare(ctx)
		}
		if err == nil && bare {
			return end(statement())
		}
		if eerr := end(err); eerr != nil {
			return eerr
		}
		if open {
			tries = maxReadOnlyTries // the snapshot stays as it is
		}
		if err := r.foldAsideOrRefuse(ctx, tries); err != nil {
			return err
		}
	}
}

// bareToAll is bare for a statement that may write. Where such a statement reads with locks rather
// than from the snapshot (InnoDB), it also keeps other sessions from creating slots.
func (r *Run) bareToAll(ctx context.Context) (bool, error) {
	if _, ok := r.conn.Shared.Dialect.(dialect.ReadOnlyErrorClassifier); ok {
		return r.holdBare(ctx)
	}
	return r.bare(ctx)
}

func (r *Run) hasSnapshot(ctx context.Context, d dialect.RightsReader) (bool, error) {
	if begun := sql.IsolationLevel(r.conn.begun); begun != sql.LevelDefault {
		return begun >= sql.LevelRepeatableRead, nil
	}
	return d.HasSnapshot(ctx, r.conn.Session())
}

// foldAsideOrRefuse moves the slots on a side connection, whose user may have the rights that a
// role of this session lacks.
func (r *Run) foldAsideOrRefuse(ctx context.Context, tries int) error {
	if !r.conn.Origin.RoleSet() || tries >= maxReadOnlyTries || !r.conn.Shared.OpensAside {
		return r.refuseUnlessGranted(ctx, "")
	}
	if err := r.foldAside(ctx); err != nil {
		if d := r.conn.Shared.Dialect.(dialect.RightsReader); d.DeniedRight(err) {
			return r.refuseUnlessGranted(ctx, "")
		}
		return err
	}
	return nil
}
