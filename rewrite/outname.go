package rewrite

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
)

// This file tells names of result columns, which are totals already, from names
// of base columns.

// outputName reports whether an unqualified name in ORDER BY or HAVING means a
// result column, which is a total already and stays as it is. wholeEntry reports whether
// e is a whole ORDER BY entry, where every engine looks at result columns
// first; inside an expression the engines differ.
func (nm itemNames) outputName(e *ast.Expr, in clause, wholeEntry bool) (bool, error) {
	if nm.b.q == nil || e.Kind != ast.ColumnRef || len(e.Name) != 1 {
		return false, nil
	}
	traits := nm.p.d.Traits()
	switch in {
	case inOrder:
		if !wholeEntry && !traits.AliasInExpr {
			return false, nil
		}
	case inHaving:
		if !traits.HavingAlias {
			return false, nil
		}
	default:
		return false, nil
	}
	t, err := nm.p.names.Resolve(nm.b.sc, e.Name)
	if err != nil {
		return false, err
	}
	if wholeEntry && nm.severalHave(e.Name[0]) {
		return false, names.Opaque("ORDER BY names several result columns: MySQL may take another one of them, or none")
	}
	for _, it := range nm.b.q.Items {
		name, same, err := nm.itemMeans(it, t)
		if err != nil {
			return false, err
		}
		if name == nil || !nm.p.names.SameLabel(e.Name[0], *name) {
			continue
		}
		switch edited, derived := nm.twice(e.Name[0]); {
		case derived && in == inHaving:
			return false, names.Opaque("two result columns are named " + name.Name)
		case edited:
			return false, names.Derivable("two result columns are named "+name.Name, names.AllOf(nm.b.sc)...)
		}
		if wholeEntry || same {
			// Inside an expression the engine may take the base column; the
			// explicit total is the same value either way.
			return wholeEntry || in == inHaving, nil
		}
		if t != nil {
			return false, names.Derivable("alias "+name.Name+" hides the counter of that name in an expression", t.Binding)
		}
		return true, nil
	}
	if wholeEntry && nm.starHas(e.Name[0]) {
		return true, nil
	}
	return false, nil
}

// severalHave reports whether an item and a column of a * have the name, in a block over a query of totals. Of
// result columns of one name MySQL 8 may take the one whose expression is no column for ORDER BY, or refuse the name as ambiguous, by
// what the query in FROM has been merged to.
func (nm itemNames) severalHave(label ast.Ident) bool {
	if !nm.p.d.Traits().Defects.Has(RowOfOne) || len(nm.b.r.edits) == 0 || !slices.ContainsFunc(nm.b.q.From, nm.hasQuerySource) {
		return false
	}
	named := func(it ast.Item) bool {
		name, _, err := nm.itemMeans(it, nil)
		return err == nil && name != nil && nm.p.names.SameLabel(label, *name)
	}
	return slices.ContainsFunc(nm.b.q.Items, named) && nm.starsHave(label, false) > 0
}

// hasQuerySource reports whether a source is a query, one of WITH included, or a join of one.
func (nm itemNames) hasQuerySource(s *ast.Source) bool {
	return s != nil && (s.Select != nil || nm.p.names.CTE(nm.b.sc, s.Name) != nil || nm.hasQuerySource(s.Left) || nm.hasQuerySource(s.Right))
}

// twice reports whether several items have the name, and that one of them is no
// longer what it was, or may name a column of a derived form: an engine may
// prefer columns of tables to expressions.
func (nm itemNames) twice(label ast.Ident) (edited, derived bool) {
	n, computed := 0, false
	for _, it := range nm.b.q.Items {
		name, _, err := nm.itemMeans(it, nil)
		if err != nil || name == nil || !nm.p.names.SameLabel(label, *name) {
			continue
		}
		n++
		computed = computed || ast.Unparen(it.Expr).Kind != ast.ColumnRef
		for _, e := range nm.b.r.edits {
			edited = edited || e.Start >= it.Expr.Start && e.End <= it.Expr.End
		}
	}
	if computed { // a bare column is written as that of a * is
		stars := nm.starsHave(label, true)
		n, edited = n+stars, edited || stars > 0
	}
	for _, x := range nm.b.sc.Bindings {
		derived = derived || x.Derived
	}
	return n > 1 && edited, n > 1 && derived
}

// itemMeans returns the result name of an item, and whether the item is the
// bare counter t.
func (nm itemNames) itemMeans(it ast.Item, t *names.Target) (*ast.Ident, bool, error) {
	x := it.Expr
	for x != nil && x.Kind == ast.Paren {
		x = x.Args[0]
	}
	if x == nil || x.Kind == ast.Star {
		return nil, false, nil
	}
	var same bool
	if x.Kind == ast.ColumnRef {
		u, err := nm.p.names.Resolve(nm.b.sc, x.Name)
		if err != nil {
			return nil, false, err
		}
		same = u != nil && t != nil && u.Binding == t.Binding && u.Column == t.Column
	}
	if it.Alias != nil {
		return it.Alias, same, nil
	}
	if x.Kind == ast.ColumnRef {
		return &x.Name[len(x.Name)-1], same, nil
	}
	if nm.p.d.Traits().ItemNames == names.ItemsByRule {
		return nm.ruled(x), false, nil
	}
	return nil, false, nil
}

// ruled is the name that PostgreSQL gives to an item that is no column, or nil.
func (nm itemNames) ruled(e *ast.Expr) *ast.Ident {
	e = ast.Unparen(e)
	switch e.Kind {
	case ast.ColumnRef:
		return &e.Name[len(e.Name)-1]
	case ast.Call:
		return &ast.Ident{Name: e.Op, Quoted: true}
	case ast.Subquery:
		q := e.Query
		for q != nil && len(q.Operands) > 0 {
			q = q.Operands[0]
		}
		if q == nil || len(q.Items) == 0 || q.Items[0].Expr == nil || q.Items[0].Expr.Kind == ast.Star {
			return nil
		}
		if it := q.Items[0]; it.Alias != nil {
			return it.Alias
		}
		return nm.ruled(q.Items[0].Expr)
	case ast.Opaque:
		if n := len(e.Args); n == 1 && (e.Op == "cast" || e.Op == "collate") || n > 0 && e.Op == "case" && behindElse(nm.p.src, e.Args[n-1]) {
			return nm.ruled(e.Args[n-1])
		}
	}
	return nil
}

// starHas reports whether a * item has brought the counter into the result under
// its own name, and unambiguously.
func (nm itemNames) starHas(name ast.Ident) bool { return nm.starsHave(name, false) == 1 }

// starsHave counts the columns of a name that * items have brought into the result, of all or of those that are
// written out; it is 0 where that is not known.
func (nm itemNames) starsHave(name ast.Ident, replaced bool) int {
	n := 0
	for _, it := range nm.b.q.Items {
		if it.Expr == nil || it.Expr.Kind != ast.Star || replaced && nm.b.r.replaced[it.Expr.Span] == nil {
			continue
		}
		outs, known, err := nm.p.names.StarOutputs(nm.b.sc, it.Expr.Name)
		if err != nil || !known {
			return 0
		}
		for _, o := range outs {
			if nm.p.names.SameLabel(name, o.Name) {
				n++
			}
		}
	}
	return n
}
