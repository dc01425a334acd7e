package names

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Qualifies reports whether the qualifiers of a column's name are those of b, by the
// engine's own rules: of an alias it knows no schema.
func (rs *Resolver) Qualifies(b *Binding, name []ast.Ident) bool {
	switch n := len(name); {
	case n == 1:
		return true
	case n > 3 || !rs.sameSource(name[n-2], b.Label):
		return false
	case n == 3:
		return b.Source.Alias == nil && b.Table != nil && rs.d.SameTable(name[0], b.Table.Schema)
	}
	return true
}

// sameSource is sameLabel where the letter case of a table's name counts, when it
// does for the engine.
func (rs *Resolver) sameSource(written, label ast.Ident) bool {
	folds := rs.d.SameTable(ast.Ident{Name: "A"}, "a")
	return rs.SameLabel(written, label) && (folds || written.Name == label.Name)
}

// BaseRef writes a reference to a base table under the name that the
// statement's own predicates use.
func (rs *Resolver) BaseRef(t *schema.Table, b *Binding) string {
	ref := rs.d.Quote(t.Name)
	if t.Schema != "" { // unknown where the facts come from a schema file
		ref = rs.d.Quote(t.Schema) + "." + ref
	}
	if b != nil && b.Source.Alias != nil {
		ref += " AS " + rs.Qualifier(b)
	}
	return ref
}

// TargetColumn returns the stored name of a column of the binding's table that
// the reference means, or "".
func (rs *Resolver) TargetColumn(sc *Scope, b *Binding, name []ast.Ident) string {
	column := name[len(name)-1]
	switch {
	case len(name) == 1:
		if len(sc.Bindings) != 1 {
			return ""
		}
	case !rs.Qualifies(b, name):
		return ""
	}
	if stored, ok := Column(rs.d, b.Table, column); ok {
		return stored
	}
	return rs.rowNumber(b.Table, column)
}

// rowNumber returns the column that a table's rows are numbered by, if that is what the name of
// a system column means.
func (rs *Resolver) rowNumber(t *schema.Table, name ast.Ident) string {
	tr := &rs.rules
	if !tr.RowNumbers || !slices.ContainsFunc(tr.SystemColumns, func(s string) bool { return rs.d.SameColumn(name, s) }) {
		return ""
	}
	for i := range t.Columns {
		if t.Columns[i].Identity {
			return t.Columns[i].Name
		}
	}
	return ""
}

// Column returns the stored name of the column of a table that a name means.
func Column(d Dialect, t *schema.Table, written ast.Ident) (string, bool) {
	for i := range t.Columns {
		if d.SameColumn(written, t.Columns[i].Name) {
			return t.Columns[i].Name, true
		}
	}
	return "", false
}

// NamesSlotted reports whether an expression may look at a column of the binding's that slots hold.
func (rs *Resolver) NamesSlotted(sc *Scope, b *Binding, e *ast.Expr) (found bool) {
	e.Walk(func(x *ast.Expr) bool {
		switch x.Kind {
		case ast.Star, ast.Subquery:
			found = true
		case ast.ColumnRef:
			name := rs.TargetColumn(sc, b, x.Name)
			found = found || name != "" && b.Table.IsSlotted(name)
		}
		return !found
	})
	return found
}

// IsColumn reports whether e is a reference to that counter of the statement's
// own target, which is the first binding of the scope.
func (rs *Resolver) IsColumn(sc *Scope, e *ast.Expr, t *schema.Table, column string) bool {
	if e.Kind == ast.Paren {
		return rs.IsColumn(sc, e.Args[0], t, column)
	}
	if e.Kind != ast.ColumnRef || sc.Strict && len(e.Name) == 1 || !rs.Qualifies(sc.Bindings[0], e.Name) {
		return false
	}
	tg, err := rs.Resolve(sc, e.Name)
	return err == nil && tg != nil && tg.Column != nil && tg.Column.Name == column && tg.Binding == sc.Bindings[0] && tg.Binding.Table == t
}

// Qualifier writes the name by which a source's columns are referred to. It is
// always quoted: whether it was matters to no engine once its letter case is
// what the dialect makes of it, and an alias may be a reserved word.
func (rs *Resolver) Qualifier(b *Binding) string {
	if b.Source.Alias == nil && b.Table != nil {
		return rs.d.Quote(b.Table.Name)
	}
	return rs.d.Quote(b.Label.Name)
}
