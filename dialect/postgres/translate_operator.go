package postgres

import (
	"strings"

	tree "github.com/sqlc-dev/oliphant/ast"

	"github.com/slotsql/slotsql/rewrite/ast"
)

// operator translates an operator expression, or returns nil when r is not
// cut as expected.
//
//nolint:funlen // one case for each operator
func (t *translator) operator(a *tree.A_Expr, r rng) *ast.Expr {
	at := t.index(a.Location)
	if at < r.lo || at >= r.hi {
		return nil
	}
	right := rng{at + 1, r.hi}
	op := t.word(at)
	if t.is(at, tree.Token_OPERATOR) && t.is(at+1, '(') && t.tok[at+1].match > 0 {
		right.lo = t.tok[at+1].match + 1
		op = looseOp(&tree.Node{Node: &tree.Node_AExpr{AExpr: a}})
	}
	left := rng{r.lo, at}
	switch a.Kind {
	case tree.A_Expr_Kind_AEXPR_OP:
		if right.lo >= right.hi {
			return nil
		}
		if a.Lexpr == nil {
			if at != r.lo {
				return nil
			}
			return t.node(ast.Unary, r, op, t.expr(a.Rexpr, right))
		}
		if left.lo >= left.hi {
			return nil
		}
		return t.node(ast.Binary, r, op, t.expr(a.Lexpr, left), t.expr(a.Rexpr, right))

	case tree.A_Expr_Kind_AEXPR_OP_ANY, tree.A_Expr_Kind_AEXPR_OP_ALL:
		open := t.find(right, '(')
		if left.lo >= left.hi || open < 0 || t.tok[open].match != r.hi-1 {
			return nil
		}
		return t.node(ast.Opaque, r, op+" "+strings.ToLower(t.word(right.lo)),
			t.expr(a.Lexpr, left), t.expr(a.Rexpr, rng{open + 1, r.hi - 1}))

	case tree.A_Expr_Kind_AEXPR_DISTINCT, tree.A_Expr_Kind_AEXPR_NOT_DISTINCT:
		from := t.find(right, tree.Token_FROM)
		if left.lo >= left.hi || from < 0 {
			return nil
		}
		e := t.node(ast.Opaque, r, "is distinct from", t.expr(a.Lexpr, left), t.expr(a.Rexpr, rng{from + 1, r.hi}))
		e.Negated = a.Kind == tree.A_Expr_Kind_AEXPR_NOT_DISTINCT
		return e

	case tree.A_Expr_Kind_AEXPR_IN:
		l := a.Rexpr.GetList()
		open := t.find(right, '(')
		if l == nil || left.lo >= left.hi || open < 0 || t.tok[open].match != r.hi-1 {
			return nil
		}
		e := t.node(ast.In, r, "", t.expr(a.Lexpr, left))
		e.Args = append(e.Args, t.list(l.Items, t.split(rng{open + 1, r.hi - 1}))...)
		e.Negated = t.is(at, tree.Token_NOT)
		return e

	case tree.A_Expr_Kind_AEXPR_BETWEEN, tree.A_Expr_Kind_AEXPR_NOT_BETWEEN,
		tree.A_Expr_Kind_AEXPR_BETWEEN_SYM, tree.A_Expr_Kind_AEXPR_NOT_BETWEEN_SYM:
		if left.lo >= left.hi {
			return nil
		}
		e := t.node(ast.Opaque, r, "between", t.expr(a.Lexpr, left))
		e.Args = append(e.Args, t.list(a.Rexpr.GetList().GetItems(), nil)...)
		e.Negated = t.is(at, tree.Token_NOT)
		return e

	case tree.A_Expr_Kind_AEXPR_LIKE, tree.A_Expr_Kind_AEXPR_ILIKE, tree.A_Expr_Kind_AEXPR_SIMILAR:
		if left.lo >= left.hi {
			return nil
		}
		e := t.node(ast.Opaque, r, "like", t.expr(a.Lexpr, left), t.loose(a.Rexpr))
		e.Negated = t.is(at, tree.Token_NOT)
		return e
	}
	return nil
}

