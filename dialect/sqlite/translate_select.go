package sqlite

import (
	tree "github.com/sqlc-dev/meyer/ast"

	"github.com/slotsql/slotsql/rewrite/ast"
)

// query translates a complete SELECT: compounds become one Select whose
// operands are flat, with the ORDER BY and LIMIT that the grammar hangs on the
// last operand.
func (t *translator) query(n *tree.SelectStmt) *ast.Select {
	if n == nil {
		return nil
	}
	if t.depth++; t.depth > maxDepth || t.tooDeep {
		t.depth--
		t.tooDeep = true
		return &ast.Select{Span: span(n)}
	}
	defer func() { t.depth-- }()

	with := t.with(n.With)
	if len(n.Cores) == 1 {
		s := t.core(n.Cores[0])
		s.Span, s.With = span(n), with
		return s
	}
	s := &ast.Select{Span: span(n), With: with}
	for i, c := range n.Cores {
		o := t.core(c)
		if last := i == len(n.Cores)-1; last {
			s.OrderBy, s.Limit = o.OrderBy, o.Limit
			o.OrderBy, o.Limit = nil, nil
			o.End = bodyEnd(c)
		} else if o.OrderBy != nil || o.Limit != nil {
			t.opaque("ORDER BY or LIMIT stands before a compound operator")
		}
		s.Operands = append(s.Operands, o)
	}
	return s
}

// bodyEnd returns where a core ends without its ORDER BY and LIMIT.
func bodyEnd(c tree.SelectCore) int {
	q, ok := c.(*tree.SelectQuery)
	if !ok {
		return c.End()
	}
	body := *q
	body.OrderBy, body.Limit = nil, nil
	end := c.Pos()
	for _, n := range body.Children() {
		end = max(end, n.End())
	}
	return end
}

func (t *translator) core(c tree.SelectCore) *ast.Select {
	s := &ast.Select{Span: span(c)}
	switch n := c.(type) {
	case *tree.ValuesClause:
		for _, row := range n.Rows {
			s.Values = append(s.Values, t.exprs(row))
		}
	case *tree.SelectQuery:
		s.Distinct = n.Distinct == tree.DistinctDistinct
		s.Items = t.items(n.Columns)
		s.From = t.from(n.From)
		s.Where = t.expr(n.Where)
		s.GroupBy = t.exprs(n.GroupBy)
		s.Having = t.expr(n.Having)
		for _, w := range n.Windows {
			s.Windows = append(s.Windows, t.window(w))
		}
		s.OrderBy = t.terms(n.OrderBy)
		s.Limit = t.limit(n.Limit)
	default:
		t.opaque("a query is of an unknown kind")
	}
	return s
}

func (t *translator) items(list []*tree.ResultColumn) []ast.Item {
	var out []ast.Item
	for _, n := range list {
		out = append(out, ast.Item{Span: span(n), Expr: t.expr(n.Expr), Alias: identOrNil(n.Alias)})
	}
	return out
}

// limit returns the operands in source order.
func (t *translator) limit(n *tree.Limit) []*ast.Expr {
	switch {
	case n == nil:
		return nil
	case n.Offset == nil:
		return []*ast.Expr{t.expr(n.Count)}
	case n.Comma:
		return []*ast.Expr{t.expr(n.Offset), t.expr(n.Count)}
	}
	return []*ast.Expr{t.expr(n.Count), t.expr(n.Offset)}
}

func (t *translator) with(n *tree.With) []*ast.CTE {
	if n == nil {
		return nil
	}
	var out []*ast.CTE
	for _, c := range n.CTEs {
		out = append(out, &ast.CTE{
			Name: ident(c.Name), Columns: idents(c.Columns), Recursive: n.Recursive, Select: t.query(c.Select),
		})
	}
	return out
}
