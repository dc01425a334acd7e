package sqlite

import (
	"strings"

	tree "github.com/sqlc-dev/meyer/ast"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// aggregates are SQLite's own aggregate functions besides min and max, which
// aggregate only when they have one argument.
var aggregates = map[string]bool{
	"count": true, "sum": true, "total": true, "avg": true,
	"group_concat": true, "string_agg": true,
	"json_group_array": true, "json_group_object": true,
	"jsonb_group_array": true, "jsonb_group_object": true,
	"median": true, "percentile": true, "percentile_cont": true, "percentile_disc": true,
}

func (t *translator) exprs(list []tree.Expr) []*ast.Expr {
	var out []*ast.Expr
	for _, n := range list {
		out = append(out, t.expr(n))
	}
	return out
}

// expr translates n; nil stays nil.
//
//nolint:funlen // one case for each kind of node
func (t *translator) expr(n tree.Expr) *ast.Expr {
	if n == nil {
		return nil
	}
	if t.depth++; t.depth > maxDepth || t.tooDeep {
		t.depth--
		t.tooDeep = true
		return &ast.Expr{Span: span(n)}
	}
	defer func() { t.depth-- }()

	e := &ast.Expr{Span: span(n)}
	switch n := n.(type) {
	case *tree.Ident:
		t.column(e, n)
	case *tree.QualifiedRef:
		t.reference(e, n)
	case *tree.Star:
		e.Kind = ast.Star
		if n.Table != nil {
			e.Name = []ast.Ident{ident(n.Table)}
		}
	case *tree.Literal:
		literal(e, n)
	case *tree.BindParam:
		e.Kind, e.Text = ast.Param, n.Raw
	case *tree.BinaryExpr:
		t.operation(e, n.Op.String(), n.X, n.Y, isComparison(n.Op))
	case *tree.IsExpr:
		t.operation(e, isOperator(n), n.X, n.Y, true)
	case *tree.UnaryExpr:
		e.Kind, e.Op, e.Args = ast.Unary, n.Op.String(), []*ast.Expr{t.expr(n.X)}
	case *tree.ParenExpr:
		e.Kind, e.Args = ast.Paren, []*ast.Expr{t.expr(n.X)}
	case *tree.InExpr:
		t.in(e, n)
	case *tree.FuncCall:
		t.call(e, n)
	case *tree.SubqueryExpr:
		e.Kind, e.Query = ast.Subquery, t.query(n.Select)
	case *tree.ExistsExpr:
		e.Kind, e.Op, e.Query = ast.Subquery, "EXISTS", t.query(n.Select)
	case *tree.LikeExpr:
		t.operands(e, strings.ToUpper(n.Op.Name), n.X, n.Y, n.Escape)
	case *tree.NullCheckExpr:
		t.operands(e, n.Test.String(), n.X)
	case *tree.BetweenExpr:
		t.operands(e, "BETWEEN", n.X, n.Lo, n.Hi)
	case *tree.CaseExpr:
		t.caseOf(e, n)
	case *tree.CastExpr:
		t.rules++
		t.operands(e, "CAST", n.X)
	case *tree.CollateExpr:
		t.rules++
		t.operands(e, "COLLATE", n.X)
	case *tree.VectorExpr:
		e.Op, e.Args = "ROW", t.exprs(n.List)
	default:
		t.opaque("an expression is of an unknown kind")
	}
	return e
}

func (t *translator) caseOf(e *ast.Expr, n *tree.CaseExpr) {
	t.operands(e, "CASE", n.Operand)
	e.Case = &ast.Case{}
	if len(e.Args) > 0 {
		e.Case.Operand = e.Args[0]
	}
	for _, w := range n.Whens {
		when, then := t.expr(w.When), t.expr(w.Then)
		e.Args = append(e.Args, when, then)
		e.Case.Whens = append(e.Case.Whens, ast.When{When: when, Then: then})
	}
	if n.Else != nil {
		e.Case.Else = t.expr(n.Else)
		e.Args = append(e.Args, e.Case.Else)
	}
}

// operands fills an opaque expression.
func (t *translator) operands(e *ast.Expr, op string, list ...tree.Expr) {
	e.Op = op
	for _, n := range list {
		if n != nil {
			e.Args = append(e.Args, t.expr(n))
		}
	}
}

// column translates a bare name. TRUE and FALSE are constants unless a column
// has that name; introspection refuses counters of these names.
func (t *translator) column(e *ast.Expr, n *tree.Ident) {
	if isBoolean(n) {
		return
	}
	e.Kind, e.Name = ast.ColumnRef, []ast.Ident{ident(n)}
}

func isBoolean(n *tree.Ident) bool {
	return n.Quote == tree.QuoteNone && (sameName(n.Name, "true") || sameName(n.Name, "false"))
}

func (t *translator) reference(e *ast.Expr, n *tree.QualifiedRef) {
	e.Kind, e.Name = ast.ColumnRef, idents(n.Parts)
	if t.upsert && len(n.Parts) == 2 && sameName(n.Parts[0].Name, "excluded") {
		e.Kind, e.Name = ast.Excluded, e.Name[1:]
	}
}

func literal(e *ast.Expr, n *tree.Literal) {
	switch n.Kind {
	case tree.LitNull:
		e.Kind = ast.Null
	case tree.LitInteger, tree.LitFloat:
		e.Kind, e.Text = ast.Number, n.Raw
	case tree.LitString:
		e.Kind, e.Text = ast.String, n.Value
	}
}

func isComparison(op tree.Operator) bool {
	switch op {
	case tree.OpEq, tree.OpNe, tree.OpLt, tree.OpLe, tree.OpGt, tree.OpGe:
		return true
	}
	return false
}

func isOperator(n *tree.IsExpr) string {
	op := "IS"
	if n.Not {
		op += " NOT"
	}
	if n.Distinct {
		op += " DISTINCT FROM"
	}
	return op
}

// operation translates x op y. `slug = ? COLLATE NOCASE` and
// `slug = CAST(? AS INTEGER)` compare by other rules than the column's own, so
// that they may hold for several rows of a unique key: they are no comparison
// the planner may take a key from, and become opaque.
func (t *translator) operation(e *ast.Expr, op string, x, y tree.Expr, comparison bool) {
	before := t.rules
	e.Kind, e.Op, e.Args = ast.Binary, op, []*ast.Expr{t.expr(x), t.expr(y)}
	if comparison && t.rules > before {
		e.Kind = ast.Opaque
	}
}

func (t *translator) in(e *ast.Expr, n *tree.InExpr) {
	before := t.rules
	e.Kind, e.Op, e.Negated = ast.In, "IN", n.Not
	e.Args = append(e.Args, t.expr(n.X))
	switch {
	case n.Select != nil:
		e.Args = append(e.Args, &ast.Expr{
			Span: t.parenAfter(n.X.End(), n.End()), Kind: ast.Subquery, Query: t.query(n.Select),
		})
	case n.Table != nil && len(n.Args) > 0:
		t.opaque("IN has a function for its list")
		e.Args = append(e.Args, t.exprs(n.Args)...)
	case n.Table != nil:
		e.Args = append(e.Args, &ast.Expr{Span: span(n.Table), Kind: ast.Subquery, Query: &ast.Select{
			Span: span(n.Table), Table: true, From: []*ast.Source{{Span: span(n.Table), Name: qualified(n.Table)}},
		}})
	default:
		e.Args = append(e.Args, t.exprs(n.List)...)
	}
	if t.rules > before {
		e.Kind = ast.Opaque
	}
}

// parenAfter finds the parenthesis that opens after start and closes at end.
func (t *translator) parenAfter(start, end int) ast.Span {
	s := lex.NewScanner(&lexRules, t.sql[start:end])
	for {
		switch k := s.Next(); {
		case k.Kind == lex.EOF:
			return ast.Span{Start: start, End: end}
		case k.Kind == lex.Operator && t.sql[start+k.Start] == '(':
			return ast.Span{Start: start + k.Start, End: end}
		}
	}
}

func (t *translator) call(e *ast.Expr, n *tree.FuncCall) {
	e.Kind, e.Op, e.Args = ast.Call, foldName(n.Name.Name), t.exprs(n.Args)
	e.Aggregate = n.Distinct || n.Filter != nil || n.Over != nil || len(n.OrderBy) > 0 || n.Star ||
		aggregates[e.Op] || (e.Op == "min" || e.Op == "max") && len(n.Args) == 1
	e.Args = append(e.Args, t.terms(n.OrderBy)...)
	if n.Filter != nil {
		e.Args = append(e.Args, t.expr(n.Filter))
	}
	if n.Over != nil {
		e.Args = append(e.Args, t.window(n.Over))
	}
}

func (t *translator) terms(list []*tree.OrderingTerm) []*ast.Expr {
	var out []*ast.Expr
	for _, n := range list {
		out = append(out, t.expr(n.Expr))
	}
	return out
}

func (t *translator) window(n *tree.WindowDef) *ast.Expr {
	e := &ast.Expr{Span: span(n), Op: "WINDOW"}
	e.Args = append(e.Args, t.exprs(n.Partition)...)
	e.Args = append(e.Args, t.terms(n.OrderBy)...)
	for _, b := range []*tree.FrameBound{n.StartBound, n.EndBound} {
		if b != nil && b.Expr != nil {
			e.Args = append(e.Args, t.expr(b.Expr))
		}
	}
	return e
}
