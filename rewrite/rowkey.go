package rewrite

import (
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file is about keys that are compared as rows: (page, day) = (?, ?), as
// SQLAlchemy and jOOQ write them, and (page, day) IN ((?, ?), (?, ?)).

// equalities is conjuncts with each comparison of rows taken apart: (a, b) = (1, 2)
// is a = 1 and b = 2. Rows in a list become a list for each column, which
// allows more than they do: the first of one with the second of another.
//
// What it has taken apart has no span in the statement.
func equalities(where *ast.Expr) (out []*ast.Expr) {
	for _, e := range ast.Conjuncts(where, nil) {
		if parts := byColumn(ast.Unparen(e)); parts != nil {
			out = append(out, parts...)
			continue
		}
		out = append(out, e)
	}
	return out
}

// byColumn returns the equalities of the columns of e, which may compare rows, or
// nil.
func byColumn(e *ast.Expr) (out []*ast.Expr) {
	if !(e.Kind == ast.Binary && e.Op == "=" && len(e.Args) == 2 || e.Kind == ast.In && !e.Negated && len(e.Args) > 1) {
		return nil
	}
	for _, row := range e.Args {
		if !isRow(row) || len(ast.Unparen(row).Args) != len(ast.Unparen(e.Args[0]).Args) {
			return nil
		}
	}
	for i := range ast.Unparen(e.Args[0]).Args {
		part := &ast.Expr{Kind: e.Kind, Op: e.Op}
		for _, row := range e.Args {
			part.Args = append(part.Args, ast.Unparen(row).Args[i])
		}
		out = append(out, part)
	}
	return out
}

// equality writes the condition of equalities that a column of b equals one of the
// values.
func (kf *keyFinder) equality(e *ast.Expr, b *names.Binding, name string, values []*ast.Expr) fragment {
	if e.End > 0 {
		return kf.src.cut(e.Span)
	}
	if len(values) > 1 {
		return kf.oneOf(b, name, values)
	}
	of := kf.src.cut(values[0].Span)
	of.parts[0] = kf.names.Qualifier(b) + "." + kf.d.Quote(name) + " = " + of.parts[0]
	return of
}

// ownRows is the table as a source of slotsql's own statements, under its own name.
func ownRows(t *schema.Table) *names.Binding {
	name := ast.Ident{Name: t.Name, Quoted: true}
	return &names.Binding{Source: &ast.Source{Name: []ast.Ident{name}}, Label: name, Table: t, Counts: true}
}
