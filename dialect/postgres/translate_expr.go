package postgres

import (
	"strings"

	tree "github.com/sqlc-dev/oliphant/ast"

	"github.com/slotsql/slotsql/rewrite/ast"
)

// expr translates an expression that is written with exactly the tokens of r.
// Where the anchors of n do not cut r as expected, the result is Opaque over
// r with all references inside in Args: the span holds in either case.
func (t *translator) expr(n *tree.Node, r rng) *ast.Expr {
	if n == nil || n.Node == nil {
		return nil
	}
	if r.lo >= r.hi {
		return t.loose(n)
	}
	if t.wrapped(r) && !t.ownsBrackets(n, r.lo) {
		return t.node(ast.Paren, r, "", t.expr(n, rng{r.lo + 1, r.hi - 1}))
	}
	switch v := n.Node.(type) {
	case *tree.Node_ColumnRef, *tree.Node_ParamRef, *tree.Node_AConst:
		if e := t.leaf(n, r); e != nil {
			return e
		}
	case *tree.Node_AExpr:
		if e := t.operator(v.AExpr, r); e != nil {
			return e
		}
	case *tree.Node_BoolExpr:
		if e := t.boolean(v.BoolExpr, r); e != nil {
			return e
		}
	case *tree.Node_SubLink:
		if e := t.subquery(v.SubLink, r); e != nil {
			return e
		}
	case *tree.Node_TypeCast:
		return t.cast(v.TypeCast, r)
	case *tree.Node_FuncCall:
		return t.call(v.FuncCall, r)
	case *tree.Node_CoalesceExpr:
		return t.builtin("coalesce", v.CoalesceExpr.Args, r)
	case *tree.Node_MinMaxExpr:
		op := "greatest"
		if v.MinMaxExpr.Op == tree.MinMaxOp_IS_LEAST {
			op = "least"
		}
		return t.builtin(op, v.MinMaxExpr.Args, r)
	case *tree.Node_CaseExpr:
		if e := t.caseOf(v.CaseExpr, r); e != nil {
			return e
		}
	case *tree.Node_NullTest:
		e := t.postfix(v.NullTest.Arg, v.NullTest.Location, r, "is null")
		e.Negated = v.NullTest.Nulltesttype == tree.NullTestType_IS_NOT_NULL
		return e
	case *tree.Node_BooleanTest:
		return t.postfix(v.BooleanTest.Arg, v.BooleanTest.Location, r, "is boolean")
	case *tree.Node_CollateClause:
		return t.postfix(v.CollateClause.Arg, v.CollateClause.Location, r, "collate")
	}
	return t.node(ast.Opaque, r, looseOp(n), t.operands(n)...)
}

func (t *translator) node(kind ast.ExprKind, r rng, op string, args ...*ast.Expr) *ast.Expr {
	return &ast.Expr{Span: t.span(r), Kind: kind, Op: op, Args: args}
}

// ownsBrackets reports whether the parentheses at token i belong to n itself.
func (t *translator) ownsBrackets(n *tree.Node, i int) bool {
	switch v := n.Node.(type) {
	case *tree.Node_SubLink:
		return int(v.SubLink.Location) == t.tok[i].start
	case *tree.Node_RowExpr:
		return int(v.RowExpr.Location) == t.tok[i].start
	}
	return false
}

// leaf translates a column, parameter or constant that takes all of r, or
// returns nil.
func (t *translator) leaf(n *tree.Node, r rng) *ast.Expr {
	own, ok := t.extent(n)
	if !ok || own != r {
		return nil
	}
	switch v := n.Node.(type) {
	case *tree.Node_ColumnRef:
		return t.column(v.ColumnRef, r)
	case *tree.Node_ParamRef:
		e := t.node(ast.Param, r, "")
		e.Text = t.word(r.lo)
		return e
	case *tree.Node_AConst:
		return t.constant(v.AConst, r)
	}
	return nil
}

