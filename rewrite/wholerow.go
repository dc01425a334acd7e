package rewrite

import (
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
)

// PostgreSQL lets a table's name stand for its row: SELECT p, to_jsonb(p),
// p IS NULL, (p).views, count(p.*), and p.f for a function f(posts). The row has the
// table's own type, which no query has, so such a statement is not rewritten.

// wholeRow refuses a reference to the row of x.
func (b *blockReader) wholeRow(x *names.Binding) error {
	if b.r.readsBase(x.Table) {
		return nil
	}
	return names.Opaque("a row of " + x.Table.Name + " is read as a whole")
}

// starArgument: count(*) names no column; count(p.*), ROW(p.*) and the like are
// whole-row references.
func (b *blockReader) starArgument(e *ast.Expr) error {
	if !b.p.d.Traits().WholeRow || len(e.Name) == 0 {
		return nil
	}
	if x := b.labelled(e.Name, false); x != nil && (x.Counts || x.Derived) {
		return b.wholeRow(x)
	}
	return nil
}

// field refuses p.f where the table has no column f: it is the function f of
// the row. Columns that every table has are left to the engine.
func (b *blockReader) field(e *ast.Expr) error {
	if !b.p.d.Traits().WholeRow || len(e.Name) < 2 {
		return nil
	}
	x := b.labelled(e.Name, true)
	last := e.Name[len(e.Name)-1]
	if x == nil || !x.Counts || b.p.names.DerivedHas(x, last) {
		return nil
	}
	for _, system := range b.p.d.Traits().SystemColumns {
		if b.p.names.SameLabel(last, ast.Ident{Name: system}) {
			return nil
		}
	}
	return b.wholeRow(x)
}
