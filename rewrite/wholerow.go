package rewrite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
)

// PostgreSQL lets a table's name stand for its row: SELECT p, to_jsonb(p),
// p IS NULL, (p).views, count(p.*), and p.f for a function f(posts). The row
// that is read in its place is made of the columns, counters as totals, and
// cast to the table's own row type: it has the same type, field names and
// text. A cast row is never NULL as a whole, which the row of an outer join's
// missing side is, so that is asked of the table's own row.

// wholeRow replaces a reference to the row of x.
func (b *blockReader) wholeRow(e *ast.Expr, x *names.Binding) error {
	if b.r.readsBase(x.Table) {
		return nil
	}
	row, err := b.row(x)
	if err == nil {
		b.r.edits = append(b.r.edits, edit{e.Span, row})
	}
	return err
}

func (b *blockReader) row(x *names.Binding) (string, error) {
	values, err := b.fields(x)
	if err != nil {
		return "", err
	}
	q := b.p.names.Qualifier(x)
	row := "ROW(" + strings.Join(values, ", ") + ")::" + b.p.names.BaseRef(x.Table, nil)
	if x.Scope.Outer {
		row = "CASE WHEN " + q + ".* IS DISTINCT FROM NULL THEN " + row + " END"
	}
	return "(" + row + ")", nil
}

// fields lists the values of a row of x.
func (b *blockReader) fields(x *names.Binding) ([]string, error) {
	if x.Counts && len(x.Columns) > 0 {
		return nil, names.Derivable("counter table "+x.Table.Name+" has column aliases", x)
	}
	b.r.note(x.Table)
	b.r.addStar(x.Table)
	b.r.found.wholeRow = true
	q := b.p.names.Qualifier(x)
	var out []string
	for i, l := range b.p.names.Labels(x) {
		if c := x.Table.Columns[i].Name; x.Counts && x.Table.IsSlotted(c) {
			out = append(out, b.r.total(x.Table, q, c, false))
		} else {
			out = append(out, q+"."+b.p.d.Quote(l.Name))
		}
	}
	return out, nil
}

// starArgument: count(*) names no column; count(p.*) and the like are
// whole-row references.
func (b *blockReader) starArgument(e *ast.Expr) error {
	x := b.rowOf(e)
	if x == nil {
		return nil
	}
	return b.wholeRow(e, x)
}

// listed edits an entry of ROW(...) or VALUES, where p.* stands for the
// columns.
func (b *blockReader) listed(e *ast.Expr, in clause) error {
	if e == nil || e.Kind != ast.Star {
		return b.expr(e, in)
	}
	x := b.rowOf(e)
	if x == nil || !x.Counts || b.r.readsBase(x.Table) {
		return nil
	}
	values, err := b.fields(x)
	if err == nil {
		b.r.edits = append(b.r.edits, edit{e.Span, strings.Join(values, ", ")})
	}
	return err
}

// rowOf returns the counter table that the qualifier of a * names, or nil.
func (b *blockReader) rowOf(e *ast.Expr) *names.Binding {
	if !b.p.d.Traits().WholeRow || len(e.Name) == 0 {
		return nil
	}
	x := b.labelled(e.Name, false)
	if x == nil || !x.Counts && !x.Derived {
		return nil
	}
	return x
}

// field replaces p.f where the table has no column f: it is the function f of
// the row. Columns that every table has are left to the engine.
func (b *blockReader) field(e *ast.Expr) (bool, error) {
	if !b.p.d.Traits().WholeRow || len(e.Name) < 2 {
		return false, nil
	}
	x := b.labelled(e.Name, true)
	if x == nil || !x.Counts || b.r.readsBase(x.Table) {
		return false, nil
	}
	last := e.Name[len(e.Name)-1]
	if b.p.names.DerivedHas(x, last) {
		return false, nil
	}
	for _, system := range b.p.d.Traits().SystemColumns {
		if b.p.names.SameLabel(last, ast.Ident{Name: system}) {
			return false, nil
		}
	}
	row, err := b.row(x)
	if err == nil {
		b.r.edits = append(b.r.edits, edit{e.Span, "(" + row + ")." + b.p.d.Quote(last.Name)})
	}
	return true, err
}
