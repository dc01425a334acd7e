package names

import (
	"slices"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Qualifies reports whether the qualifiers of a column's name are those of b, by the
// engine's own rules: of an alias it knows no schema.
func (ns *Resolver) Qualifies(b *Binding, name []ast.Ident) bool {
	switch n := len(name); {
	case n == 1:
		return true
	case n > 3 || !ns.sameSource(name[n-2], b.Label):
		return false
	case n == 3:
		return b.Source.Alias == nil && b.Table != nil && ns.d.SameTable(name[0], b.Table.Schema)
	}
	return true
}

// sameSource is sameLabel where the letter case of a table's name counts, when it
// does for the engine.
func (n *Resolver) sameSource(written, label ast.Ident) bool {
	folds := n.d.SameTable(ast.Ident{Name: "A"}, "a")
	return n.SameLabel(written, label) && (folds || written.Name == label.Name)
}

// BaseRef writes a reference to a base table under the name that the
// statement's own predicates use.
func (n *Resolver) BaseRef(t *schema.Table, b *Binding) string {
	ref := n.d.Quote(t.Name)
	if t.Schema != "" { // unknown where the facts come from a schema file
		ref = n.d.Quote(t.Schema) + "." + ref
	}
	if b != nil && b.Source.Alias != nil {
		ref += " AS " + n.Qualifier(b)
	}
	return ref
}

// TargetColumn returns the stored name of a column of the binding's table that
// the reference means, or "".
func (n *Resolver) TargetColumn(sc *Scope, b *Binding, name []ast.Ident) string {
	column := name[len(name)-1]
	switch {
	case len(name) == 1:
		if len(sc.Bindings) != 1 {
			return ""
		}
	case !n.Qualifies(b, name):
		return ""
	}
	for i := range b.Table.Columns {
		if n.d.SameColumn(column, b.Table.Columns[i].Name) {
			return b.Table.Columns[i].Name
		}
	}
	return n.rowNumber(b.Table, column)
}

// rowNumber returns the column that a table's rows are numbered by, if that is what the name of
// a system column means.
func (n *Resolver) rowNumber(t *schema.Table, name ast.Ident) string {
	tr := &n.rules
	if !tr.RowNumbers || !slices.ContainsFunc(tr.SystemColumns, func(s string) bool { return n.d.SameColumn(name, s) }) {
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
func (n *Resolver) NamesSlotted(sc *Scope, b *Binding, e *ast.Expr) (found bool) {
	e.Walk(func(x *ast.Expr) bool {
		switch x.Kind {
		case ast.Star, ast.Subquery:
			found = true
		case ast.ColumnRef:
			name := n.TargetColumn(sc, b, x.Name)
			found = found || name != "" && b.Table.IsSlotted(name)
		}
		return !found
	})
	return found
}

// IsColumn reports whether e is a reference to that counter of the statement's
// own target, which is the first binding of the scope.
func (n *Resolver) IsColumn(sc *Scope, e *ast.Expr, t *schema.Table, column string) bool {
	if e.Kind == ast.Paren {
		return n.IsColumn(sc, e.Args[0], t, column)
	}
	if e.Kind != ast.ColumnRef || sc.Strict && len(e.Name) == 1 || !n.Qualifies(sc.Bindings[0], e.Name) {
		return false
	}
	tg, err := n.Resolve(sc, e.Name)
	return err == nil && tg != nil && tg.Column != nil && tg.Column.Name == column && tg.Binding == sc.Bindings[0] && tg.Binding.Table == t
}

// Qualifier writes the name by which a source's columns are referred to. It is
// always quoted: whether it was matters to no engine once its letter case is
// what the dialect makes of it, and an alias may be a reserved word.
func (n *Resolver) Qualifier(b *Binding) string {
	if b.Source.Alias == nil && b.Table != nil {
		return n.d.Quote(b.Table.Name)
	}
	return n.d.Quote(b.Label.Name)
}
