package rewrite

import (
	"slices"
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/rewrite/ast"
	"github.com/slotsql/slotsql/rewrite/names"
	"github.com/slotsql/slotsql/rewrite/schema"
)

// Candidates.
//
// Once a counter is an expression, a block that compares it or orders by it
// cannot use the counter's index: the engine computes the total of every row.
// But few rows have slots, and the total of any other is its base value. So the block gets one condition more, which names all rows
// that can be in its result, and which the engine answers from indexes:
//
//	WHERE <total of views> > 100 AND (views > 100 OR id IN (SELECT id FROM <slots>))
//
// The rest of the block stays as it is. That is exact because the condition is
// implied by what the block asks for: it judges nothing, and the block's own
// conditions, order and limit do all that they did before. Every value is read
// in the one statement, so from one snapshot.
//
// ORDER BY views DESC LIMIT n is a condition, too: a row of the result has slots, or it is one of the first n rows that have
// none and meet WHERE by base values, in the block's order.

// candidates are those of a block that reads one table.
type candidates struct {
	r    *reader
	p    *planning
	sc   *names.Scope
	q    *ast.Select
	b    *names.Binding
	tail int // where WHERE goes in a block without one

	near   []string // conditions on counters, by base values
	rest   []string // conditions on other columns
	firsts []string // queries of the first rows without slots

	keys    []string // the key columns, qualified
	keyless bool     // a key may be NULL: of rows that have no slots
}

// narrow adds the condition to a block that reads one counter table and nothing else, and reports whether it did.
func (r *reader) narrow(sc *names.Scope, q *ast.Select) bool {
	if len(r.edits) == 0 || r.found.locks || strings.Contains(r.p.src.sql, markerByte) || r.p.consts.mistyped(nil) != "" ||
		len(r.p.names.Derived) > 0 ||
		!ofOneTable(q) && !q.Distinct || len(sc.Bindings) != 1 || slices.ContainsFunc(q.Items, r.p.consts.namedByPlaceholder) {
		return false
	}
	b := sc.Bindings[0]
	if !b.Counts || r.readsBase(b.Table) || len(b.Columns) > 0 || len(b.Table.Counter.Key) == 0 ||
		r.p.keys.fixedRows(sc, b, q.Where) != nil { // the totals of a few rows cost less than the look for candidates
		return false
	}
	c := candidates{r: r, p: r.p, sc: sc, q: q, b: b}
	for _, k := range b.Table.Counter.Key {
		c.keys = append(c.keys, r.p.names.Qualifier(b)+"."+r.p.d.Quote(k))
		col := b.Table.Column(k)
		c.keyless = c.keyless || col == nil || col.Nullable
	}
	if c.keyless && c.listed() {
		return false
	}
	c.conditions()
	c.firstRows()
	if len(c.near)+len(c.firsts) == 0 {
		return false
	}
	edits := c.beside(c.condition())
	// What opens the condition comes before other edits at its place.
	last := len(edits) - 1
	r.edits = append(slices.Concat(edits[:last], r.edits), edits[last])
	r.narrowed = true
	return true
}

// beside writes the condition beside the block's own.
func (c *candidates) beside(condition string) []edit {
	w := c.q.Where
	if w == nil {
		return []edit{{ast.At(c.tail), " WHERE " + condition}}
	}
	return []edit{{ast.At(w.Start), "("}, {ast.At(w.End), ") AND " + condition}}
}

// conditions finds the conditions that can be written a second time, by base values.
func (c *candidates) conditions() {
	if c.q.Where == nil {
		return
	}
	for _, e := range ast.Conjuncts(c.q.Where, nil) {
		switch sql := "(" + c.asWritten(e.Span) + ")"; {
		case !c.repeatable(e):
		case c.edited(e.Span):
			c.near = append(c.near, sql)
		default:
			c.rest = append(c.rest, sql)
		}
	}
}

// repeatable reports whether a condition may be written in a query of the source alone, by base values.
func (c *candidates) repeatable(e *ast.Expr) bool {
	return c.p.volatility.reason(c.sc, e) == "" && c.own(e) && (cannotFail(e) || !c.edited(e.Span))
}

// asWritten is a piece of the block, by base values.
func (c *candidates) asWritten(sp ast.Span) string { return c.p.tp.mark(c.p.src.cut(sp)) }

// edited reports whether anything has been replaced inside a span.
func (c *candidates) edited(sp ast.Span) bool {
	c.p.names.Work += len(c.r.edits)
	for _, e := range c.r.edits {
		if e.within(sp) {
			return true
		}
	}
	return c.p.names.Work > names.MaxWork
}

// base writes the base value of a counter.
func (c *candidates) base(col *schema.Column) string {
	return c.p.names.Qualifier(c.b) + "." + c.p.d.Quote(col.Name)
}

// own reports whether all columns that an expression names are certainly the source's, and there is no query in it.
func (c *candidates) own(e *ast.Expr) bool { return namesOnly(e, c.ownColumn, nil) }

