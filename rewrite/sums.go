package rewrite

import (
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// sums rewrites a query that only adds counters up over a whole table:
// SUM(views) is the sum of the base values plus the sum of the slots, which is
// exact because addition commutes and each slot row belongs to exactly one
// base row (its foreign key says so, and where it has none the form is not used). It spares the engine a look at the slots
// of every row. False when the query has another form.
func (r *reader) sums(sc *names.Scope, q *ast.Select) bool {
	if len(r.p.names.Derived) > 0 || r.p.consts.mistyped(nil) != "" || strings.Contains(r.p.src.sql, markerByte) || !ofOneTable(q) ||
		len(q.GroupBy) > 0 || q.Having != nil || len(q.OrderBy) > 0 {
		return false
	}
	s := summer{c: candidates{r: r, p: r.p, q: q, sc: sc, b: sc.Bindings[0]}}
	if !s.c.b.Counts || r.readsBase(s.c.b.Table) || len(s.c.b.Columns) > 0 || s.c.p.volatility.reason(sc, q.Where) != "" ||
		s.limitedByQuery() ||
		q.Where != nil && !r.p.counterFree(sc, q.Where) {
		return false
	}
	if _, ok := s.c.behindFrom(); !ok {
		return false
	}
	for _, e := range r.edits {
		if e.Start == e.End {
			s.sums = append(s.sums, e) // the name of an item without alias
		}
	}
	for _, it := range q.Items {
		if it.Expr == nil || it.Expr.Kind == ast.Star || !s.item(it) {
			return false
		}
	}
	if !cascadesDelete(s.c.p.d, s.c.b.Table) && len(s.c.b.Table.Counter.Key) > 0 || q.Where != nil && len(s.c.b.Table.Counter.Key) == 0 {
		return false
	}
	r.edits, r.reason = s.sums, "a sum over the table: base values and slots are summed separately"
	return true
}

// ofOneTable reports whether a query is a single block that reads one table in FROM, each row of it
// once, and locks none.
func ofOneTable(q *ast.Select) bool {
	return len(q.Operands) == 0 && len(q.Values) == 0 && len(q.With) == 0 && !q.Distinct && len(q.DistinctOn) == 0 &&
		len(q.Windows) == 0 && !q.Table && !q.Into && !q.Lock && len(q.From) == 1 && len(q.From[0].Name) > 0 && len(q.Items) > 0
}

// A summer writes the sums of a block.
type summer struct {
	c    candidates
	sums []edit
}

// limitedByQuery reports whether LIMIT or OFFSET is a query, which may be of the
// same table: its counters are not the query's own.
func (s *summer) limitedByQuery() bool {
	for _, e := range s.c.q.Limit {
		if ast.HasQuery(e) {
			return true
		}
	}
	return false
}

// isCounter reports whether an expression is a counter or a companion.
func (s *summer) isCounter(e *ast.Expr) bool {
	if e.Kind != ast.ColumnRef {
		return false
	}
	t, err := s.c.p.names.Resolve(s.c.sc, e.Name)
	return err == nil && t != nil && t.Column != nil
}

// item replaces each SUM of a counter in an item; false when a counter stands
// anywhere else.
func (s *summer) item(it ast.Item) bool {
	ok := true
	it.Expr.Walk(func(e *ast.Expr) bool {
		switch {
		case !ok || e.Kind == ast.Subquery:
			ok = false
			return false
		case s.isCounter(e):
			ok = false
			return false
		case e.Kind == ast.Call && e.Op == "sum" && len(e.Args) == 1 && s.isCounter(e.Args[0]):
			if !s.c.p.src.bareCall(e) {
				ok = false
				return false
			}
			t, _ := s.c.p.names.Resolve(s.c.sc, e.Args[0].Name)
			if !s.c.b.Table.IsCounter(t.Column.Name) {
				ok = false
				return false
			}
			s.sums = append(s.sums, edit{e.Span, s.sum(s.c.p.src.sql[e.Start:e.End], t.Column)})
			if it.Expr == e && it.Alias == nil && s.c.p.d.Traits().ItemNames == names.ItemsByRule {
				s.sums = append(s.sums, edit{ast.At(e.End), " AS " + s.c.p.d.Quote(e.Op)})
			}
			return false
		}
		return true
	})
	return ok
}

// sum writes the sum of a counter over the rows that WHERE selects, whose base values have the sum base.
func (s *summer) sum(base string, c *schema.Column) string {
	t := s.c.b.Table
	slots := SlotSource(s.c.p.d, t, c.Name)
	sum := "SELECT SUM(slotsql_g." + s.c.p.d.Quote(c.Name) + ") FROM " + slots + " AS slotsql_g"
	var where []string
	if s.c.q.Where != nil {
		where = append(where, "("+s.c.p.tp.mark(s.c.p.src.cut(s.c.q.Where.Span))+")")
	}
	if c.Nullable && len(t.Counter.Key) > 0 {
		where = append(where, s.c.base(c)+" IS NOT NULL") // a plain client may have set it while there are slots
	}
	if len(where) > 0 {
		groupBy := s.c.slotKeys(t)
		var match []string
		for i, k := range t.Counter.Key {
			match = append(match, s.c.p.names.Qualifier(s.c.b)+"."+s.c.p.d.Quote(k)+" = slotsql_h."+keyName(i))
		}
		group := append(asKeys(groupBy), "SUM(slotsql_g."+s.c.p.d.Quote(c.Name)+") AS slotsql_c0")
		sum = "SELECT SUM(slotsql_h.slotsql_c0) FROM (SELECT " + strings.Join(group, ", ") + " FROM " + slots +
			" AS slotsql_g GROUP BY " + strings.Join(groupBy, ", ") + ") AS slotsql_h CROSS JOIN " + s.c.p.names.BaseRef(t, s.c.b) +
			" WHERE " + strings.Join(append(match, where...), " AND ")
	}
	sql := "(" + base + " + COALESCE((" + sum + "), 0))"
	if as := s.c.p.d.Traits().SumOfInt; as != "" && c.Numeric == schema.Integer && c.Bits <= 32 {
		sql = "CAST(" + sql + " AS " + as + ")"
	}
	return sql
}
