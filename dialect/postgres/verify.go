package postgres

import (
	"fmt"

	"github.com/sqlc-dev/oliphant/ast"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/slotsql/slotsql/rewrite"
)

// census counts what a translation must not lose.
type census struct{ columns, queries, tables, params int }

// count takes the census of the parser's tree. It fails on a tree too deep to
// be walked by recursion.
func count(n *ast.Node) (census, error) {
	var c census
	deep := false
	var walk func(m protoreflect.Message, depth int)
	walk = func(m protoreflect.Message, depth int) {
		if deep = deep || depth > 2*maxDepth; deep {
			return
		}
		switch v := m.Interface().(type) {
		case *ast.ColumnRef:
			c.columns++
			return
		case *ast.ParamRef:
			c.params++
			return
		case *ast.RangeVar:
			c.tables++
			return
		case *ast.SubLink:
			c.queries++
		case *ast.RangeSubselect:
			c.queries++
		case *ast.CommonTableExpr:
			c.queries++
		case *ast.TypeName, *ast.IntoClause, *ast.LockingClause:
			return // names in here are no columns and no sources
		case *ast.MultiAssignRef:
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
func (t *translator) verify(st *rewrite.Statement, want census) {
	switch st.Kind {
	case rewrite.KindSelect, rewrite.KindInsert, rewrite.KindUpdate, rewrite.KindDelete,
		rewrite.KindCreateSelect, rewrite.KindExplain, rewrite.KindReads:
	default:
		return
	}
	var got census
	got.statement(st)
	if got != want {
		t.giveUp(fmt.Sprintf("translated %+v of %+v", got, want))
	}
}

func (c *census) statement(st *rewrite.Statement) {
	if st.Explained != nil {
		c.statement(st.Explained)
	}
	c.query(st.Select)
	c.ctes(st.With)
	c.source(st.Target)
	c.sources(st.From)
	c.assignments(st.Set)
	c.expr(st.Where)
	c.exprs(st.OrderBy)
	c.exprs(st.Limit)
	c.items(st.Returning)
	for _, row := range st.Rows {
		c.exprs(row)
	}
	if x := st.Conflict; x != nil {
		c.expr(x.Predicate)
		c.assignments(x.Set)
		c.expr(x.Where)
	}
}

func (c *census) query(s *rewrite.Select) {
	if s == nil {
		return
	}
	c.ctes(s.With)
	for _, o := range s.Operands {
		c.query(o)
	}
	c.exprs(s.DistinctOn)
	c.items(s.Items)
	for _, row := range s.Values {
		c.exprs(row)
	}
	c.sources(s.From)
	c.expr(s.Where)
	c.exprs(s.GroupBy)
	c.expr(s.Having)
	c.exprs(s.Windows)
	c.exprs(s.OrderBy)
	c.exprs(s.Limit)
}

func (c *census) ctes(with []*rewrite.CTE) {
	for _, w := range with {
		c.queries++
		c.query(w.Select)
		if w.Statement != nil {
			c.statement(w.Statement)
		}
	}
}

func (c *census) sources(list []*rewrite.Source) {
	for _, s := range list {
		c.source(s)
	}
}

func (c *census) source(s *rewrite.Source) {
	if s == nil {
		return
	}
	if len(s.Name) > 0 {
		c.tables++
	}
	if s.Select != nil {
		c.queries++
		c.query(s.Select)
	}
	c.expr(s.Func)
	c.source(s.Left)
	c.source(s.Right)
	c.expr(s.On)
}

func (c *census) assignments(list []rewrite.Assignment) {
	for _, a := range list {
		c.expr(a.Value)
	}
}

func (c *census) items(list []rewrite.Item) {
	for _, it := range list {
		c.expr(it.Expr)
	}
}

func (c *census) exprs(list []*rewrite.Expr) {
	for _, e := range list {
		c.expr(e)
	}
}

func (c *census) expr(e *rewrite.Expr) {
	e.Walk(func(x *rewrite.Expr) bool {
		switch x.Kind {
		case rewrite.ColumnRef, rewrite.Star, rewrite.Excluded:
			c.columns++
		case rewrite.Param:
			c.params++
		case rewrite.Subquery:
			c.queries++
			c.query(x.Query)
		}
		return true
	})
}
