package mysql

import (
	"fmt"

	tree "github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/lex"
)

// subquery passes ( query ).
func (t *translator) subquery(n *tree.SubqueryExpr) *ast.Select {
	t.wantOp("(")
	q := t.query(n.Query)
	t.wantOp(")")
	return q
}

// query passes a query without the parentheses around it.
func (t *translator) query(n tree.Node) *ast.Select {
	if t.failed() {
		return &ast.Select{}
	}
	if t.redundantParens(n) {
		t.wantOp("(")
		q := t.query(n)
		t.wantOp(")")
		return q
	}
	start := t.start()
	var q *ast.Select
	switch n := n.(type) {
	case *tree.SelectStmt:
		with := t.with(n.With)
		if n.With != nil && t.isOp("(") { // WITH ... (SELECT ...)
			inner := *n
			inner.With = nil
			q = t.query(&inner)
			if len(q.With) > 0 {
				t.fail("nested WITH clauses")
			}
		} else {
			q = t.selectCore(n)
			t.selectEnd(q, n.OrderBy, n.Limit)
			t.selectLock(q, n)
		}
		q.With = with
	case *tree.SetOprStmt:
		with := t.with(n.With)
		if n.With != nil && t.redundantParens(&tree.SetOprStmt{SelectList: n.SelectList}) {
			inner := *n
			inner.With = nil
			q = t.query(&inner)
		} else {
			q = t.setOperation(n.SelectList.Selects, n.OrderBy, n.Limit)
		}
		if len(q.With) > 0 && len(with) > 0 {
			t.fail("nested WITH clauses")
		}
		if len(with) > 0 {
			q.With = with
		}
	case *tree.SetOprSelectList:
		with := t.with(n.With)
		q = t.setOperation(n.Selects, n.OrderBy, n.Limit)
		q.With = with
	default:
		t.fail(fmt.Sprintf("query of type %T is not supported", n))
		return &ast.Select{}
	}
	q.Span = t.span(start)
	return q
}

// redundantParens reports whether the parenthesis at hand encloses all of n, and
// that n itself does not begin with one.
func (t *translator) redundantParens(n tree.Node) bool {
	end := t.close()
	if end < 0 {
		return false
	}
	switch n := n.(type) {
	case *tree.SelectStmt: // begins with a word
		return true
	case *tree.SetOprStmt:
		if len(n.SelectList.Selects) < 2 {
			return false
		}
	case *tree.SetOprSelectList:
		if len(n.Selects) < 2 {
			return false
		}
	default:
		return false
	}
	i := end + 1
	return i >= len(t.toks) || t.sql[t.toks[i].Start:t.toks[i].End] == ")" || t.isWordAt(i-t.pos, "ON")
}

// setOperation passes operand UNION operand ... ORDER BY ... LIMIT .... A
// single operand is (SELECT ...) ORDER BY ... LIMIT ....
func (t *translator) setOperation(ns []tree.Node, order *tree.OrderByClause, limit *tree.Limit) *ast.Select {
	q := &ast.Select{}
	var last *tree.SelectStmt
	for i, n := range ns {
		if i > 0 {
			if !t.accept("UNION", "EXCEPT", "INTERSECT") {
				t.mismatch("UNION")
			}
			t.accept("ALL", "DISTINCT")
		}
		last = nil
		switch n := n.(type) {
		case *tree.SelectStmt:
			start := t.start()
			if n.With != nil || t.isOp("(") {
				q.Operands = append(q.Operands, t.query(n))
				continue
			}
			op := t.selectCore(n)
			if i < len(ns)-1 || n.OrderBy != nil || n.Limit != nil {
				t.selectEnd(op, n.OrderBy, n.Limit)
				t.selectLock(op, n)
			} else {
				last = n
			}
			op.Span = t.span(start)
			q.Operands = append(q.Operands, op)
		case *tree.SetOprSelectList:
			t.wantOp("(")
			var op *ast.Select
			if len(n.Selects) == 1 && n.OrderBy == nil && n.Limit == nil {
				op = t.query(n.Selects[0])
			} else {
				op = t.query(n)
			}
			t.wantOp(")")
			q.Operands = append(q.Operands, op)
		default:
			t.fail(fmt.Sprintf("operand of type %T is not supported", n))
		}
	}
	t.selectEnd(q, order, limit)
	if last != nil {
		t.selectLock(q, last)
		op := q.Operands[len(q.Operands)-1]
		op.Lock, op.Into = q.Lock, q.Into
	}
	return q
}

