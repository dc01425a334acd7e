package rewrite

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file tells whether a block computes the totals of few rows. A total costs a look for the slots of its row. For the
// rows of a key, or those that an index finds, that is cheap; for all rows of a table it may take many times as long as the
// query itself, and folding the few slots that there are costs less (ReadPlan.FoldFirst). Nothing but the cost depends on it.

// noteMany notes a block that computes the totals of many rows. Another form may serve the statement's query.
func (r *reader) noteMany(sc *names.Scope, q *ast.Select) {
	switch {
	case r.readsFew(sc, q):
	case q == r.p.main():
		r.wide = sc
	default:
		r.many = true
	}
}

// readsFew reports whether each counter table that a block reads totals of is read by an index: a condition equates a
// column with which an index begins with a constant, with a column of a block around this one, or with one of a source of
// which the same is true. Few is also what a LIMIT leaves of a list without order, groups and aggregates.
func (r *reader) readsFew(sc *names.Scope, q *ast.Select) bool {
	inside := func(e edit) bool { return e.within(q.Span) }
	if !slices.ContainsFunc(r.edits, inside) {
		return true
	}
	var conditions []*ast.Expr
	for _, s := range q.From {
		conditions = s.Conditions(conditions)
	}
	if q.Where != nil {
		conditions = append(conditions, q.Where)
	}
	var equal []*ast.Expr
	for _, c := range conditions {
		equal = append(equal, equalities(c)...)
	}
	few := map[*names.Binding]bool{}
	for grown := true; grown; {
		grown = false
		for _, b := range sc.Bindings {
			r.p.names.Work += len(equal)
			if !few[b] && slices.ContainsFunc(equal, func(e *ast.Expr) bool { return r.finds(sc, b, ast.Unparen(e), few) }) {
				few[b], grown = true, true
			}
		}
	}
	counted := func(b *names.Binding) bool { return (b.Counts || b.Derived) && !r.readsBase(b.Table) }
	return r.limited(q) || !slices.ContainsFunc(sc.Bindings, func(b *names.Binding) bool { return counted(b) && !few[b] })
}

// limited reports whether a LIMIT leaves few rows before totals are computed.
func (r *reader) limited(q *ast.Select) bool {
	if len(q.Limit) == 0 || len(q.Items) == 0 || q.Distinct || r.p.groups(q) || r.p.windowed() {
		return false
	}
	items := ast.Span{Start: q.Items[0].Start, End: q.Items[len(q.Items)-1].End}
	return !slices.ContainsFunc(r.edits, func(e edit) bool { return e.within(q.Span) && !e.within(items) })
}

// finds reports whether a condition finds rows of a source by an index, once the rows of those in few are known.
func (r *reader) finds(sc *names.Scope, b *names.Binding, e *ast.Expr, few map[*names.Binding]bool) bool {
	switch {
	case e.Kind == ast.In && !e.Negated && len(e.Args) > 1:
		return r.indexed(sc, b, e.Args[0]) && !slices.ContainsFunc(e.Args[1:], ast.HasQuery)
	case e.Kind != ast.Binary || e.Op != "=" || len(e.Args) != 2:
		return false
	}
	known := func(name []ast.Ident) bool {
		of := r.sourceOf(sc, name)
		return of == nil || few[of]
	}
	return r.indexed(sc, b, e.Args[0]) && namesOnly(e.Args[1], known, nil) || r.indexed(sc, b, e.Args[1]) && namesOnly(e.Args[0], known, nil)
}

// indexed reports whether an expression is a column of a source with which an index begins. Of a table without
// counters no indexes are looked up.
func (r *reader) indexed(sc *names.Scope, b *names.Binding, e *ast.Expr) bool {
	e = ast.Unparen(e)
	if e.Kind != ast.ColumnRef || r.sourceOf(sc, e.Name) != b {
		return false
	}
	if b.Table == nil {
		return true
	}
	name, ok := names.Column(r.p.d, b.Table, e.Name[len(e.Name)-1])
	return ok && !b.Table.IsSlotted(name) && (slices.ContainsFunc(b.Table.Storage.Orders, func(o []string) bool { return o[0] == name }) ||
		slices.ContainsFunc(b.Table.Uniques, func(u schema.Unique) bool { return len(u.Columns) > 0 && u.Columns[0] == name }))
}

// sourceOf returns the source of a block that a name is a column of; nil for a column of a block around it.
func (r *reader) sourceOf(sc *names.Scope, name []ast.Ident) *names.Binding {
	for _, b := range sc.Bindings {
		if len(name) > 1 {
			if r.p.names.SameLabel(name[len(name)-2], b.Label) {
				return b
			}
		} else if has, err := r.p.names.HasColumn(b, name[0]); err == nil && has != names.No {
			return b
		}
	}
	return nil
}
