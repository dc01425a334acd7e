package postgres

import (
	tree "github.com/sqlc-dev/oliphant/ast"

	"github.com/slotsql/slotsql/rewrite/ast"
)

// query translates a query written with exactly r, parentheses included.
func (t *translator) query(s *tree.SelectStmt, r rng) *ast.Select {
	for t.wrapped(r) {
		r = rng{r.lo + 1, r.hi - 1}
	}
	q := &ast.Select{Span: t.span(r)}
	q.With = t.with(s.WithClause)
	body := rng{t.afterWith(s.WithClause, r), r.hi}
	at := map[tree.Token]rng{}

	// (SELECT ...) ORDER BY ...: the parser puts both in one node.
	for t.is(body.lo, '(') && t.tok[body.lo].match > 0 && t.lastSetOp(body) < 0 {
		end := t.tok[body.lo].match
		t.clauses(rng{end + 1, body.hi}, at)
		body = rng{body.lo + 1, end}
		if s.WithClause != nil && t.is(body.lo, tree.Token_WITH) {
			body.lo = t.afterWith(s.WithClause, body)
		}
	}
	if s.Op != tree.SetOperation_SETOP_NONE {
		t.operation(s, q, body, at)
	} else {
		t.clauses(body, at)
		t.block(s, q, body, at)
	}
	q.Lock = len(s.LockingClause) > 0
	q.Into = s.IntoClause != nil
	if s.SortClause != nil {
		q.OrderBy = t.keys(s.SortClause)
	}
	for _, n := range []*tree.Node{s.LimitCount, s.LimitOffset} {
		if e := t.loose(n); e != nil {
			q.Limit = append(q.Limit, e)
		}
	}
	return q
}

// operation translates UNION, INTERSECT and EXCEPT.
func (t *translator) operation(s *tree.SelectStmt, q *ast.Select, body rng, at map[tree.Token]rng) {
	op := t.lastSetOp(body)
	if op < 0 {
		t.giveUp("a set operation is not at the position the parser reports")
		return
	}
	right := rng{op + 1, body.hi}
	if t.is(right.lo, tree.Token_ALL) || t.is(right.lo, tree.Token_DISTINCT) {
		right.lo++
	}
	// ORDER BY and the like after the last operand belong to the whole.
	for i := right.lo; i < right.hi; i = t.next(i) {
		switch t.tok[i].kind {
		case tree.Token_ORDER, tree.Token_LIMIT, tree.Token_OFFSET, tree.Token_FETCH, tree.Token_FOR:
			if t.startsClause(i, right) {
				right.hi = i
			}
		}
	}
	q.Operands = []*ast.Select{t.query(s.Larg, rng{body.lo, op}), t.query(s.Rarg, right)}
}

// block translates one SELECT or VALUES block.
func (t *translator) block(s *tree.SelectStmt, q *ast.Select, body rng, at map[tree.Token]rng) {
	switch {
	case s.ValuesLists != nil:
		q.Values = t.rows(s.ValuesLists, at[tree.Token_VALUES])
		return
	case t.is(body.lo, tree.Token_TABLE):
		q.Table = true
		word := t.span(rng{body.lo, body.lo + 1})
		q.Items = []ast.Item{{Span: word, Expr: &ast.Expr{Span: word, Kind: ast.Star}}}
		from := rng{body.lo + 1, body.hi}
		for i := from.lo; i < from.hi; i = t.next(i) {
			if isClause(t.tok[i].kind) && t.startsClause(i, body) { // ORDER BY, LIMIT
				from.hi = i
			}
		}
		q.From = t.from(s.FromClause, from)
		return
	case !t.is(body.lo, tree.Token_SELECT):
		t.giveUp("a query is not at the position the parser reports")
		return
	}
	items := at[tree.Token_SELECT]
	if t.is(items.lo, tree.Token_ALL) {
		items.lo++
	}
	if t.is(items.lo, tree.Token_DISTINCT) && s.DistinctClause != nil {
		items.lo++
		q.Distinct = true
		if t.is(items.lo, tree.Token_ON) && t.is(items.lo+1, '(') {
			items.lo = t.tok[items.lo+1].match + 1
			q.DistinctOn = t.keys(s.DistinctClause)
		}
	}
	q.Items = t.items(s.TargetList, items)
	q.From = t.from(s.FromClause, at[tree.Token_FROM])
	q.Where = t.clause(s.WhereClause, at[tree.Token_WHERE])
	q.GroupBy = t.keys(s.GroupClause)
	q.Having = t.clause(s.HavingClause, at[tree.Token_HAVING])
	for _, w := range s.WindowClause {
		q.Windows = append(q.Windows, &ast.Expr{Args: t.operands(w)})
	}
}

// clause translates the expression of WHERE or HAVING.
func (t *translator) clause(n *tree.Node, r rng) *ast.Expr {
	if n == nil {
		return nil
	}
	if r.lo >= r.hi {
		t.giveUp("a clause is not at the position the parser reports")
		return t.loose(n)
	}
	return t.expr(n, r)
}

// keys translates ORDER BY, GROUP BY and DISTINCT ON. A name there means an
// output column whether or not it stands in parentheses, so these are left
// out.
func (t *translator) keys(nodes []*tree.Node) []*ast.Expr { return t.list(nodes, nil) }

// rows translates the rows of VALUES.
func (t *translator) rows(lists []*tree.Node, r rng) [][]*ast.Expr {
	runs := t.split(r)
	var out [][]*ast.Expr
	for i, l := range lists {
		var cells []rng
		if len(runs) == len(lists) && t.wrapped(runs[i]) {
			cells = t.split(rng{runs[i].lo + 1, runs[i].hi - 1})
		}
		out = append(out, t.list(l.GetList().GetItems(), cells))
	}
	return out
}

// items translates a select list or RETURNING.
func (t *translator) items(nodes []*tree.Node, r rng) []ast.Item {
	if len(nodes) == 0 {
		return nil
	}
	runs := t.split(r)
	out := make([]ast.Item, 0, len(nodes))
	if len(runs) != len(nodes) {
		t.giveUp("a select list is not at the position the parser reports")
		runs = make([]rng, len(nodes))
	}
	for i, n := range nodes {
		rt := n.GetResTarget()
		it := ast.Item{Span: t.span(runs[i])}
		in := runs[i]
		if rt.Name != "" {
			id, ok := t.ident(max(in.hi-1, 0), rt.Name)
			if in.hi--; t.is(in.hi-1, tree.Token_AS) {
				in.hi--
			}
			if !ok || in.lo >= in.hi {
				t.giveUp("an alias is not at the position the parser reports")
			}
			it.Alias = &id
		}
		it.Expr = t.expr(rt.Val, in)
		out = append(out, it)
	}
	return out
}
