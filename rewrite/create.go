package rewrite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// planCreateSelect plans CREATE TABLE ... AS SELECT and SELECT ... INTO. The
// table that comes to be must be the one that the plain driver makes: its
// columns have the types of the query's columns, which PostgreSQL takes from a
// total's CAST, and SQLite from the plain column that a total's subquery ends
// with. MySQL also copies NOT NULL, DEFAULT and COMMENT of a plain column, and
// an expression has none of them: see define.
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
	if err == nil && !r.found.locks && len(r.edits) > 0 && p.d.Traits().CopiesColumns {
		if p.d.Traits().SumsSpreadNull {
			return p.drains.drainAll(mentioned, "columns of the new table would be nullable that are not with the plain driver")
		}
		if why := p.define(st, r); why != "" {
			return p.drains.drainAll(mentioned, why)
		}
	}
	return p.planReads(r, err, locksRows)
}

// define writes out the definitions of the columns that are totals, for an
// engine that would copy them from the plain column. A column that is defined
// and also selected keeps the place it has in the select list and has the
// definition's attributes. A definition that the statement gives itself
// stands already.
//
// Only whole columns of a plain block are dealt with. What an outer join, a
// grouping, a derived table or an operator makes of a column's definition is
// the engine's own affair.
func (p *planning) define(st *ast.Statement, r *reader) string {
	q := st.Select
	if st.Create == nil {
		return "cannot tell where the new table's columns are defined"
	}
	simple := len(q.Operands) == 0 && len(q.With) == 0 && len(q.GroupBy) == 0 && q.Having == nil && !q.Distinct &&
		len(q.Windows) == 0 && !outerJoins(q.From) && len(p.names.Derived) == 0 && !r.found.wholeRow
	sc := p.names.NewScope(nil, nil, q.From)
	for _, b := range sc.Bindings {
		simple = simple && b.Query == nil
	}
	if !simple {
		return "the new table would have other column definitions than with the plain driver"
	}
	var defs []string
	add := func(t *schema.Table, column string, name ast.Ident) string {
		for _, c := range st.Create.Columns {
			if p.d.SameColumn(name, c.Name) {
				return ""
			}
		}
		c := t.Column(column)
		if c.Copied == "" || c.Hidden {
			return "the definition of column " + c.Name + " cannot be written out"
		}
		defs = append(defs, p.d.Quote(name.Name)+" "+c.Copied)
		return ""
	}
	for _, it := range q.Items {
		if why := p.defineItem(sc, it, r, add); why != "" {
			return why
		}
	}
	if len(defs) == 0 {
		return ""
	}
	list := strings.Join(defs, ", ")
	if st.Create.List {
		list = ", " + list
	} else {
		list = " (" + list + ")"
	}
	r.edits = append(r.edits, edit{ast.At(st.Create.At), list})
	return ""
}

// defineItem finds the totals that an item of the select list is or, for *,
// stands for.
func (p *planning) defineItem(
	sc *names.Scope, it ast.Item, r *reader, add func(t *schema.Table, column string, name ast.Ident) string,
) string {
	e := it.Expr
	for e.Kind == ast.Paren && len(e.Args) == 1 {
		e = e.Args[0]
	}
	switch {
	case e.Kind == ast.Star:
		outs, known, err := p.names.StarOutputs(sc, e.Name)
		if err != nil || !known {
			return "cannot tell the columns of *"
		}
		for _, o := range outs {
			if o.Table == nil {
				continue
			}
			if why := add(o.Table, o.Column, o.Name); why != "" {
				return why
			}
		}
	case e.Kind == ast.ColumnRef:
		t, err := p.names.Resolve(sc, e.Name)
		if err != nil || t == nil || t.Column == nil {
			return ""
		}
		name := e.Name[len(e.Name)-1]
		if it.Alias != nil {
			name = *it.Alias
		}
		return add(t.Binding.Table, t.Column.Name, name)
	default:
		for _, x := range r.edits {
			if x.Start >= it.Expr.Start && x.End <= it.Expr.End {
				return "the new table's column would have another type than with the plain expression"
			}
		}
	}
	return ""
}
