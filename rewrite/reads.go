package rewrite

import "github.com/slotsql/slotsql/rewrite/ast"

// This file plans statements around a query that are no query themselves:
// EXPLAIN, DECLARE CURSOR, COPY (SELECT ...) TO, DO and SET with subqueries, CREATE TABLE AS.

// planExplain plans EXPLAIN. Where what it explains does not run, nothing is read of a counter; where that runs, rows are counted
// by totals.
func (p *planning) planExplain(st *ast.Statement) *Plan {
	if st.Runs {
		return p.drains.drainAll(p.mentions.tables(), "EXPLAIN runs the statement")
	}
	return &Plan{Class: PassThrough, Reason: "the explained statement does not run"}
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

// planCreateSelect plans CREATE TABLE ... AS SELECT and SELECT ... INTO. The
// table that comes to be must be the one that the plain driver makes: its
// columns have the types of the query's columns, which PostgreSQL takes from a
// total's CAST, and SQLite from the plain column that a total's subquery ends
// with.
func (p *planning) planCreateSelect(st *ast.Statement) *Plan {
	mentioned := p.mentions.tables()
	switch {
	case st.Opaque != "" || st.Select == nil || len(st.Tables) == 0:
		return p.drains.drainAll(mentioned, opaqueReason(st))
	case p.names.LookupCounter(st.Tables[0]) != nil:
		return p.drains.drainAll(mentioned, "the statement creates a table with the name of a counter table")
	}
	r, err := p.reading(
		func() *reader { return &reader{p: p} },
		func(r *reader) error { return r.query(nil, st.Select) })
	return p.planReads(r, err, locksRows)
}