var selectOptions = []string{
	"ALL", "DISTINCT", "DISTINCTROW", "HIGH_PRIORITY", "LOW_PRIORITY", "DELAYED", "STRAIGHT_JOIN", "SQL_SMALL_RESULT",
	"SQL_BIG_RESULT", "SQL_BUFFER_RESULT", "SQL_CACHE", "SQL_NO_CACHE", "SQL_CALC_FOUND_ROWS",
}

// selectCore passes a SELECT, VALUES or TABLE up to its ORDER BY.
//
//nolint:funlen // one clause after another
func (t *translator) selectCore(n *tree.SelectStmt) *ast.Select {
	q := &ast.Select{Distinct: n.Distinct}
	switch n.Kind {
	case tree.SelectStmtKindTable:
		start := t.start()
		t.want("TABLE")
		q.Table = true
		word := t.span(start)
		q.Items = []ast.Item{{Expr: &ast.Expr{Kind: ast.Star, Span: word}, Span: word}}
		q.From = []*ast.Source{t.source(n.From.TableRefs)}
		return q
	case tree.SelectStmtKindValues:
		t.want("VALUES")
		for i, row := range n.Lists {
			if i > 0 {
				t.wantOp(",")
			}
			t.want("ROW")
			t.wantOp("(")
			q.Values = append(q.Values, t.list(row.Values))
			t.wantOp(")")
		}
		return q
	}
	t.want("SELECT")
	for t.accept(selectOptions...) {
	}
	for i, f := range n.Fields.Fields {
		if i > 0 {
			t.wantOp(",")
		}
		q.Items = append(q.Items, t.item(f))
	}
	switch {
	case n.From != nil:
		t.want("FROM")
		q.From = t.sources(n.From.TableRefs)
	case t.accept("FROM"):
		t.want("DUAL")
	case n.Having != nil:
		t.fail("HAVING without FROM")
	}
	if n.Where != nil {
		t.want("WHERE")
		q.Where = t.expr(n.Where)
	}
	if n.GroupBy != nil {
		t.want("GROUP", "BY")
		q.GroupBy = t.byItems(n.GroupBy.Items)
		if n.GroupBy.Rollup {
			t.want("WITH", "ROLLUP")
		}
	}
	if n.Having != nil {
		t.want("HAVING")
		q.Having = t.expr(n.Having.Expr)
	}
	if len(n.WindowSpecs) > 0 {
		t.want("WINDOW")
		for i := range n.WindowSpecs {
			if i > 0 {
				t.wantOp(",")
			}
			t.ident(n.WindowSpecs[i].Name.O)
			t.want("AS")
			q.Windows = append(q.Windows, t.windowSpec(&n.WindowSpecs[i]))
		}
	}
	return q
}

// item passes one entry of a select list.
func (t *translator) item(f *tree.SelectField) ast.Item {
	start := t.start()
	it := ast.Item{}
	if w := f.WildCard; w != nil {
		it.Expr = &ast.Expr{Kind: ast.Star}
		it.Expr.Name = t.dotted(w.Schema.O, w.Table.O)
		if len(it.Expr.Name) > 0 {
			t.wantOp(".")
		}
		t.wantOp("*")
		it.Span = t.span(start)
		it.Expr.Span = it.Span
		return it
	}
	it.Expr = t.expr(f.Expr)
	switch {
	case f.AsName.O != "":
		as := t.accept("AS")
		if t.kind() == lex.String && (as || it.Expr.Kind != ast.String) {
			t.next()
			it.Alias = &ast.Ident{Name: f.AsName.O, Quoted: true}
		} else {
			id := t.ident(f.AsName.O)
			it.Alias = &id
		}
	case t.isWord("AS"): // AS ''
		t.fail("empty alias")
	}
	it.Span = t.span(start)
	return it
}

