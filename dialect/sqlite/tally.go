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
	var neutral tally
	neutral.statement(t.st)
	if neutral != parsed(n) {
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

// statement counts the neutral form.
func (c *tally) statement(st *rewrite.Statement) {
	if st.Explained != nil {
		c.statement(st.Explained)
	}
	c.query(st.Select)
	c.with(st.With)
	c.source(st.Target)
	c.sources(st.From)
	c.assignments(st.Set)
	c.expr(st.Where)
	c.exprs(st.OrderBy)
	c.exprs(st.Limit)
	c.items(st.Returning)
	if st.Rows != nil {
		c.selects++
	}
	c.rows(st.Rows)
	if u := st.Conflict; u != nil {
		c.columns += len(u.Columns)
		c.expr(u.Predicate)
		c.assignments(u.Set)
		c.expr(u.Where)
	}
}

func (c *tally) with(list []*rewrite.CTE) {
	for _, w := range list {
		c.query(w.Select)
	}
}

func (c *tally) query(s *rewrite.Select) {
	if s == nil {
		return
	}
	c.with(s.With)
	for _, o := range s.Operands {
		c.query(o)
	}
	if s.Operands == nil {
		c.selects++
	}
	c.items(s.Items)
	c.rows(s.Values)
	c.sources(s.From)
	c.expr(s.Where)
	c.exprs(s.GroupBy)
	c.expr(s.Having)
	c.exprs(s.Windows)
	c.exprs(s.OrderBy)
	c.exprs(s.Limit)
}

func (c *tally) sources(list []*rewrite.Source) {
	for _, s := range list {
		c.source(s)
	}
}

func (c *tally) source(s *rewrite.Source) {
	if s == nil {
		return
	}
	if s.Name != nil {
		c.tables++
	}
	c.query(s.Select)
	c.expr(s.Func)
	c.source(s.Left)
	c.source(s.Right)
	c.expr(s.On)
}

func (c *tally) items(list []rewrite.Item) {
	for _, i := range list {
		c.expr(i.Expr)
	}
}

func (c *tally) assignments(list []rewrite.Assignment) {
	for _, a := range list {
		c.expr(a.Value)
	}
}

func (c *tally) rows(list [][]*rewrite.Expr) {
	for _, r := range list {
		c.exprs(r)
	}
}

func (c *tally) exprs(list []*rewrite.Expr) {
	for _, e := range list {
		c.expr(e)
	}
}

func (c *tally) expr(e *rewrite.Expr) {
	e.Walk(func(e *rewrite.Expr) bool {
		switch e.Kind {
		case rewrite.ColumnRef, rewrite.Star, rewrite.Excluded:
			c.columns++
		case rewrite.Param:
			c.params++
		}
		c.query(e.Query)
		return true
	})
}
