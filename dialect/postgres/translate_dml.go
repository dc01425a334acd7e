package postgres

import (
	"slices"

	tree "github.com/sqlc-dev/oliphant/ast"

	"github.com/slotsql/slotsql/rewrite/ast"
)

func (t *translator) insert(s *tree.InsertStmt, r rng) *ast.Statement {
	st := &ast.Statement{Kind: ast.KindInsert, With: t.with(s.WithClause)}
	st.Target = t.table(s.Relation)
	st.Modifier = s.Override != tree.OverridingKind_OVERRIDING_NOT_SET

	at := t.afterSource(st.Target)
	if len(s.Cols) > 0 {
		st.Columns = t.targets(s.Cols)
		if t.is(at, '(') {
			at = t.next(at)
		}
	}
	if t.is(at, tree.Token_OVERRIDING) {
		at += 3
	}
	source, returning := rng{at, r.hi}, t.returningAt(s.ReturningClause, r)
	if returning > 0 {
		source.hi = returning
	}
	if c := s.OnConflictClause; c != nil {
		on := t.index(c.Location)
		if on < at {
			t.giveUp("ON CONFLICT is not at the position the parser reports")
		} else {
			st.Conflict = t.conflict(c, rng{on, source.hi})
			source.hi = on
		}
	}
	switch sel := s.SelectStmt.GetSelectStmt(); {
	case sel == nil: // DEFAULT VALUES
		st.Rows = [][]*ast.Expr{nil}
	case isValues(sel) && t.is(source.lo, tree.Token_VALUES):
		st.Rows = t.rows(sel.ValuesLists, rng{source.lo + 1, source.hi})
	default:
		st.Select = t.query(sel, source)
	}
	st.Returning = t.returning(s.ReturningClause, returning, r)
	return st
}

// isValues reports whether a query is a bare VALUES list.
func isValues(s *tree.SelectStmt) bool {
	return s.ValuesLists != nil && s.WithClause == nil && s.SortClause == nil && s.LimitCount == nil &&
		s.LimitOffset == nil && len(s.LockingClause) == 0
}

func (t *translator) update(s *tree.UpdateStmt, r rng) *ast.Statement {
	st := &ast.Statement{Kind: ast.KindUpdate, With: t.with(s.WithClause)}
	st.Target = t.table(s.Relation)
	at := t.afterSource(st.Target)
	st.Modifier = t.marked(s.Relation, at)
	returning := t.returningAt(s.ReturningClause, r)
	if !t.is(at, tree.Token_SET) {
		t.giveUp("SET is not at the position the parser reports")
		return st
	}
	body := rng{at + 1, r.hi}
	parts := map[tree.Token]rng{}
	t.clauses(body, parts)
	set := body
	for _, k := range []tree.Token{tree.Token_FROM, tree.Token_WHERE, tree.Token_RETURNING} {
		if p, ok := parts[k]; ok {
			set.hi = min(set.hi, p.lo-1)
		}
	}
	st.Set = t.assignments(s.TargetList, set)
	st.From = t.from(s.FromClause, parts[tree.Token_FROM])
	st.Where = t.where(s.WhereClause, parts[tree.Token_WHERE])
	st.Returning = t.returning(s.ReturningClause, returning, r)
	return st
}

func (t *translator) delete(s *tree.DeleteStmt, r rng) *ast.Statement {
	st := &ast.Statement{Kind: ast.KindDelete, With: t.with(s.WithClause)}
	st.Target = t.table(s.Relation)
	at := t.afterSource(st.Target)
	st.Modifier = t.marked(s.Relation, at)
	returning := t.returningAt(s.ReturningClause, r)
	body := rng{at, r.hi}
	parts := map[tree.Token]rng{}
	t.clauses(body, parts)
	if len(s.UsingClause) > 0 {
		using := rng{at + 1, body.hi}
		for _, k := range []tree.Token{tree.Token_WHERE, tree.Token_RETURNING} {
			if p, ok := parts[k]; ok {
				using.hi = min(using.hi, p.lo-1)
			}
		}
		st.From = t.from(s.UsingClause, using)
	}
	st.Where = t.where(s.WhereClause, parts[tree.Token_WHERE])
	st.Returning = t.returning(s.ReturningClause, returning, r)
	return st
}

