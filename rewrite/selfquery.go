package rewrite

import (
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// An ORM that updates through a query of the same table writes
//
//	UPDATE t SET ... WHERE id IN (SELECT T0.id FROM t T0 WHERE T0.id = ?)
//
// The rows that such a subquery gives have the values that it compares its own
// column with, so the column is fixed to these values in the statement, too.

// selfValues returns the constants to which column IN (subquery), or column =
// (subquery), fixes a column of the table; only reports whether the predicate is no
// narrower than that.
func (kf *keyFinder) selfValues(sc *names.Scope, t *schema.Table, column string, q *ast.Select) (values []*ast.Expr, only bool) {
	if q == nil || len(q.Operands) > 0 || len(q.With) > 0 || len(q.From) != 1 || len(q.Items) != 1 || len(q.Values) > 0 || q.Lock ||
		q.Table {
		return nil, false
	}
	item := q.Items[0].Expr
	src := kf.names.NewScope(sc, nil, q.From).Bindings[0]
	if item == nil || item.Kind != ast.ColumnRef || len(src.Columns) > 0 ||
		len(item.Name) > 1 && !kf.names.SameLabel(item.Name[len(item.Name)-2], src.Label) {
		return nil, false
	}
	name := item.Name[len(item.Name)-1]
	plain := len(q.GroupBy) == 0 && q.Having == nil && len(q.Limit) == 0
	if in := src.Source.Select; in != nil {
		if len(in.Items) != 1 || in.Items[0].Expr == nil || in.Items[0].Expr.Kind != ast.ColumnRef {
			return nil, false
		}
		inner := in.Items[0].Expr.Name
		out := inner[len(inner)-1]
		if a := in.Items[0].Alias; a != nil {
			out = *a
		}
		if !kf.d.SameColumn(name, out.Name) {
			return nil, false
		}
		values, only = kf.selfValues(sc, t, column, in)
		return values, only && plain && q.Where == nil
	}
	if src.Table != t || src.Query != nil || !kf.selfColumn(item, t, column, src.Label) || q.Where == nil {
		return nil, false
	}
	all := ast.Conjuncts(q.Where, nil)
	for _, c := range all {
		e := ast.Unparen(c)
		var list []*ast.Expr
		switch {
		case e.Kind == ast.Binary && e.Op == "=" && len(e.Args) == 2:
			l, r := ast.Unparen(e.Args[0]), ast.Unparen(e.Args[1])
			if l.Kind != ast.ColumnRef {
				l, r = r, l
			}
			if kf.selfColumn(l, t, column, src.Label) {
				list = []*ast.Expr{r}
			}
		case e.Kind == ast.In && !e.Negated && len(e.Args) > 1 && kf.selfColumn(ast.Unparen(e.Args[0]), t, column, src.Label):
			list = e.Args[1:]
		}
		for _, v := range list {
			if !ast.Constant(v) || v.Kind == ast.Null {
				list = nil
				break
			}
		}
		if len(list) > 0 && (values == nil || len(list) < len(values)) {
			values = list
		}
	}
	return values, plain && len(all) == 1
}

func (kf *keyFinder) selfColumn(e *ast.Expr, t *schema.Table, column string, label ast.Ident) bool {
	if e.Kind != ast.ColumnRef || len(e.Name) > 1 && !kf.names.SameLabel(e.Name[len(e.Name)-2], label) {
		return false
	}
	stored, has := names.Column(kf.d, t, e.Name[len(e.Name)-1])
	return has && stored == column
}

// oneOf writes column IN (values).
func (kf *keyFinder) oneOf(b *names.Binding, column string, values []*ast.Expr) fragment {
	var list []fragment
	for _, v := range values {
		list = append(list, kf.src.cut(v.Span))
	}
	f := join(list, ", ")
	f.parts[0] = kf.names.Qualifier(b) + "." + kf.d.Quote(column) + " IN (" + f.parts[0]
	f.parts[len(f.parts)-1] += ")"
	return f
}

// readsItself reports whether a subquery of e names the statement's table other
// than in a derived table, which an engine computes before it updates.
func (m *dml) readsItself(e *ast.Expr) bool {
	found := false
	var source func(s *ast.Source)
	var query func(q *ast.Select)
	expr := func(e *ast.Expr) {
		e.Walk(func(x *ast.Expr) bool {
			query(x.Query)
			return !found
		})
	}
	source = func(s *ast.Source) {
		if s == nil || found {
			return
		}
		found = len(s.Name) > 0 && m.p.names.LookupCounter(s.Name) == m.table
		source(s.Left)
		source(s.Right)
		expr(s.On)
	}
	query = func(q *ast.Select) {
		if q == nil {
			return
		}
		for _, o := range q.Operands {
			query(o)
		}
		for _, s := range q.From {
			source(s)
		}
		for _, it := range q.Items {
			expr(it.Expr)
		}
		expr(q.Where)
		expr(q.Having)
	}
	expr(e)
	return found
}
