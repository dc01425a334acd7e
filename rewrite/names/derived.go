package names

import (
	"errors"

	"github.com/slotsql/slotsql/rewrite/ast"
)

// DeriveError is an opaque reason that goes away once the counter tables of the
// given sources are derived.
type DeriveError struct {
	Reason   string
	Bindings []*Binding
}

func (e *DeriveError) Error() string { return e.Reason }

// Derivable returns an error for what prevents substitution, one
// that derived forms of the sources among bs that are counter tables cure.
func Derivable(reason string, bs ...*Binding) error {
	e := &DeriveError{Reason: reason}
	for _, b := range bs {
		if b.Counts {
			e.Bindings = append(e.Bindings, b)
		}
	}
	if len(e.Bindings) == 0 {
		return Opaque(reason)
	}
	return e
}

// Derives reports whether an error names a source to derive.
func Derives(err error) bool {
	var d *DeriveError
	return errors.As(err, &d)
}

// Under lists the sources of a join.
func (s *Scope) Under(join *ast.Source) []*Binding {
	if join == nil {
		return nil
	}
	var out []*Binding
	for _, b := range s.Bindings {
		if b.Source == join {
			out = append(out, b)
		}
	}
	return append(append(out, s.Under(join.Left)...), s.Under(join.Right)...)
}

// Underivable returns why a source cannot be replaced by a query, or "".
func (rs *Resolver) Underivable(b *Binding) string {
	if b.Source.Ref.End == 0 {
		return b.Label.Name + " cannot be replaced by a derived table"
	}
	for i := range b.Table.Columns {
		if b.Table.Columns[i].Hidden {
			return "a derived table has no hidden columns"
		}
	}
	// Without an alias the label stays, but the schema goes that tells it
	// from another table of that name.
	for _, x := range b.Scope.Bindings {
		if x != b && rs.SameLabel(x.Label, b.Label) {
			return "two sources are named " + b.Label.Name
		}
	}
	return ""
}

// Lacks says that a derived source has no such column.
func (rs *Resolver) Lacks(x *Binding, column ast.Ident) string {
	return rs.Derived[x.Source] + ", and a derived table has no column " + column.Name
}

// DerivedHas reports whether a derived source has a column of that name.
func (rs *Resolver) DerivedHas(x *Binding, column ast.Ident) bool {
	for _, c := range rs.Labels(x) {
		if rs.SameLabel(column, c) {
			return true
		}
	}
	return false
}

// Labels lists the columns of a table's source by the names they have there.
func (rs *Resolver) Labels(x *Binding) []ast.Ident {
	var out []ast.Ident
	for i := range x.Table.Columns {
		if x.Table.Columns[i].Hidden {
			continue
		}
		out = append(out, ast.Ident{Name: x.Table.Columns[i].Name, Quoted: true})
		if n := len(out); n <= len(x.Columns) {
			out[n-1] = x.Columns[n-1]
		}
	}
	return out
}