func (t *translator) constant(c *tree.A_Const, r rng) *ast.Expr {
	if c.Isnull {
		return t.node(ast.Null, r, "")
	}
	switch v := c.Val.(type) {
	case *tree.A_Const_Ival, *tree.A_Const_Fval:
		if t.wrapped(r) {
			return t.node(ast.Paren, r, "", t.constant(c, rng{r.lo + 1, r.hi - 1}))
		}
		// The parser folds the sign into the constant.
		if t.is(r.lo, '-') && r.hi-r.lo > 1 {
			return t.node(ast.Unary, r, "-", t.constant(c, rng{r.lo + 1, r.hi}))
		}
		if r.hi-r.lo == 1 && (t.is(r.lo, tree.Token_ICONST) || t.is(r.lo, tree.Token_FCONST)) {
			return t.node(ast.Number, r, "")
		}
	case *tree.A_Const_Sval:
		if r.hi-r.lo == 1 && t.is(r.lo, tree.Token_SCONST) {
			e := t.node(ast.String, r, "")
			e.Text = v.Sval.GetSval()
			return e
		}
	case *tree.A_Const_Boolval:
		return t.node(ast.Opaque, r, strings.ToLower(t.word(r.lo)))
	}
	return t.node(ast.Opaque, r, "constant")
}

// column translates a column reference, after reading its names back from the
// text.
func (t *translator) column(c *tree.ColumnRef, r rng) *ast.Expr {
	e := t.node(ast.ColumnRef, r, "")
	for i, f := range c.Fields {
		at := r.lo + 2*i
		if f.GetAStar() != nil {
			e.Kind = ast.Star
			if !t.is(at, '*') {
				t.giveUp("a column reference is not at the position the parser reports")
			}
			continue
		}
		id, ok := t.ident(at, f.GetString_().GetSval())
		if !ok {
			t.giveUp("a column reference is not at the position the parser reports")
		}
		e.Name = append(e.Name, id)
	}
	if t.upsert && len(e.Name) > 0 && e.Name[0].Name == "excluded" {
		if len(e.Name) != 2 || e.Kind == ast.Star {
			t.giveUp("excluded as a whole row")
			return e
		}
		e.Kind, e.Name = ast.Excluded, e.Name[1:]
	}
	return e
}

// ident reads the name at token i, which the parser resolved to that value.
func (t *translator) ident(i int, value string) (ast.Ident, bool) {
	if i >= len(t.tok) {
		return ast.Ident{Name: value}, false
	}
	w := t.word(i)
	switch {
	case t.tok[i].kind == tree.Token_UIDENT:
		// A UESCAPE clause would belong to the name's text.
		return ast.Ident{Name: value, Quoted: true}, !t.isWord(i+1, "uescape")
	case strings.HasPrefix(w, `"`):
		plain := strings.ReplaceAll(w[1:len(w)-1], `""`, `"`)
		return ast.Ident{Name: value, Quoted: true}, truncate(plain) == value
	}
	return ast.Ident{Name: value}, truncate(fold(w)) == value
}

func (t *translator) isWord(i int, w string) bool {
	return i < len(t.tok) && strings.EqualFold(t.word(i), w)
}

// extent finds the tokens of an expression that delimits itself: it starts
// at its location and shows its own end.
func (t *translator) extent(n *tree.Node) (rng, bool) {
	switch v := n.GetNode().(type) {
	case *tree.Node_ColumnRef:
		i := t.index(v.ColumnRef.Location)
		return rng{i, i + 2*len(v.ColumnRef.Fields) - 1}, i >= 0
	case *tree.Node_ParamRef:
		i := t.index(v.ParamRef.Location)
		return rng{i, i + 1}, t.is(i, tree.Token_PARAM)
	case *tree.Node_AConst:
		return t.constantExtent(v.AConst)
	case *tree.Node_FuncCall:
		return t.callExtent(v.FuncCall)
	case *tree.Node_CoalesceExpr:
		return t.bracketExtent(v.CoalesceExpr.Location)
	case *tree.Node_MinMaxExpr:
		return t.bracketExtent(v.MinMaxExpr.Location)
	case *tree.Node_GroupingFunc:
		return t.bracketExtent(v.GroupingFunc.Location)
	case *tree.Node_AArrayExpr:
		return t.bracketExtent(v.AArrayExpr.Location)
	case *tree.Node_AExpr:
		if v.AExpr.Kind == tree.A_Expr_Kind_AEXPR_NULLIF {
			return t.bracketExtent(v.AExpr.Location)
		}
	case *tree.Node_CaseExpr:
		i := t.index(v.CaseExpr.Location)
		if t.is(i, tree.Token_CASE) && t.tok[i].match > i {
			return rng{i, t.tok[i].match + 1}, true
		}
	case *tree.Node_TypeCast:
		i := t.index(v.TypeCast.Location)
		if t.is(i, tree.Token_CAST) {
			return t.bracketExtent(v.TypeCast.Location)
		}
	case *tree.Node_SubLink:
		i := t.index(v.SubLink.Location)
		switch {
		case i < 0:
		case t.is(i, '(') && t.tok[i].match > i:
			return rng{i, t.tok[i].match + 1}, true
		case v.SubLink.Testexpr == nil:
			return t.bracketExtent(v.SubLink.Location)
		}
	}
	return rng{}, false
}

