package mysql

import (
	"fmt"
	"strings"

	tree "github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// expr passes one expression.
//
//nolint:funlen // one case for each kind of node
func (t *translator) expr(n tree.ExprNode) *ast.Expr {
	start := t.start()
	e := &ast.Expr{}
	if t.failed() {
		return e
	}
	switch n := n.(type) {
	case nil:
		t.fail("expression is missing from the parser's tree")
	case *tree.ColumnNameExpr:
		e.Kind = ast.ColumnRef
		e.Name = t.dotted(n.Name.Schema.O, n.Name.Table.O, n.Name.Name.O)
	case tree.ParamMarkerExpr:
		e.Kind, e.Text = ast.Param, t.peek()
		if t.kind() != lex.Param {
			t.mismatch("?")
		}
		t.next()
	case tree.ValueExpr:
		t.literal(e, n)
	case *tree.PositionExpr:
		e.Kind, e.Text = ast.Number, t.peek()
		if n.P != nil || t.kind() != lex.Number {
			t.mismatch("a number")
		}
		t.next()
	case *tree.BinaryOperationExpr:
		t.binary(e, n)
	case *tree.UnaryOperationExpr:
		t.unary(e, n)
	case *tree.ParenthesesExpr:
		e.Kind = ast.Paren
		t.wantOp("(")
		e.Args = t.args(n.Expr)
		t.wantOp(")")
	case *tree.RowExpr:
		if t.accept("ROW") {
			e.Op = "ROW"
		}
		t.wantOp("(")
		e.Args = t.list(n.Values)
		t.wantOp(")")
	case *tree.SubqueryExpr:
		e.Kind = ast.Subquery
		e.Query = t.subquery(n)
	case *tree.ExistsSubqueryExpr:
		e.Kind, e.Op = ast.Subquery, "EXISTS"
		for t.accept("NOT") {
			e.Negated = !e.Negated
		}
		if e.Negated != n.Not {
			t.mismatch("EXISTS")
		}
		t.want("EXISTS")
		if sub, ok := n.Sel.(*tree.SubqueryExpr); ok {
			e.Query = t.subquery(sub)
		} else {
			t.fail("EXISTS without a subquery")
		}
	case *tree.CompareSubqueryExpr:
		e.Args = t.args(n.L)
		e.Op = t.compare(n.Op)
		if !t.accept("ANY", "SOME", "ALL") {
			t.mismatch("ANY")
		}
		e.Args = append(e.Args, t.expr(n.R))
	case *tree.PatternInExpr:
		t.in(e, n)
	case *tree.BetweenExpr:
		e.Args = t.args(n.Expr)
		e.Op, e.Negated = "BETWEEN", t.negated(n.Not)
		t.want("BETWEEN")
		e.Args = append(e.Args, t.expr(n.Left))
		t.want("AND")
		e.Args = append(e.Args, t.expr(n.Right))
	case *tree.IsNullExpr:
		e.Args = t.args(n.Expr)
		t.want("IS")
		e.Op, e.Negated = "IS NULL", t.negated(n.Not)
		t.want("NULL")
	case *tree.IsTruthExpr:
		e.Args = t.args(n.Expr)
		t.want("IS")
		e.Op, e.Negated = "IS TRUE", t.negated(n.Not)
		if !t.accept("TRUE", "FALSE") {
			t.mismatch("TRUE")
		}
	case *tree.PatternLikeOrIlikeExpr:
		e.Args = t.args(n.Expr)
		e.Op, e.Negated = "LIKE", t.negated(n.Not)
		t.want("LIKE")
		e.Args = append(e.Args, t.expr(n.Pattern))
		if n.EscapeExplicit || t.isWord("ESCAPE") {
			t.want("ESCAPE")
			if t.kind() != lex.String {
				t.mismatch("a string")
			}
			t.next()
		}
	case *tree.PatternRegexpExpr:
		e.Args = t.args(n.Expr)
		e.Op, e.Negated = "REGEXP", t.negated(n.Not)
		if !t.accept("REGEXP", "RLIKE") {
			t.mismatch("REGEXP")
		}
		e.Args = append(e.Args, t.expr(n.Pattern))
	case *tree.CaseExpr:
		t.caseOf(e, n)
	case *tree.SetCollationExpr:
		e.Args, e.Op = t.args(n.Expr), "COLLATE"
		t.want("COLLATE")
		t.name()
	case *tree.VariableExpr:
		e.Op = "@"
		if n.Value != nil {
			t.fail("assignment to a user variable")
		}
		if t.kind() != lex.Variable {
			t.mismatch("a variable")
		}
		t.next()
	case *tree.ValuesExpr:
		e.Kind = ast.Excluded
		t.want("VALUES")
		t.wantOp("(")
		c := n.Column.Name
		name := t.dotted(c.Schema.O, c.Table.O, c.Name.O)
		e.Name = name[max(0, len(name)-1):]
		t.wantOp(")")
	case *tree.MatchAgainst:
		t.match(e, n)
	case *tree.FuncCallExpr:
		t.call(e, n)
	case *tree.FuncCastExpr:
		t.cast(e, n)
	case *tree.AggregateFuncExpr:
		t.aggregate(e, n)
	case *tree.WindowFuncExpr:
		t.windowCall(e, n)
	default:
		t.fail(fmt.Sprintf("expression of type %T is not supported", n))
	}
	e.Span = t.span(start)
	return e
}

func (t *translator) args(n tree.ExprNode) []*ast.Expr { return []*ast.Expr{t.expr(n)} }

func (t *translator) list(ns []tree.ExprNode) []*ast.Expr {
	out := make([]*ast.Expr, 0, len(ns))
	for i, n := range ns {
		if i > 0 {
			t.wantOp(",")
		}
		out = append(out, t.expr(n))
	}
	return out
}

func (t *translator) negated(not bool) bool {
	if not {
		t.want("NOT")
	}
	return not
}

// name passes a word or string that is no reference: a collation, a character
// set.
func (t *translator) name() {
	switch t.kind() {
	case lex.Word, lex.String, lex.QuotedIdent:
		t.next()
	default:
		t.mismatch("a name")
	}
}

// literal passes a literal. Adjacent strings are one literal.
func (t *translator) literal(e *ast.Expr, n tree.ValueExpr) {
	text := t.peek()
	switch t.kind() {
	case lex.Number:
		t.next()
		if len(text) > 1 && text[0] == '0' && strings.IndexByte("xXbB", text[1]) >= 0 {
			return
		}
		if t.kind() == lex.Word && t.start() == t.end() || strings.IndexByte(text, '_') >= 0 {
			t.mismatch("an operator") // 1abc is a name
			return
		}
		e.Kind, e.Text = ast.Number, text
	case lex.String:
		for t.kind() == lex.String {
			t.next()
		}
		switch text[0] {
		case 'x', 'X', 'b', 'B':
			return
		}
		e.Kind, e.Text = ast.String, n.GetString()
	case lex.Word:
		switch {
		case t.accept("NULL"):
			e.Kind = ast.Null
		case t.accept("TRUE"), t.accept("FALSE"):
			e.Op = strings.ToUpper(text)
		case text[0] == '_':
			t.next()
			if t.kind() != lex.String && t.kind() != lex.Number {
				t.mismatch("a string")
			}
			t.next()
		default:
			t.mismatch("a literal")
		}
	default:
		t.mismatch("a literal")
	}
}

var binaryOperators = map[opcode.Op][]string{
	opcode.LogicAnd: {"AND", "&&"}, opcode.LogicOr: {"OR", "||"}, opcode.LogicXor: {"XOR"},
	opcode.LeftShift: {"<<"}, opcode.RightShift: {">>"},
	opcode.GE: {">="}, opcode.LE: {"<="}, opcode.EQ: {"="}, opcode.NE: {"<>", "!="}, opcode.LT: {"<"}, opcode.GT: {">"},
	opcode.NullEQ: {"<=>"}, opcode.Plus: {"+"}, opcode.Minus: {"-"}, opcode.Mul: {"*"}, opcode.Div: {"/"},
	opcode.Mod: {"%", "MOD"}, opcode.IntDiv: {"DIV"},
	opcode.And: {"&"}, opcode.Or: {"|"}, opcode.Xor: {"^"},
}

// compare passes the operator and returns it, AND and OR by their names.
func (t *translator) compare(op opcode.Op) string {
	spellings := binaryOperators[op]
	for _, s := range spellings {
		if t.kind() == lex.Word && t.accept(s) || t.kind() == lex.Operator && t.acceptOp(s) {
			if op == opcode.LogicAnd || op == opcode.LogicOr {
				return spellings[0]
			}
			return s
		}
	}
	t.mismatch("an operator")
	return ""
}

func (t *translator) binary(e *ast.Expr, n *tree.BinaryOperationExpr) {
	if n.Op == opcode.Mod && t.isWord("MOD") && t.isOpAt(1, "(") {
		e.Kind, e.Op = ast.Call, "mod"
		t.next()
		t.wantOp("(")
		e.Args = t.list([]tree.ExprNode{n.L, n.R})
		t.wantOp(")")
		return
	}
	e.Kind = ast.Binary
	e.Args = t.args(n.L)
	e.Op = t.compare(n.Op)
	e.Args = append(e.Args, t.expr(n.R))
}

func (t *translator) unary(e *ast.Expr, n *tree.UnaryOperationExpr) {
	e.Kind = ast.Unary
	switch n.Op {
	case opcode.Not, opcode.Not2:
		e.Op = "NOT"
		if !t.accept("NOT") && !t.acceptOp("!") {
			t.mismatch("NOT")
		}
	case opcode.Minus:
		e.Op = "-"
		t.wantOp("-")
	case opcode.Plus:
		e.Op = "+"
		t.wantOp("+")
	case opcode.BitNeg:
		e.Op = "~"
		t.wantOp("~")
	default:
		t.mismatch("an operator")
	}
	e.Args = t.args(n.V)
}

func (t *translator) in(e *ast.Expr, n *tree.PatternInExpr) {
	e.Kind = ast.In
	e.Args = t.args(n.Expr)
	e.Negated = t.negated(n.Not)
	t.want("IN")
	if n.Sel != nil {
		e.Args = append(e.Args, t.expr(n.Sel))
		return
	}
	t.wantOp("(")
	e.Args = append(e.Args, t.list(n.List)...)
	t.wantOp(")")
}

func (t *translator) caseOf(e *ast.Expr, n *tree.CaseExpr) {
	e.Op, e.Case = "CASE", &ast.Case{}
	t.want("CASE")
	if n.Value != nil {
		e.Case.Operand = t.expr(n.Value)
		e.Args = append(e.Args, e.Case.Operand)
	}
	for _, w := range n.WhenClauses {
		t.want("WHEN")
		when := t.expr(w.Expr)
		t.want("THEN")
		then := t.expr(w.Result)
		e.Args = append(e.Args, when, then)
		e.Case.Whens = append(e.Case.Whens, ast.When{When: when, Then: then})
	}
	if n.ElseClause != nil {
		t.want("ELSE")
		e.Case.Else = t.expr(n.ElseClause)
		e.Args = append(e.Args, e.Case.Else)
	}
	t.want("END")
}

func (t *translator) match(e *ast.Expr, n *tree.MatchAgainst) {
	e.Op = "MATCH"
	t.want("MATCH")
	t.wantOp("(")
	for i, c := range n.ColumnNames {
		if i > 0 {
			t.wantOp(",")
		}
		start := t.start()
		name := t.dotted(c.Schema.O, c.Table.O, c.Name.O)
		e.Args = append(e.Args, &ast.Expr{Kind: ast.ColumnRef, Name: name, Span: t.span(start)})
	}
	t.wantOp(")")
	t.want("AGAINST")
	end := t.close()
	t.wantOp("(")
	e.Args = append(e.Args, t.expr(n.Against))
	t.skipPlain(end)
	t.wantOp(")")
}
