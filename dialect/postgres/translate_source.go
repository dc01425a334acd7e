package postgres

import (
	tree "github.com/sqlc-dev/oliphant/ast"

	"github.com/slotsql/slotsql/rewrite/ast"
)

// shape is where the parts of one FROM entry are written: a join with its two
// sides and its condition, or anything else (left nil).
type shape struct {
	rng
	left, right *shape
	on          rng
}

// from translates a FROM list written with r.
func (t *translator) from(nodes []*tree.Node, r rng) []*ast.Source {
	if len(nodes) == 0 {
		return nil
	}
	runs := t.split(r)
	if len(runs) != len(nodes) {
		t.giveUp("FROM is not at the position the parser reports")
		return nil
	}
	out := make([]*ast.Source, 0, len(nodes))
	for i, n := range nodes {
		sh, end := t.shape(runs[i].lo, runs[i].hi)
		if end != runs[i].hi {
			t.giveUp("a join is not at the position the parser reports")
		}
		out = append(out, t.source(n, sh))
	}
	return out
}

// shape reads one table expression from token i on: a primary and the joins
// that follow it.
func (t *translator) shape(i, hi int) (*shape, int) {
	s, i := t.primary(i, hi)
	for {
		j, next := t.join(s, i, hi)
		if j == nil {
			return s, i
		}
		s, i = j, next
	}
}

func (t *translator) primary(i, hi int) (*shape, int) {
	lo := i
	for i < hi {
		if _, ok := t.joinWord(i, hi); ok || t.joinEnd(i) {
			break
		}
		i = t.next(i)
	}
	return &shape{rng: rng{lo, min(i, hi)}}, min(i, hi)
}

// join reads one join of left with what follows at i.
func (t *translator) join(left *shape, i, hi int) (*shape, int) {
	at, ok := t.joinWord(i, hi)
	if !ok {
		return nil, i
	}
	bare := t.is(i, tree.Token_CROSS) || t.is(i, tree.Token_NATURAL)
	right, end := t.primary(at, hi)
	s := &shape{left: left, right: right}
	if !bare {
		for end < hi && !t.joinEnd(end) {
			r, next := t.join(s.right, end, hi)
			if r == nil {
				break
			}
			s.right, end = r, next
		}
		on := t.is(end, tree.Token_ON)
		lo := end + 1
		for end++; end < hi; end = t.next(end) {
			if _, ok := t.joinWord(end, hi); ok || t.joinEnd(end) {
				break
			}
		}
		if end = min(end, hi); on {
			s.on = rng{lo, end}
		}
	}
	s.rng = rng{left.lo, end}
	return s, end
}

// joinWord reports whether a join's keywords start at i, and where they end.
func (t *translator) joinWord(i, hi int) (int, bool) {
	if t.label(i) {
		return 0, false
	}
	for ; i < hi; i++ {
		switch t.tok[i].kind {
		case tree.Token_JOIN:
			return i + 1, true
		case tree.Token_CROSS, tree.Token_NATURAL, tree.Token_INNER_P, tree.Token_LEFT, tree.Token_RIGHT,
			tree.Token_FULL, tree.Token_OUTER_P:
		default:
			return 0, false
		}
	}
	return 0, false
}

func (t *translator) joinEnd(i int) bool {
	return (t.is(i, tree.Token_ON) || t.is(i, tree.Token_USING)) && !t.label(i)
}

// source translates one FROM entry.
func (t *translator) source(n *tree.Node, sh *shape) *ast.Source {
	switch v := n.GetNode().(type) {
	case *tree.Node_RangeVar:
		return t.table(v.RangeVar)
	case *tree.Node_RangeSubselect:
		s := &ast.Source{Lateral: v.RangeSubselect.Lateral}
		s.Alias, s.ColumnAliases = alias(v.RangeSubselect.Alias)
		open := sh.lo
		if t.is(open, tree.Token_LATERAL_P) {
			open++
		}
		if !t.is(open, '(') || t.tok[open].match < 0 {
			t.giveUp("a derived table is not at the position the parser reports")
			return s
		}
		s.Select = t.query(v.RangeSubselect.Subquery.GetSelectStmt(), rng{open + 1, t.tok[open].match})
		return s
	case *tree.Node_JoinExpr:
		return t.joinSource(v.JoinExpr, sh)
	case *tree.Node_RangeFunction:
		s := &ast.Source{Lateral: true, Func: t.function(v.RangeFunction.Functions)}
		s.Alias, s.ColumnAliases = alias(v.RangeFunction.Alias)
		return s
	case *tree.Node_RangeTableSample:
		s := t.source(v.RangeTableSample.Relation, sh)
		s.Ref = ast.Span{} // only a table can be sampled
		return s           // a sample of $1 percent is not carried: verify
	}
	// XMLTABLE, JSON_TABLE: functions with a syntax of their own.
	return &ast.Source{Lateral: true, Func: &ast.Expr{Args: t.operands(n)}, Alias: aliasOf(n)}
}

