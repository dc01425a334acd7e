package rewrite

import "github.com/slotsql/slotsql/rewrite/ast"

// This file plans statements around a query that are no query themselves:
// EXPLAIN, DECLARE CURSOR, COPY (SELECT ...) TO, DO and SET with subqueries.

// planExplain plans EXPLAIN: what it explains is what slotsql runs. A write
// that only is explained changes nothing and returns no row of a table, so
// there is nothing to drain for: its own SQL is explained.
func (p *planning) planExplain(st *ast.Statement) *Plan {
	var plan *Plan
	switch {
	case st.Explained != nil:
		plan = p.planDML(st.Explained)
	default:
		plan = p.planSelect(st)
	}
	if plan.Class == PassThrough || plan.Class == Read {
		return plan
	}
	if !st.Runs {
		return &Plan{Class: PassThrough, Reason: "the explained statement does not run"}
	}
	switch plan.Class {
	case Additive, Upsert:
		if !plan.baseExact() {
			return p.drains.drainAll(p.mentions.tables(), "EXPLAIN runs an increment whose range must be checked")
		}
		return &Plan{Class: AdditiveBase, Tables: plan.Tables, Reason: "EXPLAIN runs the statement unchanged"}
	case Drain:
		// Other forms of the statement have other plans to show.
		plan.Drain.Proof, plan.Drain.LockingRead, plan.Bounded, plan.Group = nil, nil, nil, nil
		plan.Drain.Uncounted = true // what it returns are lines
	}
	return plan
}

// planReader plans a statement that reads its query and writes no table. A
// cursor's query sees what is there when the cursor is declared, slots and base
// rows of one moment.
func (p *planning) planReader(st *ast.Statement) *Plan {
	if st.Opaque != "" || st.Select == nil {
		return p.drains.drainAll(p.mentions.tables(), opaqueReason(st))
	}
	r, err := p.reading(
		p.queryReader,
		func(r *reader) error { return r.query(nil, st.Select) })
	return p.planReads(r, err, locksRows)
}
