package mysql

import (
	"sort"
	"strings"

	tree "github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// keywordCalls are functions whose arguments are separated by keywords.
var keywordCalls = map[string]bool{
	"trim": true, "substring": true, "substr": true, "mid": true, "position": true, "extract": true,
	"date_add": true, "date_sub": true, "adddate": true, "subdate": true, "timestampadd": true, "timestampdiff": true,
	"get_format": true, "convert": true, "char": true, "weight_string": true,
}

// call passes a function call or one of the operators that the parser turns
// into calls.
func (t *translator) call(e *ast.Expr, n *tree.FuncCallExpr) {
	name := n.FnName.L
	if t.isOp("{") ||
		(name == tree.DateLiteral || name == tree.TimeLiteral || name == tree.TimestampLiteral) && len(n.Args) == 1 &&
			t.kindAt(1) == lex.String {
		t.dateLiteral(e, n)
		return
	}
	if t.operatorCall(e, n) {
		return
	}
	e.Kind = ast.Call
	if n.Schema.O != "" {
		t.ident(n.Schema.O)
		t.wantOp(".")
	}
	if t.kind() != lex.Word && !(n.Schema.O != "" && t.kind() == lex.QuotedIdent) {
		t.mismatch("a function name")
		return
	}
	e.Op = strings.ToLower(strings.Trim(t.peek(), "`"))
	switch e.Op {
	case "value", "values", "default", "nextval", "lastval", "setval":
		t.fail("function " + e.Op + "() names a column or sequence")
		return
	}
	if n.Schema.O != "" {
		e.Op = strings.ToLower(n.Schema.O) + "." + e.Op // a function of the database's own
	}
	t.next()
	if !t.isOp("(") {
		if len(n.Args) > 0 {
			t.mismatch("(")
		}
		return
	}
	if keywordCalls[e.Op] {
		t.keywordArgs(e, n.Args)
		return
	}
	t.wantOp("(")
	if len(n.Args) == 1 && t.isOp(")") {
		// A default that the parser filled in.
		t.next()
		return
	}
	e.Args = t.list(n.Args)
	t.wantOp(")")
}

// dateLiteral passes DATE '...' and {d '...'}.
func (t *translator) dateLiteral(e *ast.Expr, n *tree.FuncCallExpr) {
	if len(n.Args) != 1 {
		t.mismatch("a date literal")
		return
	}
	brace := t.acceptOp("{")
	t.name()
	e.Args = t.args(n.Args[0])
	if brace {
		t.wantOp("}")
	}
}

// operatorCall passes a + INTERVAL n unit, INTERVAL n unit + a, c -> path and
// c ->> path.
func (t *translator) operatorCall(e *ast.Expr, n *tree.FuncCallExpr) bool {
	byName := t.kind() == lex.Word && strings.EqualFold(t.peek(), n.FnName.O) && t.isOpAt(1, "(")
	if byName {
		return false
	}
	switch n.FnName.L {
	case tree.DateAdd, tree.DateSub:
		if t.isWord("ADDDATE", "SUBDATE", "DATE_ADD", "DATE_SUB") && t.isOpAt(1, "(") || len(n.Args) != 3 {
			return false
		}
		e.Op = "INTERVAL"
		if t.accept("INTERVAL") {
			e.Args = t.args(n.Args[1])
			t.unit()
			t.wantOp("+")
			e.Args = append(e.Args, t.expr(n.Args[0]))
			return true
		}
		e.Args = t.args(n.Args[0])
		if !t.acceptOp("+") && !t.acceptOp("-") {
			t.mismatch("+")
		}
		t.want("INTERVAL")
		e.Args = append(e.Args, t.expr(n.Args[1]))
		t.unit()
		return true
	case tree.JSONUnquote, tree.JSONExtract:
		args := n.Args
		arrow := "->"
		if n.FnName.L == tree.JSONUnquote {
			arrow = "->>"
			inner, ok := args[0].(*tree.FuncCallExpr)
			if !ok {
				return false
			}
			args = inner.Args
		}
		if len(args) != 2 {
			return false
		}
		e.Op = arrow
		e.Args = t.args(args[0])
		t.wantOp(arrow)
		e.Args = append(e.Args, t.expr(args[1]))
		return true
	}
	return false
}

// unit passes the unit of an INTERVAL.
func (t *translator) unit() {
	if t.kind() != lex.Word {
		t.mismatch("a unit")
	}
	t.next()
}

// keywordArgs passes the arguments of a function with keywords between them,
// in source order, found by the parser's offsets and checked by their tokens.
func (t *translator) keywordArgs(e *ast.Expr, args []tree.ExprNode) {
	end := t.close()
	t.wantOp("(")
	var real []tree.ExprNode
	for i, a := range args {
		switch a.(type) {
		case *tree.TimeUnitExpr, *tree.TrimDirectionExpr, *tree.GetFormatSelectorExpr:
			continue
		}
		if i == 1 && e.Op == "convert" || i > 0 && i == len(args)-1 && e.Op == "char" || i > 0 && e.Op == "weight_string" {
			continue // a character set, which is no expression of the statement
		}
		if v, ok := a.(tree.ValueExpr); ok && e.Op == "trim" && v.GetValue() == nil {
			continue
		}
		real = append(real, a)
	}
	sort.SliceStable(real, func(i, j int) bool { return real[i].OriginTextPosition() < real[j].OriginTextPosition() })
	for i, a := range real {
		for first := true; t.pos < end && t.start() != a.OriginTextPosition(); first = false {
			if !t.isOp(",") && t.kind() != lex.Word {
				t.mismatch("a keyword")
				return
			}
			if i > 0 && first && !t.isOp(",") && !t.isWord("FROM", "FOR", "IN") {
				t.mismatch(",")
				return
			}
			t.next()
		}
		e.Args = append(e.Args, t.expr(a))
	}
	if t.pos > end {
		t.mismatch(")")
		return
	}
	t.skipPlain(end)
	t.wantOp(")")
}

func (t *translator) cast(e *ast.Expr, n *tree.FuncCastExpr) {
	if n.FunctionType == tree.CastBinaryOperator {
		e.Op = "BINARY"
		t.want("BINARY")
		e.Args = t.args(n.Expr)
		return
	}
	e.Op = "CAST"
	if !t.accept("CAST", "CONVERT") {
		t.mismatch("CAST")
	}
	end := t.close()
	t.wantOp("(")
	e.Args = t.args(n.Expr)
	if !t.accept("AS") {
		t.wantOp(",")
	}
	t.skipPlain(end)
	t.wantOp(")")
}

// aggregate passes an aggregate function without OVER.
func (t *translator) aggregate(e *ast.Expr, n *tree.AggregateFuncExpr) {
	e.Kind, e.Aggregate, e.Op = ast.Call, true, strings.ToLower(t.peek())
	t.want(t.aggregateName(n.F))
	end := t.close()
	t.wantOp("(")
	t.accept("DISTINCT", "DISTINCTROW")
	t.accept("ALL")
	if t.acceptOp("*") {
		t.wantOp(")")
		return
	}
	args := n.Args
	if strings.EqualFold(n.F, "group_concat") && len(args) > 0 {
		args = args[:len(args)-1] // the separator
	}
	e.Args = t.list(args)
	if n.Order != nil {
		e.Args = append(e.Args, t.orderBy(n.Order)...)
	}
	if t.accept("SEPARATOR") {
		if t.kind() != lex.String {
			t.mismatch("a string")
		}
		t.next()
	}
	if t.pos != end {
		t.mismatch(")")
	}
	t.wantOp(")")
}

// aggregateName is the spelling at hand when it stands for the function F.
func (t *translator) aggregateName(f string) string {
	if t.isWord("STD", "STDDEV", "STDDEV_POP", "VARIANCE", "VAR_POP", "STDDEV_SAMP", "VAR_SAMP") {
		return t.peek()
	}
	return f
}

// windowCall passes f(...) OVER (...). The expressions of the window are
// further arguments.
func (t *translator) windowCall(e *ast.Expr, n *tree.WindowFuncExpr) {
	e.Kind, e.Aggregate, e.Op = ast.Call, true, strings.ToLower(t.peek())
	t.want(t.aggregateName(n.Name))
	t.wantOp("(")
	t.accept("DISTINCT", "DISTINCTROW")
	t.accept("ALL")
	switch {
	case t.acceptOp("*"):
	case strings.EqualFold(n.Name, "group_concat"):
		t.fail("GROUP_CONCAT with a window")
	default:
		e.Args = t.list(n.Args)
	}
	t.wantOp(")")
	if t.accept("FROM") && !t.accept("FIRST", "LAST") {
		t.mismatch("FIRST")
	}
	if t.accept("RESPECT", "IGNORE") {
		t.want("NULLS")
	}
	t.want("OVER")
	if n.Spec.OnlyAlias {
		t.ident(n.Spec.Name.O)
		return
	}
	e.Args = append(e.Args, t.windowSpec(&n.Spec).Args...)
}

// windowSpec passes the parenthesised part of a window.
func (t *translator) windowSpec(n *tree.WindowSpec) *ast.Expr {
	start := t.start()
	e := &ast.Expr{Op: "WINDOW"}
	end := t.close()
	t.wantOp("(")
	if n.Ref.O != "" {
		t.ident(n.Ref.O)
	}
	if n.PartitionBy != nil {
		t.want("PARTITION", "BY")
		e.Args = append(e.Args, t.byItems(n.PartitionBy.Items)...)
	}
	if n.OrderBy != nil {
		e.Args = append(e.Args, t.orderBy(n.OrderBy)...)
	}
	if n.Frame != nil {
		e.Args = append(e.Args, t.frame(end)...)
	}
	t.wantOp(")")
	e.Span = t.span(start)
	return e
}

// frame passes a frame, whose bounds are literals or placeholders.
func (t *translator) frame(end int) []*ast.Expr {
	var out []*ast.Expr
	for t.pos < end {
		switch t.kind() {
		case lex.Param:
			out = append(out, &ast.Expr{Kind: ast.Param, Text: t.peek(), Span: ast.Span(t.toks[t.pos].Span)})
		case lex.QuotedIdent, lex.Variable:
			t.mismatch("a frame")
		}
		t.next()
	}
	return out
}