// afterSource is the token after a target table.
func (t *translator) afterSource(s *ast.Source) int {
	for i := range t.tok {
		if t.tok[i].start >= s.End {
			if t.is(i, '*') || t.is(i, ')') { // inheritance marker, ONLY (name)
				i++
			}
			return i
		}
	}
	return len(t.tok)
}

// marked reports whether the target is written with ONLY or with *.
func (t *translator) marked(v *tree.RangeVar, after int) bool {
	if !v.Inh {
		return true
	}
	for i := t.index(v.Location); i >= 0 && i < after; i++ {
		if t.is(i, '*') {
			return true
		}
	}
	return false
}

func (t *translator) where(n *tree.Node, r rng) *ast.Expr {
	if n.GetCurrentOfExpr() != nil {
		t.giveUp("WHERE CURRENT OF")
		return nil
	}
	return t.clause(n, r)
}

// targets translates a column list.
func (t *translator) targets(nodes []*tree.Node) []ast.Ident {
	var out []ast.Ident
	for _, n := range nodes {
		rt := n.GetResTarget()
		id, ok := t.ident(max(t.index(rt.Location), 0), rt.Name)
		if !ok {
			t.giveUp("a column list is not at the position the parser reports")
		}
		if len(rt.Indirection) > 0 {
			t.giveUp("assignment to a part of a column")
		}
		out = append(out, id)
	}
	return out
}

// assignments translates SET, written with r.
func (t *translator) assignments(nodes []*tree.Node, r rng) []ast.Assignment {
	columns := t.targets(nodes)
	runs := t.split(r)
	out := make([]ast.Assignment, len(nodes))
	run := 0
	for i := 0; i < len(nodes); run++ {
		width := 1
		if first := nodes[i].GetResTarget().GetVal().GetMultiAssignRef(); first != nil {
			width = max(1, min(int(first.Ncolumns), len(nodes)-i))
		}
		of := rng{}
		if run < len(runs) {
			of = runs[run]
		}
		values := t.assigned(nodes[i:i+width], of)
		for k := range values {
			out[i+k] = ast.Assignment{Column: columns[i+k : i+k+1], Value: values[k]}
		}
		i += width
	}
	if run != len(runs) {
		t.giveUp("an assignment is not at the position the parser reports")
	}
	return out
}

// assigned translates the values of column = value, or of (columns) = (values), written with r; nil
// stands for DEFAULT.
func (t *translator) assigned(nodes []*tree.Node, r rng) []*ast.Expr {
	out := make([]*ast.Expr, len(nodes))
	val := nodes[0].GetResTarget().GetVal()
	eq := t.find(r, '=')
	found := eq > 0 && eq+1 < r.hi
	ref := val.GetMultiAssignRef()
	switch {
	case ref != nil:
		list := ref.Source.GetRowExpr().GetArgs()
		runs := t.row(rng{eq + 1, r.hi})
		if !found || len(list) != len(nodes) || len(runs) != len(nodes) || slices.ContainsFunc(list, isStar) {
			t.giveUp("assignment to several columns at once")
			out[0] = t.loose(ref.Source)
			return out
		}
		// The engine evaluates each of them with the row as it was, as in single assignments.
		for i, n := range list {
			if n.GetSetToDefault() == nil {
				out[i] = t.expr(n, runs[i])
			}
		}
	case val.GetSetToDefault() != nil:
	case !found:
		t.giveUp("an assignment is not at the position the parser reports")
		out[0] = t.loose(val)
	default:
		out[0] = t.expr(val, rng{eq + 1, r.hi})
	}
	return out
}

