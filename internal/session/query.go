package session

import (
	"context"

	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// reading is the execution of a query of counters.
type reading struct {
	run  *Run
	conn *Conn
}

func readingOf(r *Run) reading { return reading{r, r.conn} }

// ownChanges is for a transaction that has changed rows. It either reads them itself, or drains those of the statement's tables.
func ownChanges(ctx context.Context, r *Run) (a answer, done bool, err error) {
	if c := r.conn; len(c.changes)+len(c.late) == 0 || readingOf(r).ofAnotherRow() {
		if !c.InAutocommit() {
			noteRead(c, r.Plan.Touched)
		}
		return answer{}, false, nil
	}
	if r.call.wantsRows {
		if a.rows, err = readingOf(r).queryHeld(ctx); a.rows != nil || err != nil {
			return a, true, err
		}
	}
	return answer{}, false, rowChangesOf(r).drainChanges(ctx, r.Plan.Touched)
}

// rowRead returns the table and the key, of whole numbers, of the one row that the query reads; nil for any other query or key.
func (rd reading) rowRead() (*schema.Table, []string) {
	o := rd.run.Plan.Read.Observed
	if o == nil || o.Row == nil {
		return nil, nil
	}
	t := rd.run.Plan.Touched[0]
	return t, rd.run.args().WholeNumbers(t, o.Row.Key)
}

// ofAnotherRow reports whether the query reads one row by a key that is none of those that the transaction has changed. It sees nothing
// of these changes then, wherever they are, so that they need not be drained.
func (rd reading) ofAnotherRow() bool {
	t, key := rd.rowRead()
	if key == nil {
		return false
	}
	for _, ch := range rd.conn.changed() {
		if ch.of(t) && maybeSame(ch.key, key) {
			return false
		}
	}
	return true
}

// observed runs the query as the application wrote it, if its tables have no slots.
func observed(ctx context.Context, r *Run) (a answer, done bool, err error) {
	rd := readingOf(r)
	if !rd.observes() {
		return answer{}, false, nil
	}
	if a.rows, err = rd.queryObserved(ctx); a.rows == nil {
		return answer{}, false, err
	}
	r.Plan.tally.observed.Add(1)
	return a, true, err
}

// foldedFirst runs it so once its tables have none.
func foldedFirst(ctx context.Context, r *Run) (a answer, done bool, err error) {
	if a.rows, err = readingOf(r).foldFirst(ctx); a.rows == nil {
		return answer{}, false, err
	}
	r.Plan.tally.folded.Add(1)
	return a, true, err
}

// addedUp runs the statement in the form that is exact beside slots.
func addedUp(ctx context.Context, r *Run) (a answer, done bool, err error) {
	before := r.Plan
	if err := r.CheckStars(ctx); err != nil {
		return answer{}, false, err
	}
	if r.Plan != before && r.Plan.Class != rewrite.Read {
		a, err = r.try(ctx, r.Plan.ways)
	} else {
		a, err = readingOf(r).readExact(ctx)
	}
	return a, true, err
}

// readExact is addedUp with columns that are known to be current.
func (rd reading) readExact(ctx context.Context) (a answer, err error) {
	var types []ColumnType
	if rd.run.call.wantsRows {
		if rd.run.Plan.Read.Types != nil {
			if types, err = rd.queryShape(ctx); err != nil {
				return answer{}, err
			}
		}
	}
	if err := rd.readCommitted(ctx); err != nil { // for the one statement that follows
		return answer{}, err
	}
	if !rd.run.call.wantsRows || len(rd.run.Plan.Base.Changes) > 0 {
		return rd.run.runOnBase(ctx)
	}
	rd.run.Plan.tally.exact.Add(1)
	a, err = rd.run.send(ctx)
	if err == nil && rd.conn.Shared.Traits.LateErrors {
		a.rows, err = rd.firstRow(a.rows)
	}
	if err == nil && types != nil {
		a.rows = rd.withTypes(a.rows, types)
	}
	return a, err
}
