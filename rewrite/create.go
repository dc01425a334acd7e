package rewrite

import "github.com/slotsql/slotsql/rewrite/ast"

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