// boolean translates AND, OR and NOT, or returns nil. The parser flattens
// chains of AND and of OR; they come out as binary operators, left to right.
func (t *translator) boolean(b *tree.BoolExpr, r rng) *ast.Expr {
	if b.Boolop == tree.BoolExprType_NOT_EXPR {
		return t.not(b, r)
	}
	kind, op := tree.Token_AND, "AND"
	if b.Boolop == tree.BoolExprType_OR_EXPR {
		kind, op = tree.Token_OR, "OR"
	}
	runs := t.conjuncts(r, kind)
	groups := t.assign(b.Args, runs)
	if groups == nil {
		t.giveUp("the operands of " + op + " are not at the position the parser reports")
		return nil
	}
	var out *ast.Expr
	for i, g := range groups {
		var e *ast.Expr
		if len(g) == 1 {
			e = t.expr(g[0], runs[i])
		} else {
			// (a AND b) AND c: the parser forgets the parentheses.
			e = t.expr(&tree.Node{Node: &tree.Node_BoolExpr{BoolExpr: &tree.BoolExpr{Boolop: b.Boolop, Args: g, Location: -1}}}, runs[i])
		}
		if out == nil {
			out = e
			continue
		}
		out = t.node(ast.Binary, rng{r.lo, runs[i].hi}, op, out, e)
	}
	return out
}

// conjuncts cuts r at every AND (or OR) outside brackets that is not the AND
// of a BETWEEN.
func (t *translator) conjuncts(r rng, kind tree.Token) []rng {
	var out []rng
	lo, between := r.lo, 0
	for i := r.lo; i < r.hi; i = t.next(i) {
		switch {
		case t.label(i):
		case t.is(i, tree.Token_BETWEEN):
			between++
		case t.is(i, tree.Token_AND) && between > 0:
			between--
		case t.is(i, kind):
			out = append(out, rng{lo, i})
			lo = i + 1
		}
	}
	return append(out, rng{lo, r.hi})
}

// assign gives each run the operands written in it, in order. It returns nil
// unless there are several runs and each has some.
func (t *translator) assign(args []*tree.Node, runs []rng) [][]*tree.Node {
	if len(runs) < 2 || len(runs) > len(args) {
		return nil
	}
	groups := make([][]*tree.Node, len(runs))
	at := 0
	for _, a := range args {
		i := t.somewhere(a)
		for at < len(runs) && i >= runs[at].hi {
			at++
		}
		if i < 0 || at == len(runs) || i < runs[at].lo {
			// A node without a place: fine where the numbers settle it.
			if len(args) != len(runs) {
				return nil
			}
			for j, a := range args {
				groups[j] = []*tree.Node{a}
			}
			return groups
		}
		groups[at] = append(groups[at], a)
	}
	for _, g := range groups {
		if len(g) == 0 {
			return nil
		}
	}
	return groups
}

// somewhere finds a token of n: its own anchor, or that of its first operand.
func (t *translator) somewhere(n *tree.Node) int {
	for n != nil && n.Node != nil {
		m := inner(n)
		if fd := m.Descriptor().Fields().ByName("location"); fd != nil {
			if i := t.index(int32(m.Get(fd).Int())); i >= 0 {
				return i
			}
		}
		fd := m.Descriptor().Fields().ByName("arg")
		if fd == nil || fd.Message() == nil {
			return -1
		}
		n, _ = m.Get(fd).Message().Interface().(*tree.Node)
	}
	return -1
}

func (t *translator) not(b *tree.BoolExpr, r rng) *ast.Expr {
	at := t.index(b.Location)
	if len(b.Args) != 1 || at < r.lo || at >= r.hi || !t.is(at, tree.Token_NOT) {
		return nil
	}
	if at == r.lo && r.hi-at > 1 {
		return t.node(ast.Unary, r, "NOT", t.expr(b.Args[0], rng{at + 1, r.hi}))
	}
	if s := b.Args[0].GetSubLink(); s != nil {
		if e := t.subquery(s, r); e != nil && e.Kind == ast.In {
			e.Negated = true
			return e
		}
	}
	return nil
}

// postfix translates an expression whose operator follows its operand.
func (t *translator) postfix(arg *tree.Node, location int32, r rng, op string) *ast.Expr {
	at := t.index(location)
	if at <= r.lo || at >= r.hi {
		return t.node(ast.Opaque, r, op, t.loose(arg))
	}
	return t.node(ast.Opaque, r, op, t.expr(arg, rng{r.lo, at}))
}

func (t *translator) cast(c *tree.TypeCast, r rng) *ast.Expr {
	at := t.index(c.Location)
	switch {
	case t.is(at, tree.Token_TYPECAST) && at > r.lo && at < r.hi:
		return t.node(ast.Opaque, r, "cast", t.expr(c.Arg, rng{r.lo, at}))
	case t.is(at, tree.Token_CAST) && at == r.lo && t.is(at+1, '(') && t.tok[at+1].match == r.hi-1:
		if as := t.find(rng{at + 2, r.hi - 1}, tree.Token_AS); as > 0 {
			return t.node(ast.Opaque, r, "cast", t.expr(c.Arg, rng{at + 2, as}))
		}
	}
	return t.node(ast.Opaque, r, "cast", t.loose(c.Arg))
}
