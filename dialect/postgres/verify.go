package postgres

import (
	"fmt"

	tree "github.com/sqlc-dev/oliphant/ast"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/slotsql/slotsql/rewrite/ast"
)

// census counts what a translation must not lose.
type census struct{ columns, queries, tables, params int }

// count takes the census of the parser's tree. It fails on a tree too deep to
// be walked by recursion.
func count(n *tree.Node) (census, error) {
	var c census
	deep := false
	var walk func(m protoreflect.Message, depth int)
	walk = func(m protoreflect.Message, depth int) {
		if deep = deep || depth > 2*maxDepth; deep {
			return
		}
		switch v := m.Interface().(type) {
		case *tree.ColumnRef:
			c.columns++
			return
		case *tree.ParamRef:
			c.params++
			return
		case *tree.RangeVar:
			c.tables++
			return
		case *tree.SubLink:
			c.queries++
		case *tree.RangeSubselect:
			c.queries++
		case *tree.CommonTableExpr:
			c.queries++
		case *tree.TypeName, *tree.IntoClause, *tree.LockingClause:
			return // names in here are no columns and no sources
		case *tree.MultiAssignRef:
			if v.Colno > 1 {
				return // the source is shared with column 1
			}
		}
		m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			switch {
			case fd.Message() == nil || fd.IsMap():
			case fd.IsList():
				l := v.List()
				for i := 0; i < l.Len(); i++ {
					walk(l.Get(i).Message(), depth+1)
				}
			default:
				walk(v.Message(), depth+1)
			}
			return !deep
		})
	}
	walk(n.ProtoReflect(), 0)
	if deep {
		return c, fmt.Errorf("expression is nested deeper than %d", maxDepth)
	}
	return c, nil
}

// verify gives up on a translation whose census is not the tree's.
func (t *translator) verify(st *ast.Statement, want census) {
	switch st.Kind {
	case ast.KindSelect, ast.KindInsert, ast.KindUpdate, ast.KindDelete, ast.KindCreateSelect, ast.KindReads:
	default:
		return
	}
	if got := counted(st); got != want {
		t.giveUp(fmt.Sprintf("translated %+v of %+v", got, want))
	}
}

// counted takes the census of a translation.
func counted(st *ast.Statement) census {
	var c census
	v := ast.Visitor{
		CTE: func(*ast.CTE) { c.queries++ },
		Source: func(s *ast.Source) {
			if len(s.Name) > 0 {
				c.tables++
			}
			if s.Select != nil {
				c.queries++
			}
		},
		Expr: func(e *ast.Expr) {
			switch e.Kind {
			case ast.ColumnRef, ast.Star, ast.Excluded:
				c.columns++
			case ast.Param:
				c.params++
			case ast.Subquery:
				c.queries++
			}
		},
	}
	v.Walk(st)
	return c
}
