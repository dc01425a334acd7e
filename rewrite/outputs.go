package rewrite

import (
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// This file lists the result columns of queries.

// An outColumn is a result column of a query: its name and, when it is a bare
// counter, which.
type outColumn struct {
	name   ast.Ident
	table  *schema.Table
	column string
}

// outColumns are the result columns of a query; when not known, there may be
// more.
type outColumns struct {
	columns []outColumn
	known   bool
}

// outsOf returns the result columns of a derived table or CTE; known is false
// when there may be more than are listed.
func (n *resolver) outsOf(b *binding) (outs []outColumn, known bool, err error) {
	// A query stands in one place of the statement, however many sources mean it:
	// a CTE may have many, each of which may be one of a CTE again.
	if done, ok := n.outs[b.query]; ok {
		return done.columns, done.known, nil
	}
	if n.outs == nil {
		n.outs = map[*ast.Select]outColumns{}
	}
	n.outs[b.query] = outColumns{} // a recursive CTE asks for itself
	outs, known, err = n.outputs(b.scope, b.query)
	if known {
		n.outs[b.query] = outColumns{outs, true}
	}
	return outs, known, err
}

// outputs lists the result columns of a query.
func (n *resolver) outputs(parent *scope, q *ast.Select) ([]outColumn, bool, error) {
	sc := n.withScope(parent, q.With)
	if len(q.Operands) > 0 {
		outs, known, err := n.outputs(sc, q.Operands[0])
		for i := range outs {
			outs[i].table = nil // a union's column is typed by all its operands
		}
		return outs, known, err
	}
	if len(q.Values) > 0 {
		return nil, false, nil
	}
	sc = n.newScope(sc, nil, q.From)
	var outs []outColumn
	known := true
	for _, it := range q.Items {
		switch {
		case it.Expr != nil && it.Expr.Kind == ast.Star:
			more, ok, err := n.starOutputs(sc, it.Expr.Name)
			if err != nil {
				return nil, false, err
			}
			outs, known = append(outs, more...), known && ok
		default:
			o := outColumn{}
			e := it.Expr
			for e != nil && e.Kind == ast.Paren {
				e = e.Args[0]
			}
			if e != nil && e.Kind == ast.ColumnRef {
				o.name = e.Name[len(e.Name)-1]
				t, err := n.resolve(sc, e.Name)
				if err != nil {
					return nil, false, err
				}
				if t != nil && t.column != nil {
					o.table, o.column = t.binding.table, t.column.Name
				} else if t != nil && t.out != nil {
					o.table, o.column = t.out.table, t.out.column
				}
			} else if e != nil && e.Kind == ast.Call {
				o.name = ast.Ident{Name: e.Op}
			}
			if it.Alias != nil {
				o.name = *it.Alias
			}
			outs = append(outs, o)
		}
	}
	return outs, known, nil
}

func (n *resolver) starOutputs(sc *scope, qualifier []ast.Ident) ([]outColumn, bool, error) {
	var outs []outColumn
	known := true
	for _, b := range sc.bindings {
		if len(qualifier) > 0 && !n.sameLabel(qualifier[len(qualifier)-1], b.label) {
			continue
		}
		switch {
		case b.query != nil:
			more, ok, err := n.outsOf(b)
			if err != nil {
				return nil, false, err
			}
			more = append([]outColumn(nil), more...)
			for i := range more {
				if i < len(b.columns) {
					more[i].name = b.columns[i]
				}
			}
			outs, known = append(outs, more...), known && ok
		case b.opaque:
			known = false
		default:
			t := b.table
			if t == nil {
				if t, _ = n.lookup(b.source.Name); t == nil {
					known = false
					continue
				}
			}
			for i := range t.Columns {
				if t.Columns[i].Hidden {
					continue
				}
				o := outColumn{name: ast.Ident{Name: t.Columns[i].Name, Quoted: true}}
				if i < len(b.columns) {
					o.name = b.columns[i]
				}
				if !b.derived && t.IsSlotted(t.Columns[i].Name) {
					o.table, o.column = t, t.Columns[i].Name
				}
				outs = append(outs, o)
			}
		}
	}
	return outs, known, nil
}