// row cuts (a, b) and ROW(a, b), written with r.
func (t *translator) row(r rng) []rng {
	if t.is(r.lo, tree.Token_ROW) {
		r.lo++
	}
	if !t.wrapped(r) {
		return nil
	}
	return t.split(rng{r.lo + 1, r.hi - 1})
}

// isStar reports whether an element of a row is r.*, which is several.
func isStar(n *tree.Node) bool {
	fields := n.GetColumnRef().GetFields()
	return len(fields) > 0 && fields[len(fields)-1].GetAStar() != nil
}

// predicate translates the condition between ON CONFLICT (...) and DO.
func (t *translator) predicate(n *tree.Node, r rng) *ast.Expr {
	do := t.find(r, tree.Token_DO)
	where := t.find(rng{r.lo, do}, tree.Token_WHERE)
	if do < 0 || where < 0 {
		return t.loose(n)
	}
	return t.expr(n, rng{where + 1, do})
}

func (t *translator) conflict(c *tree.OnConflictClause, r rng) *ast.Conflict {
	out := &ast.Conflict{Nothing: c.Action == tree.OnConflictAction_ONCONFLICT_NOTHING}
	if inf := c.Infer; inf != nil {
		if inf.Conname != "" {
			id := name(inf.Conname)
			out.Constraint = &id
		}
		for _, n := range inf.IndexElems {
			e := n.GetIndexElem()
			if e.Expr != nil || e.Collation != nil || e.Opclass != nil {
				out.Others = append(out.Others, t.other(e))
				continue
			}
			out.Columns = append(out.Columns, name(e.Name))
		}
		if inf.WhereClause != nil {
			out.Predicate = t.predicate(inf.WhereClause, r)
		}
	}
	if out.Nothing {
		return out
	}
	outer := t.upsert
	t.upsert = true
	defer func() { t.upsert = outer }()
	do := t.find(r, tree.Token_DO)
	if do < 0 || !t.is(do+2, tree.Token_SET) {
		t.giveUp("DO UPDATE is not at the position the parser reports")
		return out
	}
	set := rng{do + 3, r.hi}
	if at := t.find(set, tree.Token_WHERE); at > 0 {
		out.Where = t.clause(c.WhereClause, rng{at + 1, r.hi})
		set.hi = at
	} else if c.WhereClause != nil {
		t.giveUp("DO UPDATE ... WHERE is not at the position the parser reports")
	}
	out.Set = t.assignments(c.TargetList, set)
	return out
}

// other translates what an element of a conflict target is if not a plain column.
func (t *translator) other(e *tree.IndexElem) *ast.Expr {
	if e.Expr != nil {
		return t.loose(e.Expr)
	}
	return &ast.Expr{}
}

// returningAt finds the RETURNING of the statement in r, or -1.
func (t *translator) returningAt(c *tree.ReturningClause, r rng) int {
	if c == nil {
		return -1
	}
	at := t.find(r, tree.Token_RETURNING)
	if at < 0 {
		t.giveUp("RETURNING is not at the position the parser reports")
	}
	return at
}

func (t *translator) returning(c *tree.ReturningClause, at int, r rng) []ast.Item {
	if c == nil || at < 0 {
		return nil
	}
	if len(c.Options) > 0 {
		t.giveUp("RETURNING WITH (...)")
	}
	items := t.items(c.Exprs, rng{at + 1, r.hi})
	for _, it := range items {
		it.Expr.Walk(func(e *ast.Expr) bool {
			// From version 18 on these are the row before and after.
			if n := len(e.Name); n > 0 && (e.Name[0].Name == "old" || e.Name[0].Name == "new") && (n > 1 || e.Kind == ast.Star) {
				t.giveUp("RETURNING old or new")
			}
			return true
		})
	}
	return items
}
