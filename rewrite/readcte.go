package rewrite

import (
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
)

// This file reads WITH queries: those that only read, and those that change data.

func (r *reader) ctes(sc *names.Scope, with []*ast.CTE) error {
	for _, c := range with {
		if c.Statement != nil {
			if err := r.cteStatement(sc, c.Statement); err != nil {
				return err
			}
			continue
		}
		if c.Select == nil {
			return names.Opaque("a WITH query has a form that slotsql does not analyze")
		}
		if err := r.cteQuery(sc, c); err != nil {
			return err
		}
	}
	return nil
}

// cteQuery looks into a WITH query.
func (r *reader) cteQuery(sc *names.Scope, c *ast.CTE) error {
	outer := r.aggregates
	r.aggregates = 0
	err := r.query(r.p.names.CTEScope(sc, c), c.Select)
	r.aggregates = outer
	return err
}

// nameInside refuses a WITH query that may have totals and is named inside an aggregate: MariaDB puts it where it is named, and
// takes the sums in it for aggregates there.
func (r *reader) nameInside(sc *names.Scope, s *ast.Source) error {
	if r.aggregates > 0 && len(r.edits) > 0 && r.p.d.Traits().StrictGroups && r.p.names.CTE(sc, s.Name) != nil {
		return names.Opaque("a WITH query is named in a subquery inside an aggregate")
	}
	return nil
}

// cteStatement looks into a data-modifying CTE. One that only increments runs
// as it is; one that does anything else to a counter table cannot.
func (r *reader) cteStatement(sc *names.Scope, st *ast.Statement) error {
	if st.Opaque != "" {
		return names.Opaque(st.Opaque)
	}
	outer := r.p.outer
	r.p.outer = sc
	plan := r.p.planDML(st)
	r.p.outer = outer
	for i := range plan.Base.Changes {
		r.p.within(plan.Base.Changes[i].Table)
	}
	if plan.Increment != nil {
		r.p.within(plan.Increment.Table)
	}
	switch plan.Class {
	case PassThrough:
	case Read:
		// It writes another table, and sees what the whole statement sees: its
		// totals are spliced into its part of the statement.
		r.edits = append(r.edits, plan.Read.reader.edits...)
		r.stars = append(r.stars, plan.Read.reader.stars...)
		for _, t := range plan.Read.reader.tables {
			r.note(t)
		}
		if r.reason == "" {
			r.reason = plan.Read.reader.reason
		}
	case Additive, AdditiveBase, Upsert:
		if !plan.baseExact() {
			return names.Opaque("a WITH query changes a counter whose range or CHECK must be checked")
		}
		r.found.writes = true
	default:
		return names.Opaque("a WITH query reads or sets a counter: " + plan.Reason)
	}
	return nil
}
