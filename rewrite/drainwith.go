package rewrite

import (
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// A statement drains for the WITH queries in it that change data. Where it names a table
// once, as what such a query changes, it looks at no other rows of the table than those
// that the query selects, and these are drained as for the query alone:
//
//	WITH x AS (UPDATE posts SET views = 0 WHERE id = $1 RETURNING id) INSERT INTO log SELECT id FROM x

// narrowDrain drains rows of a unique key in place of all rows of a table, where only a
// WITH query names it.
func (dr *drainer) narrowDrain(plan *Plan, st *ast.Statement) *Plan {
	if plan.Class != Drain || st.Opaque != "" {
		return plan
	}
	for i := range plan.Drain.Tables {
		d := &plan.Drain.Tables[i]
		if d.Keyed {
			continue
		}
		if rows, deletes := dr.rowsOfWith(st, d.Table); rows != nil {
			*d = dr.drainTable(d.Table, rows)
			plan.Drain.Uncounted = true
			plan.Drain.Deletes = deletes && len(plan.Drain.Tables) == 1
		}
	}
	return plan
}

// rowsOfWith returns the rows of a table that a WITH query updates or deletes, and whether it deletes them; nil
// where anything else in the statement names the table, or they may be any rows.
func (dr *drainer) rowsOfWith(st *ast.Statement, t *schema.Table) (rows *rowset, deletes bool) {
	var writer *ast.Statement
	known, named := true, 0
	v := ast.Visitor{
		Statement: func(s *ast.Statement) {
			known = known && s.Opaque == ""
			if s != st && s.Target != nil && len(s.Target.Name) > 0 && dr.names.LookupCounter(s.Target.Name) == t {
				writer = s
			}
		},
		CTE: func(c *ast.CTE) { known = known && (c.Select != nil || c.Statement != nil) },
		Source: func(s *ast.Source) {
			if len(s.Name) > 0 && dr.names.LookupCounter(s.Name) == t {
				named++
			}
		},
	}
	v.Walk(st)
	if !known || named != 1 || writer == nil || writer.Kind != ast.KindUpdate && writer.Kind != ast.KindDelete || len(writer.From) > 0 {
		return nil, false
	}
	sc := dr.names.NewScope(nil, nil, []*ast.Source{writer.Target})
	if rows = dr.keys.fixedRows(sc, sc.Bindings[0], writer.Where); rows != nil {
		rows.removes = dr.removes(writer, t)
	}
	return rows, writer.Kind == ast.KindDelete
}
