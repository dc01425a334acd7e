package session

import (
	"context"
	"database/sql/driver"

	"github.com/slotsql/slotsql/rewrite"
)

// The life of a planned query: that of execute.go, with rows for a result.

func (r *Run) query(ctx context.Context) (driver.Rows, error) {
	r.Plan.tally.ran()
	if err := r.CheckStars(ctx); err != nil {
		return nil, err
	}
	rows, err := r.QueryOnce(ctx)
	if err != nil && r.replan(ctx, err) {
		return r.QueryOnce(ctx)
	}
	return rows, err
}

// QueryOnce runs the plan's query, without planning it again where its facts no longer hold.
func (r *Run) QueryOnce(ctx context.Context) (rows driver.Rows, err error) {
	if err := r.conn.allowed(r.Plan.Plan); err != nil {
		return nil, err
	}
	if err := r.conn.beforeReadOnly(ctx, r.Plan.Plan); err != nil {
		return nil, err
	}
	if rows, done, err := r.queryTicket(ctx); done {
		r.conn.Tx.Read()
		return rows, err
	}
	defer func() { r.conn.after(r.Plan.Plan, err) }()
	if r.recalled() {
		return r.queryRecalled(ctx)
	}
	if r.conn.insertID.state != insertIDKnown && drawsNumber(r.Plan) {
		// Of a query it is not seen whether it has set the number.
		if err := r.conn.giveInsertID(ctx); err != nil {
			return nil, err
		}
	}
	if r.grouped() {
		return r.queryGrouped(ctx, r.queryClass)
	}
	return r.queryClass(ctx)
}

// queryClass runs the plan's query as its class has it.
func (r *Run) queryClass(ctx context.Context) (rows driver.Rows, err error) {
	var types []ColumnType
	broad := false
	switch r.Plan.Class {
	case rewrite.Additive, rewrite.Upsert:
		if !r.Plan.Increment.BaseExact() {
			return r.because(rowsAskedFor).queryDrained(ctx)
		}
		return r.queryChanging(ctx, []rewrite.DrainTable{r.Plan.Increment.Row})
	case rewrite.Drain:
		return r.queryDrained(ctx)
	case rewrite.Read:
		if rows, err := r.queryHeld(ctx); rows != nil || err != nil {
			return rows, err
		}
		if err := r.settle(ctx); err != nil {
			return nil, err
		}
		if r.Plan.Read.Shape != nil {
			if types, err = r.shape(ctx); err != nil {
				return nil, err
			}
		}
		if broad, err = r.broad(ctx); err != nil {
			return nil, err
		}
		if err := r.readCommitted(ctx); err != nil { // for the one statement that follows
			return nil, err
		}
	case rewrite.Multi:
		return r.queryMulti(ctx)
	case rewrite.AdditiveBase:
		if !r.baseFits() {
			return r.because(argumentUnfit).queryDrained(ctx)
		}
	}
	if len(r.Plan.Base.Changes) > 0 {
		return r.queryChanging(ctx, r.Plan.Base.Changes)
	}
	if r.probes() {
		if rows, err := r.queryProbe(ctx); rows != nil || err != nil {
			return rows, err
		}
	}
	if broad {
		rows, err = r.queryWhole(ctx)
	} else {
		rows, err = r.querySQL(ctx)
	}
	if err == nil && r.conn.Shared.Traits.LateErrors && r.Plan.Class == rewrite.Read {
		rows, err = r.firstRow(rows)
	}
	if err == nil && types != nil {
		rows = r.typed(rows, types)
	}
	return rows, err
}
