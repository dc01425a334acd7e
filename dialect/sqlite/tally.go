package sqlite

import (
	tree "github.com/sqlc-dev/meyer/ast"

	"github.com/slotsql/slotsql/rewrite/ast"
)

// A tally counts what must not be lost in translation. check counts the
// parser's tree by its generic Children, and the neutral statement by its own
// fields: a part that one of the translators forgets makes them differ.
type tally struct {
	columns, params, selects, tables int
}

func (t *translator) check(n tree.Stmt) {
	if t.st.Opaque != "" {
		return
	}
	switch t.st.Kind {
	case ast.KindSelect, ast.KindCreateSelect, ast.KindInsert, ast.KindUpdate, ast.KindDelete:
	default:
		return
	}
	if counted(t.st) != parsed(n) {
		t.opaque("slotsql does not analyze all of the statement")
	}
}

// parsed counts the parser's tree.
//
//nolint:funlen // one case for each kind of node
func parsed(root tree.Node) tally {
	var c tally
	names := map[*tree.Ident]bool{}
	name := func(list ...*tree.Ident) {
		for _, n := range list {
			names[n] = true
		}
	}
	var found []*tree.Ident
	each(root, func(n tree.Node) {
		switch n := n.(type) {
		case *tree.Ident:
			found = append(found, n)
		case *tree.QualifiedRef:
			c.columns++
			name(n.Parts...)
		case *tree.Star:
			c.columns++
			name(n.Table)
		case *tree.BindParam:
			c.params++
		case *tree.SelectQuery, *tree.ValuesClause:
			c.selects++
		case *tree.TableRef:
			if n.Name != nil && !n.HasArgs {
				c.tables++
			}
			name(n.Alias, n.IndexedBy)
			name(n.Using...)
		case *tree.InExpr:
			if n.Table != nil && len(n.Args) == 0 { // carried as a query of it
				c.selects++
				c.tables++
			}
		case *tree.QualifiedName:
			name(n.Schema, n.Name)
		case *tree.ResultColumn:
			name(n.Alias)
		case *tree.FuncCall:
			name(n.Name)
		case *tree.LikeExpr:
			name(n.Op)
		case *tree.CollateExpr:
			name(n.Name)
		case *tree.CTE:
			name(n.Name)
			name(n.Columns...)
		case *tree.WindowDef:
			name(n.Name, n.Base)
		case *tree.SetPair:
			name(n.Columns...)
		case *tree.InsertStmt:
			c.tables++
			name(n.Alias)
			name(n.Columns...)
		case *tree.UpdateStmt:
			c.tables++
			name(n.Alias, n.IndexedBy)
		case *tree.DeleteStmt:
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
func counted(st *ast.Statement) tally {
	var c tally
	v := ast.Visitor{
		Statement: func(st *ast.Statement) {
			if st.Rows != nil {
				c.selects++
			}
			if st.Conflict != nil {
				c.columns += len(st.Conflict.Columns)
			}
		},
		Query: func(q *ast.Select) {
			if q.Operands == nil {
				c.selects++
			}
		},
		Source: func(s *ast.Source) {
			if s.Name != nil {
				c.tables++
			}
		},
		Expr: func(e *ast.Expr) {
			switch e.Kind {
			case ast.ColumnRef, ast.Star, ast.Excluded:
				c.columns++
			case ast.Param:
				c.params++
			}
		},
	}
	v.Walk(st)
	return c
}
