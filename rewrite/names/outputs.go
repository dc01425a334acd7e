package names

import (
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file lists the result columns of queries.

// An Output is a result column of a query: its name and, when it is a bare
// counter, which.
type Output struct {
	Name   ast.Ident
	Table  *schema.Table
	Column string
}

// outputList are the result columns of a query; when not known, there may be
// more.
type outputList struct {
	columns []Output
	known   bool
}

// Outputs returns the result columns of a derived table or CTE; known is false
// when there may be more than are listed.
func (rs *Resolver) Outputs(b *Binding) (outs []Output, known bool, err error) {
	// A query stands in one place of the statement, however many sources mean it:
	// a CTE may have many, each of which may be one of a CTE again.
	if done, ok := rs.outs[b.Query]; ok {
		return done.columns, done.known, nil
	}
	if rs.outs == nil {
		rs.outs = map[*ast.Select]outputList{}
	}
	rs.outs[b.Query] = outputList{} // a recursive CTE asks for itself
	outs, known, err = rs.queryOutputs(b.Scope, b.Query)
	if known {
		rs.outs[b.Query] = outputList{outs, true}
	}
	return outs, known, err
}

// queryOutputs lists the result columns of a query.
func (rs *Resolver) queryOutputs(parent *Scope, q *ast.Select) ([]Output, bool, error) {
	sc := rs.WithScope(parent, q.With)
	if len(q.Operands) > 0 {
		outs, known, err := rs.queryOutputs(sc, q.Operands[0])
		for i := range outs {
			outs[i].Table = nil // a union's column is typed by all its operands
		}
		return outs, known, err
	}
	if len(q.Values) > 0 {
		return nil, false, nil
	}
	sc = rs.NewScope(sc, nil, q.From)
	var outs []Output
	known := true
	for _, it := range q.Items {
		switch {
		case it.Expr != nil && it.Expr.Kind == ast.Star:
			more, ok, err := rs.StarOutputs(sc, it.Expr.Name)
			if err != nil {
				return nil, false, err
			}
			outs, known = append(outs, more...), known && ok
		default:
			o := Output{}
			e := it.Expr
			for e != nil && e.Kind == ast.Paren {
				e = e.Args[0]
			}
			if e != nil && e.Kind == ast.ColumnRef {
				o.Name = e.Name[len(e.Name)-1]
				t, err := rs.Resolve(sc, e.Name)
				if err != nil {
					return nil, false, err
				}
				if t != nil && t.Column != nil {
					o.Table, o.Column = t.Binding.Table, t.Column.Name
				} else if t != nil && t.out != nil {
					o.Table, o.Column = t.out.Table, t.out.Column
				}
			} else if e != nil && e.Kind == ast.Call {
				o.Name = ast.Ident{Name: e.Op}
			}
			if it.Alias != nil {
				o.Name = *it.Alias
			}
			outs = append(outs, o)
		}
	}
	return outs, known, nil
}

// StarOutputs lists what * stands for, or t.* of a source; known is false when there may be more columns.
func (rs *Resolver) StarOutputs(sc *Scope, qualifier []ast.Ident) ([]Output, bool, error) {
	var outs []Output
	known := true
	for _, b := range sc.Bindings {
		if len(qualifier) > 0 && !rs.SameLabel(qualifier[len(qualifier)-1], b.Label) {
			continue
		}
		switch {
		case b.Query != nil:
			more, ok, err := rs.Outputs(b)
			if err != nil {
				return nil, false, err
			}
			more = append([]Output(nil), more...)
			for i := range more {
				if i < len(b.Columns) {
					more[i].Name = b.Columns[i]
				}
			}
			outs, known = append(outs, more...), known && ok
		case b.Opaque:
			known = false
		default:
			t := b.Table
			if t == nil {
				if t, _ = rs.Lookup(b.Source.Name); t == nil {
					known = false
					continue
				}
			}
			for i := range t.Columns {
				if t.Columns[i].Hidden {
					continue
				}
				o := Output{Name: ast.Ident{Name: t.Columns[i].Name, Quoted: true}}
				if i < len(b.Columns) {
					o.Name = b.Columns[i]
				}
				if !b.Derived && t.IsSlotted(t.Columns[i].Name) {
					o.Table, o.Column = t, t.Columns[i].Name
				}
				outs = append(outs, o)
			}
		}
	}
	return outs, known, nil
}
