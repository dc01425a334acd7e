package sqlite

import (
	"github.com/sqlc-dev/meyer/ast"

	"github.com/slotsql/slotsql/rewrite"
)

// A tally counts what must not be lost in translation. check counts the
// parser's tree by its generic Children, and the neutral statement by its own
// fields: a part that one of the translators forgets makes them differ.
type tally struct {
	columns, params, selects, tables int
}

func (t *translator) check(n ast.Stmt) {
	if t.st.Opaque != "" {
		return
	}
	switch t.st.Kind {
	case rewrite.KindSelect, rewrite.KindExplain, rewrite.KindCreateSelect,
		rewrite.KindInsert, rewrite.KindUpdate, rewrite.KindDelete:
	default:
		return
	}
	if counted(t.st) != parsed(n) {
		t.opaque("statement that is not translated completely")
	}
}

// parsed counts the parser's tree.
//
//nolint:funlen // one case for each kind of node
func parsed(root ast.Node) tally {
	var c tally
	names := map[*ast.Ident]bool{}
	name := func(list ...*ast.Ident) {
		for _, n := range list {
			names[n] = true
		}
	}
	var found []*ast.Ident
	each(root, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.Ident:
			found = append(found, n)
		case *ast.QualifiedRef:
			c.columns++
			name(n.Parts...)
		case *ast.Star:
			c.columns++
			name(n.Table)
		case *ast.BindParam:
			c.params++
		case *ast.SelectQuery, *ast.ValuesClause:
			c.selects++
		case *ast.TableRef:
			if n.Name != nil && !n.HasArgs {
				c.tables++
			}
			name(n.Alias, n.IndexedBy)
			name(n.Using...)
		case *ast.InExpr:
			if n.Table != nil && len(n.Args) == 0 { // carried as a query of it
				c.selects++
				c.tables++
			}
		case *ast.QualifiedName:
			name(n.Schema, n.Name)
		case *ast.ResultColumn:
			name(n.Alias)
		case *ast.FuncCall:
			name(n.Name)
		case *ast.LikeExpr:
			name(n.Op)
		case *ast.CollateExpr:
			name(n.Name)
		case *ast.CTE:
			name(n.Name)
			name(n.Columns...)
		case *ast.WindowDef:
			name(n.Name, n.Base)
		case *ast.SetPair:
			name(n.Columns...)
		case *ast.InsertStmt:
			c.tables++
			name(n.Alias)
			name(n.Columns...)
		case *ast.UpdateStmt:
			c.tables++
			name(n.Alias, n.IndexedBy)
		case *ast.DeleteStmt:
			c.tables++
			name(n.Alias, n.IndexedBy)
		}
	})
	for _, n := range found {
		if !names[n] && !isBoolean(n) {
			c.columns++
		}
	}
	return c
}

// counted counts the neutral form.
func counted(st *rewrite.Statement) tally {
	var c tally
	v := rewrite.Visitor{
		Statement: func(st *rewrite.Statement) {
			if st.Rows != nil {
				c.selects++
			}
			if st.Conflict != nil {
				c.columns += len(st.Conflict.Columns)
			}
		},
		Query: func(q *rewrite.Select) {
			if q.Operands == nil {
				c.selects++
			}
		},
		Source: func(s *rewrite.Source) {
			if s.Name != nil {
				c.tables++
			}
		},
		Expr: func(e *rewrite.Expr) {
			switch e.Kind {
			case rewrite.ColumnRef, rewrite.Star, rewrite.Excluded:
				c.columns++
			case rewrite.Param:
				c.params++
			}
		},
	}
	v.Walk(st)
	return c
}
