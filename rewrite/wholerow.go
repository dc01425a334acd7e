package rewrite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
)

// PostgreSQL lets a table's name stand for its row: SELECT p, to_jsonb(p),
// p IS NULL, (p).views, count(p.*), and p.f for a function f(posts). The row
// that is read in its place is made of the columns, counters as totals, and
// cast to the table's own row type: it has the same type, field names and
// text. A cast row is never NULL as a whole, which the row of an outer join's
// missing side is, so that is asked of the table's own row.

// wholeRow replaces a reference to the row of x.
func (b *blockReader) wholeRow(e *ast.Expr, x *binding) error {
	if b.r.readsBase(x.table) {
		return nil
	}
	row, err := b.row(x)
	if err == nil {
		b.r.edits = append(b.r.edits, edit{e.Span, row})
	}
	return err
}

func (b *blockReader) row(x *binding) (string, error) {
	values, err := b.fields(x)
	if err != nil {
		return "", err
	}
	q := b.p.names.qualifier(x)
	row := "ROW(" + strings.Join(values, ", ") + ")::" + b.p.names.baseRef(x.table, nil)
	if x.scope.outer {
		row = "CASE WHEN " + q + ".* IS DISTINCT FROM NULL THEN " + row + " END"
	}
	return "(" + row + ")", nil
}

// fields lists the values of a row of x.
func (b *blockReader) fields(x *binding) ([]string, error) {
	if x.counts && len(x.columns) > 0 {
		return nil, derivable("counter table "+x.table.Name+" has column aliases", x)
	}
	b.r.note(x.table)
	b.r.addStar(x.table)
	b.r.found.wholeRow = true
	q := b.p.names.qualifier(x)
	var out []string
	for i, l := range b.p.names.labels(x) {
		if c := x.table.Columns[i].Name; x.counts && x.table.IsSlotted(c) {
			out = append(out, b.r.total(x.table, q, c, false))
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
	if x == nil || !x.counts || b.r.readsBase(x.table) {
		return nil
	}
	values, err := b.fields(x)
	if err == nil {
		b.r.edits = append(b.r.edits, edit{e.Span, strings.Join(values, ", ")})
	}
	return err
}

// rowOf returns the counter table that the qualifier of a * names, or nil.
func (b *blockReader) rowOf(e *ast.Expr) *binding {
	if !b.p.d.Traits().WholeRow || len(e.Name) == 0 {
		return nil
	}
	x := b.labelled(e.Name, false)
	if x == nil || !x.counts && !x.derived {
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
	if x == nil || !x.counts || b.r.readsBase(x.table) {
		return false, nil
	}
	last := e.Name[len(e.Name)-1]
	if b.p.names.derivedHas(x, last) {
		return false, nil
	}
	for _, system := range b.p.d.Traits().SystemColumns {
		if b.p.names.sameLabel(last, ast.Ident{Name: system}) {
			return false, nil
		}
	}
	row, err := b.row(x)
	if err == nil {
		b.r.edits = append(b.r.edits, edit{e.Span, "(" + row + ")." + b.p.d.Quote(last.Name)})
	}
	return true, err
}
