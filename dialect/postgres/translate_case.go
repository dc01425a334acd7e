package postgres

import (
	tree "github.com/sqlc-dev/oliphant/ast"

	"github.com/slotsql/slotsql/rewrite/ast"
)

// caseOf translates CASE ... END, or returns nil when its parts are not where
// the parser says. WHEN, THEN and ELSE are reserved words, so outside brackets
// (and CASE ... END counts as such) they are the expression's own unless they
// name a column.
func (t *translator) caseOf(c *tree.CaseExpr, r rng) *ast.Expr {
	if !t.is(r.lo, tree.Token_CASE) || t.tok[r.lo].match != r.hi-1 {
		return nil
	}
	var runs []rng
	var words []tree.Token
	word, lo := tree.Token_CASE, r.lo+1
	for i := lo; i <= r.hi-1; i = t.next(i) {
		k := t.tok[i].kind
		if i < r.hi-1 && (k != tree.Token_WHEN && k != tree.Token_THEN && k != tree.Token_ELSE || t.label(i)) {
			continue
		}
		words, runs = append(words, word), append(runs, rng{lo, i})
		word, lo = k, i+1
	}
	e := t.node(ast.Opaque, r, "case")
	e.Case = &ast.Case{}
	take := func(want tree.Token, n *tree.Node) *ast.Expr {
		if len(runs) == 0 || words[0] != want || runs[0].lo >= runs[0].hi {
			return nil
		}
		x := t.expr(n, runs[0])
		e.Args = append(e.Args, x)
		words, runs = words[1:], runs[1:]
		return x
	}
	if c.Arg != nil {
		if e.Case.Operand = take(tree.Token_CASE, c.Arg); e.Case.Operand == nil {
			return nil
		}
	} else if len(runs) == 0 || runs[0].lo != runs[0].hi {
		return nil
	} else {
		words, runs = words[1:], runs[1:]
	}
	for _, n := range c.Args {
		w := n.GetCaseWhen()
		if w == nil {
			return nil
		}
		when := take(tree.Token_WHEN, w.Expr)
		then := take(tree.Token_THEN, w.Result)
		if when == nil || then == nil {
			return nil
		}
		e.Case.Whens = append(e.Case.Whens, ast.When{When: when, Then: then})
	}
	if c.Defresult != nil {
		if e.Case.Else = take(tree.Token_ELSE, c.Defresult); e.Case.Else == nil {
			return nil
		}
	}
	if len(runs) > 0 {
		return nil
	}
	return e
}