// namesOnly reports whether an expression names only columns of a kind, and has only queries of a
// kind in it, none where that is nil.
func namesOnly(e *ast.Expr, column func(name []ast.Ident) bool, query func(*ast.Expr) bool) bool {
	ok := true
	e.Walk(func(x *ast.Expr) bool {
		switch x.Kind {
		case ast.ColumnRef:
			ok = ok && column(x.Name)
		case ast.Subquery:
			ok = ok && query != nil && query(x)
		case ast.Star, ast.Excluded:
			ok = false
		}
		return ok
	})
	return ok
}

func (c *candidates) ownColumn(name []ast.Ident) bool {
	has, err := c.p.names.HasColumn(c.b, name[len(name)-1])
	return err == nil && has == names.Yes && len(name) <= 2 && (len(name) == 1 || c.p.names.SameLabel(name[0], c.b.Label))
}

// keyName is the name of a key column among the candidates' columns.
func keyName(i int) string { return "slotsql_k" + strconv.Itoa(i) }

// listed reports whether the condition is one query of all candidates: where the
// engine does not find rows by base value OR by key, or not without fault, and for keys of several
// columns, where none does. (Of arrays of arrays PostgreSQL's ANY takes the elements.)
func (c *candidates) listed() bool {
	if key := c.b.Table.Column(c.b.Table.Counter.Key[0]); key != nil && strings.HasSuffix(key.Type, "[]") {
		return true
	}
	return len(c.keys) > 1 || c.p.d.Traits().KeyIn[0] == ""
}

// condition writes it.
func (c *candidates) condition() string {
	arms := append([]string{"SELECT " + strings.Join(asKeys(c.slotKeys(c.b.Table)), ", ") + " FROM " + c.slots()}, c.firsts...)
	near := ""
	if len(c.firsts) == 0 {
		near = strings.Join(c.near, " AND ")
	}
	if c.listed() {
		if near != "" {
			arms = append(arms, queryOf(strings.Join(asKeys(c.keys), ", "), c.p.names.BaseRef(c.b.Table, c.b), append(c.near, c.rest...)))
		}
		return schema.Tuple(c.keys) + " IN (SELECT " + c.keyNames() + " FROM (" + strings.Join(arms, " UNION ALL ") + ") AS slotsql_c)"
	}
	in := c.p.d.Traits().KeyIn
	cond := c.keys[0] + in[0] + strings.Join(arms, " UNION ALL ") + in[1]
	if near != "" {
		return "(" + near + " OR " + cond + ")"
	}
	if c.keyless {
		return "(" + cond + " OR " + c.keys[0] + " IS NULL)"
	}
	return cond
}

// first writes the first rows without slots that meet WHERE, and one condition more.
func (c *candidates) first(edge, order, rows string) {
	var conds []string
	if q := c.q.Where; q != nil {
		conds = append(conds, "("+c.asWritten(q.Span)+")")
	}
	if edge != "" {
		conds = append(conds, edge)
	}
	first := queryOf(strings.Join(asKeys(c.keys), ", "), c.p.names.BaseRef(c.b.Table, c.b), append(conds, c.slotless())) +
		" ORDER BY " + order + " LIMIT " + rows
	c.firsts = append(c.firsts, "SELECT "+c.keyNames()+" FROM ("+first+") AS slotsql_n")
}

// slotless writes that a row has no slots.
func (c *candidates) slotless() string {
	// A scalar subquery is evaluated row by row in the index's order, and
	// stops with the limit; an anti-join would read the whole table. PostgreSQL expects half of the rows to
	// meet IS NOT TRUE, and one of 200 to meet IS NULL, for which it would rather sort them. The order is that of the primary key,
	// so that it does not scan the slot table for each row.
	order := ""
	if c.b.Table.Counter.Layout != schema.LayoutShared {
		order = " ORDER BY slotsql_g." + c.p.d.Quote(c.b.Table.Counter.SlotTable.Column)
	}
	return "(SELECT TRUE FROM " + c.slots() + " WHERE " + c.sameKey() + order + " LIMIT 1) IS NOT TRUE"
}

func queryOf(list, from string, conds []string) string {
	out := "SELECT " + list + " FROM " + from
	if len(conds) > 0 {
		out += " WHERE " + strings.Join(conds, " AND ")
	}
	return out
}

// slots are the slots of the table, of any counter.
func (c *candidates) slots() string {
	return SlotSource(c.p.d, c.b.Table, c.b.Table.Counter.Counters...) + " AS slotsql_g"
}

// sameKey is the condition that a slot is one of the source's row.
func (c *candidates) sameKey() string {
	var out []string
	for i, k := range c.slotKeys(c.b.Table) {
		out = append(out, k+" = "+c.keys[i])
	}
	return strings.Join(out, " AND ")
}

// slotKeys are the columns of a table's slots that hold the key.
func (c *candidates) slotKeys(t *schema.Table) []string {
	var out []string
	for _, k := range t.Counter.Key {
		out = append(out, "slotsql_g."+c.p.d.Quote(k))
	}
	return out
}

// asKeys gives columns the names that keyNames lists.
func asKeys(columns []string) []string {
	var out []string
	for i, k := range columns {
		out = append(out, k+" AS "+keyName(i))
	}
	return out
}

func (c *candidates) keyNames() string {
	var out []string
	for i := range c.keys {
		out = append(out, keyName(i))
	}
	return strings.Join(out, ", ")
}
