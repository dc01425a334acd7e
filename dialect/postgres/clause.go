package postgres

import (
	tree "github.com/sqlc-dev/oliphant/ast"

	"github.com/slotsql/slotsql/rewrite/ast"
)

// clauses finds the clause keywords of one query block in r, outside
// brackets, and returns the run of tokens that follows each up to the next.
// A clause of the statement that holds the block ends it, too.
func (t *translator) clauses(r rng, into map[tree.Token]rng) {
	last := tree.Token(0)
	lo := r.lo
	for i := r.lo; i < r.hi; i = t.next(i) {
		k := t.tok[i].kind
		if !isClause(k) || !t.startsClause(i, r) || k == tree.Token_FROM && last == k { // FROM ROWS FROM (
			continue
		}
		if last != 0 {
			into[last] = rng{lo, i}
		}
		last, lo = k, i+1
		if k == tree.Token_GROUP_P || k == tree.Token_ORDER {
			lo++ // BY
		}
	}
	if last != 0 {
		into[last] = rng{lo, r.hi}
	}
}

func isClause(k tree.Token) bool {
	switch k {
	case tree.Token_SELECT, tree.Token_INTO, tree.Token_FROM, tree.Token_WHERE, tree.Token_GROUP_P, tree.Token_HAVING,
		tree.Token_WINDOW, tree.Token_ORDER, tree.Token_LIMIT, tree.Token_OFFSET, tree.Token_FETCH, tree.Token_FOR,
		tree.Token_RETURNING, tree.Token_VALUES:
		return true
	}
	return isSetOp(k)
}

func isSetOp(k tree.Token) bool {
	return k == tree.Token_UNION || k == tree.Token_EXCEPT || k == tree.Token_INTERSECT
}

// startsClause reports whether a keyword at i is one, and not a name or a part
// of an expression. All but VALUES are reserved words.
func (t *translator) startsClause(i int, r rng) bool {
	switch k := t.tok[i].kind; {
	case k == tree.Token_VALUES || k == tree.Token_SELECT: // CREATE TABLE t AS SELECT
		return i == r.lo
	case t.label(i):
		return false
	}
	switch t.tok[i].kind {
	case tree.Token_FROM: // IS [NOT] DISTINCT FROM
		return !t.is(i-1, tree.Token_DISTINCT) || !t.is(i-2, tree.Token_IS) && !t.is(i-2, tree.Token_NOT)
	case tree.Token_GROUP_P, tree.Token_ORDER: // WITHIN GROUP (
		return t.is(i+1, tree.Token_BY)
	}
	return true
}

// lastSetOp finds the operator of the outermost set operation in r: they are
// left-associative, and INTERSECT binds tighter.
func (t *translator) lastSetOp(r rng) int {
	at := -1
	for i := r.lo; i < r.hi; i = t.next(i) {
		if k := t.tok[i].kind; isSetOp(k) && !t.label(i) {
			if at < 0 || k != tree.Token_INTERSECT || t.is(at, tree.Token_INTERSECT) {
				at = i
			}
		}
	}
	return at
}

// afterWith returns the token after a WITH clause.
func (t *translator) afterWith(w *tree.WithClause, r rng) int {
	if w == nil || len(w.Ctes) == 0 {
		return r.lo
	}
	last := w.Ctes[len(w.Ctes)-1].GetCommonTableExpr()
	in, ok := t.cteBody(last)
	if !ok {
		t.giveUp("a WITH clause is not at the position the parser reports")
		return r.lo
	}
	return in.hi + 1
}

// cteBody finds the statement in the parentheses of a CTE.
func (t *translator) cteBody(c *tree.CommonTableExpr) (rng, bool) {
	i := t.index(c.GetLocation())
	if i < 0 {
		return rng{}, false
	}
	for i++; i < len(t.tok) && !t.is(i, tree.Token_AS); i = t.next(i) {
	}
	for i++; i < len(t.tok) && !t.is(i, '('); i++ {
	}
	if i >= len(t.tok) || t.tok[i].match < 0 {
		return rng{}, false
	}
	return rng{i + 1, t.tok[i].match}, true
}

func (t *translator) with(w *tree.WithClause) []*ast.CTE {
	if w == nil {
		return nil
	}
	var out []*ast.CTE
	for _, n := range w.Ctes {
		c := n.GetCommonTableExpr()
		e := &ast.CTE{Name: name(c.Ctename), Columns: idents(c.Aliascolnames), Recursive: w.Recursive}
		in, ok := t.cteBody(c)
		switch q := c.Ctequery.GetNode().(type) {
		case *tree.Node_SelectStmt:
			e.Select = t.query(q.SelectStmt, in)
		case *tree.Node_InsertStmt, *tree.Node_UpdateStmt, *tree.Node_DeleteStmt:
			e.Statement = t.statement(c.Ctequery, in)
		default:
			ok = false
		}
		if !ok || c.SearchClause != nil || c.CycleClause != nil {
			t.giveUp("WITH ... " + c.Ctename)
		}
		out = append(out, e)
	}
	return out
}