// bracketExtent is a keyword followed by its brackets.
func (t *translator) bracketExtent(location int32) (rng, bool) {
	i := t.index(location)
	if i < 0 || !t.is(i+1, '(') && !t.is(i+1, '[') || t.tok[i+1].match < 0 {
		return rng{}, false
	}
	return rng{i, t.tok[i+1].match + 1}, true
}

func (t *translator) constantExtent(c *tree.A_Const) (rng, bool) {
	i := t.index(c.Location)
	if i < 0 {
		return rng{}, false
	}
	end := i
	if t.is(i, '-') {
		for end < len(t.tok) && t.is(end, '-') {
			end++
		}
		if t.is(end, '(') {
			end = t.tok[end].match
			if end < 0 {
				return rng{}, false
			}
		}
	}
	if end >= len(t.tok) || t.isWord(end+1, "uescape") {
		return rng{}, false
	}
	return rng{i, end + 1}, true
}

// loose translates an expression whose run of tokens is not known.
func (t *translator) loose(n *tree.Node) *ast.Expr {
	if n == nil || n.Node == nil {
		return nil
	}
	if r, ok := t.extent(n); ok {
		return t.expr(n, r)
	}
	e := &ast.Expr{Op: looseOp(n)}
	switch v := n.Node.(type) {
	case *tree.Node_ColumnRef:
		t.giveUp("a column reference without a place")
	case *tree.Node_SubLink:
		if sub := t.looseSubquery(v.SubLink); sub != nil {
			return sub
		}
	case *tree.Node_SortBy:
		return t.loose(v.SortBy.Node)
	}
	e.Args = t.operands(n)
	for _, a := range e.Args {
		if a.End == 0 {
			continue
		}
		if e.End == 0 || a.Start < e.Start {
			e.Start = a.Start
		}
		e.End = max(e.End, a.End)
	}
	return e
}

// looseOp names an expression that has no kind of its own.
func looseOp(n *tree.Node) string {
	switch v := n.Node.(type) {
	case *tree.Node_AExpr:
		if len(v.AExpr.Name) > 0 {
			op := strings.ToLower(v.AExpr.Name[len(v.AExpr.Name)-1].GetString_().GetSval())
			if schema := v.AExpr.Name[0].GetString_().GetSval(); len(v.AExpr.Name) > 1 && schema != "pg_catalog" {
				return schema + "." + op // an operator of the database's own
			}
			return op
		}
	case *tree.Node_TypeCast:
		return "cast"
	case *tree.Node_CaseExpr:
		return "case"
	case *tree.Node_RowExpr:
		return "row"
	case *tree.Node_AArrayExpr:
		return "array"
	case *tree.Node_AIndirection:
		return "indirection"
	case *tree.Node_GroupingFunc:
		return "grouping"
	case *tree.Node_SetToDefault:
		return "default"
	case *tree.Node_SqlvalueFunction:
		return strings.ToLower(strings.TrimPrefix(v.SqlvalueFunction.Op.String(), "SVFOP_"))
	}
	return ""
}
