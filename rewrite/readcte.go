package rewrite

import "github.com/slotsql/slotsql/rewrite/ast"

// This file reads WITH queries: those that only read, and those that change data.

func (r *reader) ctes(sc *scope, with []*ast.CTE) error {
	for _, c := range with {
		if c.Statement != nil {
			if err := r.cteStatement(sc, c.Statement); err != nil {
				return err
			}
			continue
		}
		if c.Select == nil {
			return opaque("a WITH query has a form that slotsql does not analyze")
		}
		if err := r.cteQuery(sc, c); err != nil {
			return err
		}
	}
	return nil
}

// cteQuery looks into a WITH query. MariaDB puts it where it is named, so that
// one which is named inside an aggregate is read as if it stood there.
func (r *reader) cteQuery(sc *scope, c *ast.CTE) error {
	outer := r.aggregates
	r.aggregates = 0
	if r.inAggregate[c] {
		r.aggregates = 1
	}
	r.withQueries++
	err := r.query(r.cteScope(sc, c), c.Select)
	r.aggregates = outer
	r.withQueries--
	return err
}

// nameInside notes a WITH query that is named inside an aggregate, and has the
// statement be read again.
func (r *reader) nameInside(sc *scope, s *ast.Source) error {
	found := r.findCTE(sc, s.Name)
	if found == nil || !r.d.Traits().StrictGroups {
		return nil
	}
	c := found.cte
	if r.withNamed == nil {
		r.withNamed = map[*ast.CTE]int{}
	}
	r.withNamed[c]++
	switch {
	case r.aggregates > 0 && !r.inAggregate[c]:
		if r.inAggregate == nil {
			r.inAggregate = map[*ast.CTE]bool{}
		}
		r.inAggregate[c] = true
		return &errDerive{reason: "a WITH query is named in a subquery inside an aggregate"}
	case r.inAggregate[c] && r.withNamed[c] > 1 && r.withQueries > 0 && len(r.derived) > 0:
		// MariaDB reads it again where it is named again, and takes the sums in it for aggregates there.
		return opaque("a WITH query with totals is named twice, and inside an aggregate of another")
	}
	return nil
}

// cteStatement looks into a data-modifying CTE. One that only increments runs
// as it is; one that does anything else to a counter table cannot.
func (r *reader) cteStatement(sc *scope, st *ast.Statement) error {
	if st.Opaque != "" {
		return opaque(st.Opaque)
	}
	outer := r.outer
	r.outer = sc
	plan := r.planDML(st)
	r.outer = outer
	for i := range plan.Base.Changes {
		r.within(plan.Base.Changes[i].Table)
	}
	if plan.Increment != nil {
		r.within(plan.Increment.Table)
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
			return opaque("a WITH query changes a counter whose range or CHECK must be checked")
		}
		r.found.writes = true
	default:
		return opaque("a WITH query reads or sets a counter: " + plan.Reason)
	}
	return nil
}
