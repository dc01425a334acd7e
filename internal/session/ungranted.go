package session

import (
	"context"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/catalog"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// A role may be allowed to lock or delete rows of a counter table, but not to UPDATE its counters
// or its slots. Its drains lock the base rows as always, so no other session can create slot rows
// of them. If there are none then, nothing has to be moved: base values are totals until the
// transaction ends, and the statement runs as it is. A slot row that exists, even one that holds
// nothing, may be added to without a lock on the base row; then the error names the rights to
// grant.

// learnGrants finds out what has to be granted before the session's user may drain.
func (r *Run) learnGrants(ctx context.Context) error {
	c := r.conn
	if r.ungranted = nil; !c.Origin.RoleSet() || c.Shared.Traits.RightsAreFacts {
		for i := range r.Plan.Drain.Tables {
			r.ungranted = append(r.ungranted, r.Plan.Drain.Tables[i].Table.Counter.Rights.Ungranted...)
		}
		return nil
	}
	return r.askGrants(ctx)
}

// askGrants is learnGrants for the rights that the session's user has at this moment.
func (r *Run) askGrants(ctx context.Context) error {
	c := r.conn
	d, ok := c.Shared.Dialect.(dialect.RightsReader)
	if !ok || len(r.Plan.Drain.Tables) == 0 {
		return nil
	}
	var asked []dialect.SlotTable
	for _, drained := range r.Plan.Drain.Tables {
		asked = append(asked, dialect.SlotTable{Base: drained.Table})
	}
	rights, err := d.SlotRights(ctx, c.Session(), asked)
	if err != nil {
		return err
	}
	r.ungranted = nil
	for _, right := range rights {
		r.ungranted = append(r.ungranted, catalog.Grants(right.Fold)...)
	}
	return nil
}

// lockByRights returns a drain with a lock that the session's user may take.
func (r *Run) lockByRights(d rewrite.DrainTable) rewrite.DrainTable {
	if len(r.ungranted) == 0 {
		return d
	}
	d.Lock = slices.Clone(d.Lock)
	for i := range d.Lock {
		d.Lock[i].SQL = rewrite.Whole(r.conn.Shared.Dialect.(dialect.RightsReader).OwnLock(d.Table, r.sql(&d.Lock[i])))
	}
	return d
}

// nothingToFold reports whether a drain whose rows are locked has no fold to run. A fold of
// nothing changes no row, but would fire a statement trigger. No existing slot row can be missed:
// one that is newer than the transaction's snapshot has been met by then (newerslots.go), and no
// other can be created while the lock is held.
func (r *Run) nothingToFold(ctx context.Context, d *rewrite.DrainTable) (bool, error) {
	if idle, err := r.nothingHeld(ctx, d); idle || err != nil {
		return idle, err
	}
	if !r.conn.Shared.Traits.StatementTriggers || !d.Table.Triggers.Update || d.Look.Held == nil {
		return false, nil
	}
	found, err := r.find(ctx, d.Look.Held)
	return err == nil && len(found) == 0, err
}

// nothingHeld reports whether a drain has nothing to move, for a user who may not move it. If the
// rights have been granted since, there may be.
func (r *Run) nothingHeld(ctx context.Context, d *rewrite.DrainTable) (bool, error) {
	if len(r.ungranted) == 0 || d.Look.Held == nil {
		return false, nil
	}
	found, err := r.find(ctx, d.Look.Held)
	if err != nil || len(found) == 0 {
		return err == nil, r.explainDenied(d, err)
	}
	if granted, err := r.grantedSince(ctx); granted || err != nil {
		return false, err
	}
	return false, r.refusedError(ctx, d)
}

// grantedSince reports whether the session's user has been granted what it lacked.
func (r *Run) grantedSince(ctx context.Context) (bool, error) {
	if r.conn.Shared.Traits.RightsAreFacts {
		return false, nil
	}
	err := r.askGrants(ctx)
	return err == nil && len(r.ungranted) == 0, err
}

// refusedError is the error of a statement that meets slots which the session's user may not move.
func (r *Run) refusedError(ctx context.Context, d *rewrite.DrainTable) error {
	if err := r.engineRefusal(ctx); err != nil {
		return err
	}
	return r.notGranted(d.Table, "")
}

// refusedFirst returns the engine's error for a statement whose drain locks all rows. A user who may
// not move slots may lack rights for that lock which the statement does not need, so its denial says
// nothing of the statement; and where an error ends the transaction, the engine cannot be asked then.
func (r *Run) refusedFirst(ctx context.Context, d *rewrite.DrainTable) error {
	if len(r.ungranted) == 0 || d.Keyed {
		return nil
	}
	return r.engineRefusal(ctx)
}

// engineRefusal returns the engine's error for a statement that the session's user may not run
// with the plain driver, either. EXPLAIN needs the same rights.
func (r *Run) engineRefusal(ctx context.Context) error {
	if !r.explainable() {
		return nil
	}
	c, err := r.sqlCall()
	if err != nil {
		return err
	}
	rows, err := r.conn.ParentQuery(ctx, "EXPLAIN "+r.Plan.SQL, link.JoinArgs(c.options, c.args))
	if err == nil {
		_, err = link.Collect(rows)
	}
	if err == nil || r.conn.Shared.Traits.ErrorAborts && !r.conn.InAutocommit() ||
		r.conn.Shared.Dialect.(dialect.RightsReader).DeniedRight(err) {
		return err
	}
	return nil
}

// explainable reports whether the statement is one that EXPLAIN takes and does not run.
func (r *Run) explainable() bool {
	query := r.Plan.SQL
	tokens := lex.Tokens(r.conn.Dialect().LexRules(), query)
	for i, t := range tokens {
		switch word := strings.ToUpper(query[t.Start:t.End]); {
		case word == ";" && i < len(tokens)-1: // what follows would run
			return false
		case i > 0:
		case word != "UPDATE" && word != "INSERT" && word != "REPLACE" && word != "DELETE" && word != "SELECT" && word != "WITH":
			return false
		}
	}
	return true
}

// notGranted is the error of a statement that would have to move slots. Or is an alternative to
// granting the rights.
func (r *Run) notGranted(t *rewrite.Table, or string) *link.NotMovedError {
	return &link.NotMovedError{
		Table:  t.Name,
		Reason: "the session's user may not move it: run, as the owner of table " + t.Name + ": " + strings.Join(r.ungranted, "; ") + or,
	}
}

// explainDenied explains why a drain's lock was denied. A user who may not lock a row that a key fixes is
// denied an UPDATE or an upsert of it with the plain driver, too; of other rows the engine has been asked first.
func (r *Run) explainDenied(d *rewrite.DrainTable, err error) error {
	right, ok := r.conn.Shared.Dialect.(dialect.RightsReader)
	if !ok || err == nil || len(r.ungranted) == 0 || !right.DeniedRight(err) {
		return err
	}
	if first := lex.Tokens(r.conn.Dialect().LexRules(), r.Plan.SQL); len(first) > 0 && (d.Keyed || !r.explainable()) {
		switch strings.ToUpper(r.Plan.SQL[first[0].Start:first[0].End]) {
		case "UPDATE", "INSERT":
			return err
		}
	}
	return &link.NotMovedError{Table: d.Table.Name, Reason: r.notGranted(d.Table, "").Reason, Err: err}
}