func (t *translator) byItems(items []*tree.ByItem) []*ast.Expr {
	var out []*ast.Expr
	for i, it := range items {
		if i > 0 {
			t.wantOp(",")
		}
		out = append(out, t.expr(it.Expr))
		t.accept("ASC", "DESC")
	}
	return out
}

func (t *translator) orderBy(n *tree.OrderByClause) []*ast.Expr {
	if n == nil {
		return nil
	}
	t.want("ORDER", "BY")
	return t.byItems(n.Items)
}

// fetch passes FETCH FIRST n ROWS ONLY, which may leave out n.
func (t *translator) fetch(n *tree.Limit) []*ast.Expr {
	var out []*ast.Expr
	t.want("FETCH")
	if !t.accept("FIRST", "NEXT") {
		t.mismatch("FIRST")
	}
	if !t.isWord("ROW") && !t.isWord("ROWS") {
		out = t.args(n.Count)
	}
	if !t.accept("ROW", "ROWS") {
		t.mismatch("ROWS")
	}
	t.want("ONLY")
	return out
}

func (t *translator) limit(n *tree.Limit) []*ast.Expr {
	if n == nil {
		return nil
	}
	if t.isWord("FETCH") {
		return t.fetch(n)
	}
	t.want("LIMIT")
	if n.Offset == nil {
		return t.args(n.Count)
	}
	first, second := n.Offset, n.Count
	if t.isWordAt(1, "OFFSET") {
		first, second = n.Count, n.Offset
	}
	out := t.args(first)
	if !t.acceptOp(",") {
		t.want("OFFSET")
	}
	return append(out, t.expr(second))
}

func (t *translator) selectEnd(q *ast.Select, order *tree.OrderByClause, limit *tree.Limit) {
	q.OrderBy = t.orderBy(order)
	q.Limit = t.limit(limit)
}

// selectLock passes the locking and the INTO clause.
func (t *translator) selectLock(q *ast.Select, n *tree.SelectStmt) {
	if l := n.LockInfo; l != nil && l.LockType != tree.SelectLockNone {
		q.Lock = true
		if t.accept("LOCK") {
			t.want("IN", "SHARE", "MODE")
		} else {
			t.want("FOR")
			if !t.accept("UPDATE", "SHARE") {
				t.mismatch("UPDATE")
			}
			if t.accept("OF") {
				for i, tn := range l.Tables {
					if i > 0 {
						t.wantOp(",")
					}
					t.dotted(tn.Schema.O, tn.Name.O)
				}
			}
			switch {
			case t.accept("NOWAIT"):
			case t.accept("SKIP"):
				t.want("LOCKED")
			case t.accept("WAIT"):
				t.next()
			}
		}
	}
	if n.SelectIntoOpt != nil {
		q.Into = true
		t.fail("SELECT ... INTO OUTFILE")
	}
}

// with passes a WITH clause.
func (t *translator) with(n *tree.WithClause) []*ast.CTE {
	if n == nil {
		return nil
	}
	t.want("WITH")
	if n.IsRecursive {
		t.want("RECURSIVE")
	}
	var out []*ast.CTE
	for i, c := range n.CTEs {
		if i > 0 {
			t.wantOp(",")
		}
		cte := &ast.CTE{Recursive: n.IsRecursive, Name: t.ident(c.Name.O)}
		if len(c.ColNameList) > 0 {
			cte.Columns = t.identList(c.ColNameList)
		}
		t.want("AS")
		cte.Select = t.subquery(c.Query)
		out = append(out, cte)
	}
	return out
}

// identList passes (a, b, c).
func (t *translator) identList(names []tree.CIStr) []ast.Ident {
	t.wantOp("(")
	var out []ast.Ident
	for i, n := range names {
		if i > 0 {
			t.wantOp(",")
		}
		out = append(out, t.ident(n.O))
	}
	t.wantOp(")")
	return out
}