// function translates the calls of a RangeFunction, each of which comes in a
// list with its column definitions.
func (t *translator) function(list []*tree.Node) *ast.Expr {
	var calls []*ast.Expr
	for _, l := range list {
		if items := l.GetList().GetItems(); len(items) > 0 {
			calls = append(calls, t.loose(items[0]))
		}
	}
	if len(calls) == 1 {
		return calls[0]
	}
	return &ast.Expr{Op: "rows from", Args: calls}
}

func (t *translator) joinSource(j *tree.JoinExpr, sh *shape) *ast.Source {
	for sh.left == nil && t.is(sh.lo, '(') && t.tok[sh.lo].match > 0 {
		sh, _ = t.shape(sh.lo+1, t.tok[sh.lo].match)
	}
	if sh.left == nil {
		t.giveUp("a join is not at the position the parser reports")
		return &ast.Source{}
	}
	s := &ast.Source{
		Left: t.source(j.Larg, sh.left), Right: t.source(j.Rarg, sh.right),
		Using: idents(j.UsingClause), Natural: j.IsNatural,
		LeftOuter:  j.Jointype == tree.JoinType_JOIN_LEFT || j.Jointype == tree.JoinType_JOIN_FULL,
		RightOuter: j.Jointype == tree.JoinType_JOIN_RIGHT || j.Jointype == tree.JoinType_JOIN_FULL,
	}
	if j.Quals != nil {
		s.On = t.clause(j.Quals, sh.on)
	}
	s.Alias, s.ColumnAliases = alias(j.Alias)
	return s
}

// table translates a table name with its alias. The Span is exact: from the
// name to the alias.
func (t *translator) table(v *tree.RangeVar) *ast.Source {
	s := &ast.Source{}
	s.Alias, s.ColumnAliases = alias(v.Alias)
	i := t.index(v.Location)
	for _, part := range []string{v.Catalogname, v.Schemaname, v.Relname} {
		if part == "" {
			continue
		}
		if len(s.Name) > 0 {
			i += 2
		}
		id, ok := t.ident(i, part)
		if i < 0 || !ok {
			t.giveUp("a table is not at the position the parser reports")
			return &ast.Source{Name: append(s.Name, name(part))}
		}
		s.Name = append(s.Name, id)
	}
	start, end := t.index(v.Location), i+1
	if v.Alias != nil {
		if t.is(end, '*') {
			end++
		}
		if t.is(end, tree.Token_AS) {
			end++
		}
		if _, ok := t.ident(end, v.Alias.Aliasname); !ok {
			t.giveUp("an alias is not at the position the parser reports")
		}
		end++
	}
	s.Ref = t.reference(start, end)
	if v.Alias == nil && t.is(end, '*') {
		s.Ref = t.reference(start, end+1)
	}
	if v.Alias != nil && len(v.Alias.Colnames) > 0 && t.is(end, '(') {
		end = t.next(end)
	}
	s.Span = t.span(rng{start, min(end, len(t.tok))})
	return s
}

// reference is where a table reference stands, ONLY included; zero where it
// is not plain.
func (t *translator) reference(lo, hi int) ast.Span {
	switch {
	case t.is(lo-1, '(') && t.is(lo-2, tree.Token_ONLY):
		return ast.Span{} // ONLY (t)
	case t.is(lo-1, tree.Token_ONLY):
		lo--
	}
	return t.span(rng{lo, min(hi, len(t.tok))})
}

func alias(a *tree.Alias) (*ast.Ident, []ast.Ident) {
	if a == nil {
		return nil, nil
	}
	id := name(a.Aliasname)
	return &id, idents(a.Colnames)
}

func aliasOf(n *tree.Node) *ast.Ident {
	var a *tree.Alias
	switch v := n.GetNode().(type) {
	case *tree.Node_RangeTableFunc:
		a = v.RangeTableFunc.Alias
	case *tree.Node_JsonTable:
		a = v.JsonTable.Alias
	}
	id, _ := alias(a)
	return id
}
